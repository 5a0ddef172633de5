// What the worker of an endpoint has the delivery do.
import type { Clock } from '../../../platform/clock.ts';
import type { FailureOwner } from './endpoint-failures.ts';
import type { ParkedLog } from './parked-log.ts';

export type WorkerOwner = FailureOwner & {
  readonly log: ParkedLog;
  readonly clock: Clock;
  /** False: its account, or all, have as many events in memory as they may. */
  hold(): boolean;
  /** An event that it held is not in memory any more. */
  release(): void;
  /** It has something to send. */
  ready(): void;
  /** An event is kept there until its time. */
  retryLater(seq: number, dueAtMs: number): void;
  /** It could not be taken from there: it stays, and is tried later. */
  retryStays(seq: number): void;
  /** It is not needed there any more. */
  removeRetry(seq: number): void;
};
