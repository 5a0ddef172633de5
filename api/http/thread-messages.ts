// The messages between the ingress process and its listening threads. Types only.
import type { RegistryVersionEvent } from '../../directory/registry/contract.ts';
import type { FromLinked, ToLinked } from '../../platform/message-link.ts';
import type { Shares } from '../../platform/limits-shares.ts';
import type { ProxyRules } from './client-address.ts';
import type { RoutingRules } from '../../policy/contract.ts';

/** Given to a thread at its start: everything it needs, so that it reads no file and no environment. */
export type ThreadData = {
  readonly index: number;
  readonly natsUrl: string;
  /** This machine among those that share the bus; null: there are no others. */
  readonly node: string | null;
  readonly host: string;
  readonly port: number;
  /** More than one thread listens on the port. */
  readonly shared: boolean;
  readonly controlPort: number;
  /** Said with each request to the control role. */
  readonly controlSecret: string;
  /** The first one seals, all of them open. */
  readonly bodyKeys: readonly Uint8Array[];
  readonly rules: RoutingRules;
  readonly proxies: ProxyRules;
  /** What accounts share of this thread. */
  readonly shares: Shares;
  /** Shared by the threads: what keys and accounts have used of their rates. */
  readonly rateMemory: SharedArrayBuffer;
  /** Shared memory of the process: every thread reads the same. */
  readonly registries: readonly RegistryVersionEvent[];
};

export type ToThread =
  | ToLinked
  /** The configuration has changed: requests from now on go by these. */
  | { readonly type: 'rules'; readonly rules: RoutingRules }
  | { readonly type: 'registry'; readonly registryUpdate: RegistryVersionEvent };

export type FromThread =
  | { readonly type: 'ready'; readonly port: number }
  | { readonly type: 'failed'; readonly why: string; readonly needsPerson: boolean }
  | { readonly type: 'health'; readonly ok: boolean; readonly detail: string }
  | FromLinked
  | { readonly type: 'drained' };
