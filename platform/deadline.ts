// Deadlines for everything outside of the process: withDeadline() bounds a promise, until() polls a condition. untilDone()
// repeats what must succeed some time, until its owner stops.
import { type Clock, systemClock } from './clock.ts';
import { ignoring, messageOf } from './errors.ts';

/** The deadline passed first. `what` names the operation, `afterMs` is the limit. */
export class DeadlineExceeded extends Error {
  constructor(what: string, afterMs: number) {
    super(`${what} did not finish within ${Math.round(afterMs)} ms`);
    this.name = 'DeadlineExceeded';
  }
}

/** Settles as `work` does, or rejects with DeadlineExceeded after `limitMs`. The work itself is not stopped. */
export function withDeadline<T>(
  what: string,
  limitMs: number,
  work: Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(limitMs, () => reject(new DeadlineExceeded(what, limitMs)));
    void work.then(resolve, reject).finally(cancel);
  });
}

/** Polls `condition` until it returns a truthy value, the result. Throws DeadlineExceeded after `limitMs`. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  { limitMs = 10_000, everyMs = 20, clock = systemClock }: { limitMs?: number; everyMs?: number; clock?: Clock } = {},
): Promise<NonNullable<Exclude<T, false>>> {
  const endAtMs = clock.monotonicMs() + limitMs;
  for (;;) {
    const value = await condition();
    if (value) return value as NonNullable<Exclude<T, false>>;
    if (clock.monotonicMs() >= endAtMs) throw new DeadlineExceeded(what, limitMs);
    await clock.sleep(everyMs);
  }
}

/** Repeats `work` until it succeeds, and resolves with its result; null when `stopping` was aborted first. */
export async function untilDone<T>(
  work: () => Promise<T>,
  onFailure: (why: string) => void,
  { everyMs, stopping, clock = systemClock }: { everyMs: number; stopping: AbortSignal; clock?: Clock },
): Promise<T | null> {
  while (!stopping.aborted) {
    try {
      return await work();
    } catch (error) {
      onFailure(messageOf(error));
      await clock.sleep(everyMs, stopping).catch((end: unknown) => ignoring(end, 'its owner stops'));
    }
  }
  return null;
}
