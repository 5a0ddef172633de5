// The messages between the ingress process and its listening threads. Types only.
import type { RegistryVersionEvent } from '../../directory/registry/contract.ts';
import type { FromLinked, ToLinked } from '../../platform/message-link.ts';
import type { Shares } from '../../platform/limits-shares.ts';
import type { ProxyRules } from './client-address.ts';
import type { RoutingRules } from '../../policy/contract.ts';
import type { OtpRules } from '../../policy/otp/contract.ts';

/** What the configuration says about requests; it may change while a thread runs. */
export type RequestRules = { readonly routing: RoutingRules; readonly otp: OtpRules };

/** What redirects of short links do; read at the start only. */
export type RedirectRules = {
  readonly linkDays: number;
  /** Where an unknown or expired code leads; null: to an answer that says so. */
  readonly fallbackUrl: string | null;
  readonly storeAddresses: boolean;
};

/** What a thread gets at its start: it reads no files and no environment variables. */
export type ThreadData = {
  readonly index: number;
  readonly natsUrl: string;
  /** The name of this node among several; null on a single machine. */
  readonly node: string | null;
  readonly host: string;
  readonly port: number;
  /** Several threads listen on this port. */
  readonly shared: boolean;
  readonly controlPort: number;
  /** Sent with each request to the control role. */
  readonly controlSecret: string;
  /** Messages are sealed with the first key and opened with any of them. */
  readonly bodyKeys: readonly Uint8Array[];
  readonly rules: RequestRules;
  readonly links: RedirectRules;
  readonly proxies: ProxyRules;
  /** The accounts' shares of this thread's slots. */
  readonly shares: Shares;
  /** Shared by the threads: the state of all rate limits. */
  readonly rateMemory: SharedArrayBuffer;
  /** The same for the rates of one-time passwords: their many names must not take the slots of accounts and keys. */
  readonly otpRateMemory: SharedArrayBuffer;
  /** In shared memory: all threads read the same versions. */
  readonly registries: readonly RegistryVersionEvent[];
};

export type ToThread =
  | ToLinked
  /** Changed configuration, for requests from now on. */
  | { readonly type: 'rules'; readonly rules: RequestRules }
  | { readonly type: 'registry'; readonly registryUpdate: RegistryVersionEvent };

export type FromThread =
  | { readonly type: 'ready'; readonly port: number }
  | { readonly type: 'failed'; readonly why: string; readonly needsPerson: boolean }
  | { readonly type: 'health'; readonly ok: boolean; readonly detail: string }
  | FromLinked
  | { readonly type: 'drained' };
