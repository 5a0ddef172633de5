// The only place that reads time or sets a timer. Wall time is for records and people; monotonic time is for pacing,
// deadlines and leases, so that a step of the wall clock never moves one of them.
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';

/** Undoes a timer. Safe to call twice. */
export type Cancel = () => void;

export type Clock = {
  /** Wall time, milliseconds since the epoch. Never for measuring a duration. */
  nowMs(): number;
  /** Monotonic time in milliseconds with fractions. For pacing, deadlines and leases. */
  monotonicMs(): number;
  after(delayMs: number, run: () => void): Cancel;
  every(intervalMs: number, run: () => void): Cancel;
  /** Resolves after `delayMs`; rejects with the signal's reason when it is aborted first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
};

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  every(intervalMs, run) {
    const timer = setInterval(run, intervalMs);
    return () => clearInterval(timer);
  },
  async sleep(delayMs, signal) {
    try {
      await setTimeoutPromise(delayMs, undefined, signal && { signal });
    } catch (error) {
      throw signal?.reason ?? error;
    }
  },
};

/** Converts a monotonic time to microseconds since the epoch, which two processes on one machine can compare. */
export function epochUs(monotonicMs: number): number {
  return (performance.timeOrigin + monotonicMs) * 1_000;
}

/** Resolves after the I/O callbacks that are already pending: long work awaits it between slices. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
