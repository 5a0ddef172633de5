// The only place that reads time or sets a timer. Two clocks live here on purpose: wall time for
// what people read, monotonic time for what decides. A clock step must never move a pacing or a lease.

/** Undoes a timer. Safe to call twice. */
export type Cancel = () => void;

export type Clock = {
  /** Wall time, milliseconds since the epoch. For records and people; never for measuring. */
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
  sleep(delayMs, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, delayMs);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  },
};

/** A monotonic time as microseconds since the epoch: what two processes on one machine can compare. */
export function epochUs(monotonicMs: number): number {
  return (performance.timeOrigin + monotonicMs) * 1_000;
}

/** Runs behind whatever waits for its turn of the event loop: for long work that must let others through. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
