// Lets a fixed number of jobs through at a time, in order of arrival, and refuses more than a bounded crowd.
import { RetryLater } from '../../platform/errors.ts';
import { RingQueue } from '../../platform/ring-queue.ts';

/** Runs `job` when its turn has come; rejects with RetryLater at once when too many wait. */
export type Turnstile = <T>(job: () => Promise<T>) => Promise<T>;

export function turnstile(atOnce: number, waitingMax: number): Turnstile {
  const waiting = new RingQueue<() => void>(waitingMax);
  let inside = 0;

  return async (job) => {
    if (inside >= atOnce) {
      const turn = Promise.withResolvers<void>();
      if (!waiting.push(turn.resolve)) throw new RetryLater('too many questions at once', 100);
      await turn.promise; // whoever left handed their place over, so `inside` counts us already
    } else {
      inside += 1;
    }
    try {
      return await job();
    } finally {
      const next = waiting.shift();
      if (next === undefined) inside -= 1;
      else next();
    }
  };
}
