// Supervision is data: what the supervisor knows of each child. Types only.
import type { Exit } from '../embedded/tether.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { Health, MetricObject } from './messages.ts';

export type ChildSpec = {
  name: string;
  /** Children that must have been ready once before this one is started for the first time. */
  after: readonly string[];
  /** always: also after a clean exit it did not get told to. on-crash: a clean exit is final. */
  restart: 'always' | 'on-crash';
  startWithinMs: number;
  /** Asked when it is stopped: what is in effect may have changed since it was started. */
  readonly stopWithinMs: number;
  /** Children of the lowest rank are drained first; those of one rank together. */
  stopRank: number;
  start(): Promise<ManagedProcess>;
};

/** One life of a child, whatever it is: a role of ours or a server on a tether. */
export type ManagedProcess = {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Settles once per life. Rejects when it ended first, failed, or was not ready in time. */
  ready(limitMs: number): Promise<Record<string, unknown>>;
  health(): Health;
  metrics(): Promise<MetricObject[][]>;
  configure(configuration: Configuration): void;
  /** Drains it; kills it when it is not gone after `limitMs`. Resolves when it is gone. */
  stop(limitMs: number): Promise<void>;
  kill(): void;
};
