// The messages between the actors process and its host threads over a MessagePort. Types only.
import type { MessagePort } from 'node:worker_threads';
import type { AccountQueueMax } from '../../platform/limits-lanes.ts';
import type { FromLinked, ToLinked } from '../../platform/message-link.ts';
import type { CarrierConfig, SimulatedPorts } from '../../config/configuration.ts';
import type { RegistryVersionEvent } from '../../directory/registry/contract.ts';
import type { ContentRules } from '../../policy/admission/content-rules.ts';
import type { CountryRules } from '../../policy/country/contract.ts';
import type { FailoverPolicy } from '../carrier/failover/health-decision.ts';
import type { CarrierStatus } from '../contract.ts';
import type { DumpSettings } from '../flight/dumps.ts';

/** What a configuration change may change in a running thread. */
export type HostCarriers = {
  readonly carriers: readonly CarrierConfig[];
  readonly moves: FailoverPolicy;
  readonly country: CountryRules;
  /** What no account may send. */
  readonly content: ContentRules;
};

/** Constant while the process runs, and the same for all its threads. */
export type HostSettings = {
  readonly simulated: SimulatedPorts;
  readonly natsUrl: string;
  /** The first one encrypts, all of them decrypt. */
  readonly bodyKeys: readonly Uint8Array[];
  /** This process among the nodes that share the bus; null on a single node. */
  readonly shared: SharedBus | null;
  readonly accountQueueMax: AccountQueueMax;
  /** Where the flight records of lost sessions are written. */
  readonly flightDumps: DumpSettings | null;
};

/** What a host thread gets when it starts; plain data, it crosses a thread boundary. */
export type HostTask = HostCarriers &
  HostSettings & {
    readonly name: string;
    /** All configured carriers, also those of other threads. */
    readonly configured: readonly string[];
    /** Shared memory of the process: every thread reads the same. */
    readonly registries: readonly RegistryVersionEvent[];
    readonly port: MessagePort;
  };

export type SharedBus = {
  readonly node: string;
  readonly place: string;
  /** One incarnation of the process; its restarted threads are other incarnations of the same owner. */
  readonly process: string;
  /** Replicas of the bucket of leases. */
  readonly replicas: number;
};

export type ToHost =
  /** All carriers of this thread from now on; names may be added, none is left out. */
  | (HostCarriers & { readonly type: 'configure'; readonly configured: readonly string[] })
  | { readonly type: 'registry'; readonly registryUpdate: RegistryVersionEvent }
  | ToLinked;

export type FromHost =
  | { readonly type: 'ready' }
  | { readonly type: 'status'; readonly carriers: readonly CarrierStatus[] }
  | FromLinked;
