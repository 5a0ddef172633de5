// Runs a fixed number of jobs at a time and refuses beyond a bounded queue. The system's own jobs go first, so that a
// receipt never waits for the lists of an account; the others alternate by kind.
import { RetryLater } from '../../platform/errors.ts';
import { RingQueue } from '../../platform/ring-queue.ts';

/** system: the answer is acted on · account: the answer is displayed · background: no caller waits. */
export type Turn = 'system' | 'account' | 'background';

/** Runs `job` when a slot is free; rejects with RetryLater at once when too many wait. */
type FairSemaphore = <T>(job: () => Promise<T>, turn?: Turn) => Promise<T>;

/** Jobs of accounts that run before one of the background when both wait. */
const accountsBeforeBackground = 4;

export function fairSemaphore(atOnce: number, waitingMax: number): FairSemaphore {
  const queues: Readonly<Record<Turn, RingQueue<() => void>>> = {
    system: new RingQueue<() => void>(waitingMax),
    account: new RingQueue<() => void>(waitingMax),
    background: new RingQueue<() => void>(waitingMax),
  };
  let inside = 0;
  let accountsInARow = 0;

  function next(): (() => void) | undefined {
    const system = queues.system.shift();
    if (system !== undefined) return system;
    const first = accountsInARow < accountsBeforeBackground ? queues.account : queues.background;
    const [job, of] = takeFrom(first) ?? takeFrom(first === queues.account ? queues.background : queues.account) ?? [];
    accountsInARow = of === queues.account ? accountsInARow + 1 : 0;
    return job;
  }

  return async (job, turn = 'system') => {
    if (inside >= atOnce) {
      const mine = Promise.withResolvers<void>();
      if (!queues[turn].push(mine.resolve)) throw new RetryLater('too many queries at once', 100);
      await mine.promise; // the finished job passed its slot on, so `inside` counts this one already
    } else {
      inside += 1;
    }
    try {
      return await job();
    } finally {
      const waiting = next();
      if (waiting === undefined) inside -= 1;
      else waiting();
    }
  };
}

function takeFrom(queue: RingQueue<() => void>): readonly [() => void, RingQueue<() => void>] | null {
  const job = queue.shift();
  return job === undefined ? null : [job, queue];
}
