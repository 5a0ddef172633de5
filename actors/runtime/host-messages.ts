// What the actors process and its host threads say to each other over a MessagePort. Types only.
import type { MessagePort } from 'node:worker_threads';
import type { AccountQueueMax } from '../../platform/limits-lanes.ts';
import type { MetricObject } from '../../cluster/supervisor/messages.ts';
import type { CarrierConfig, SimulatedPorts } from '../../cluster/config/configuration.ts';
import type { RegistryNews } from '../../cluster/registry/contract.ts';
import type { CountryRules } from '../../policy/country/contract.ts';
import type { MoveRules } from '../carrier/health/health-decision.ts';
import type { CarrierStatus } from '../contract.ts';
import type { DumpSettings } from '../flight/dumps.ts';

/** What a host thread is given when it starts; plain data, it crosses a thread boundary. */
export type HostTask = {
  readonly name: string;
  readonly carriers: readonly CarrierConfig[];
  readonly moves: MoveRules;
  readonly country: CountryRules;
  /** Shared memory of the process: every thread reads the same. */
  readonly registries: readonly RegistryNews[];
  readonly simulated: SimulatedPorts;
  readonly natsUrl: string;
  readonly bodyKey: Uint8Array;
  /** Who this process is among the nodes that share the bus; null: there are no others. */
  readonly shared?: SharedBus | null;
  /** Where lost sessions leave what was recorded of them. */
  readonly accountQueueMax?: AccountQueueMax;
  readonly flightDumps?: DumpSettings | null;
  readonly port: MessagePort;
};

export type SharedBus = {
  readonly node: string;
  readonly place: string;
  /** One life of the process; threads that start again in it are other lives of the same. */
  readonly process: string;
  /** Copies of the bucket of leases. */
  readonly replicas: number;
};

export type ToHost =
  /** The carriers of this thread as they are to be from now on; names may be added, none is left out. */
  | {
      readonly type: 'configure';
      readonly carriers: readonly CarrierConfig[];
      readonly moves: MoveRules;
      readonly country: CountryRules;
    }
  | { readonly type: 'registry'; readonly news: RegistryNews }
  | { readonly type: 'drain'; readonly deadlineMs: number }
  | { readonly type: 'ask'; readonly id: number };

export type FromHost =
  | { readonly type: 'ready' }
  | { readonly type: 'status'; readonly carriers: readonly CarrierStatus[] }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: MetricObject[] };
