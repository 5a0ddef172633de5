// Shares the event loop between bulk work, such as batches, in slices: one slice per turn, first come, first served, so
// that other requests wait for one slice at most. While single messages arrive, bulk work pauses between slices,
// because its load on the bus and the carriers delays them too (decision 166). Only a few large batches run at a time,
// so that each ends soon after it has begun.
import { type Clock, nextTurn, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';

const { sliceMs, atOnceMax, largeFrom, waitMsMax, besideSingles } = limits.http.batch;

export class SliceTurns {
  readonly #clock: Clock;
  readonly #prompt = new Turns(nextTurn);
  readonly #paced: Turns;
  #lastSingleAtMs = Number.NEGATIVE_INFINITY;
  #largeAtWork = 0;
  /** First come, first served. */
  readonly #waiting = new Set<(hasPlace: boolean) => void>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#paced = new Turns(() => (this.#hasSingles() ? clock.sleep(besideSingles.pauseMs) : nextTurn()));
  }

  /** Notes a single message: bulk work pauses between slices for the next moment. */
  singleArrived(): void {
    this.#lastSingleAtMs = this.#clock.monotonicMs();
  }

  /** The slices of one piece of work; the first begins in the next turn of the event loop. */
  slices(): Slices {
    return new Slices(this, this.#clock);
  }

  /**
   * Runs `work` on `items` items: small work at once, large work when few others run, first come, first served. Null:
   * it waited longer than waitMsMax and was not begun.
   */
  async run<T>(items: number, work: () => Promise<T>): Promise<T | null> {
    if (items < largeFrom) return work();
    if (!(await this.#takePlace())) return null;
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.#largeAtWork -= 1;
      else next(true);
    }
  }

  /** Resolves in a turn of its own; the caller works until its next await. `prompt`: without a pause. */
  next(prompt = false): Promise<void> {
    return (prompt ? this.#prompt : this.#paced).next();
  }

  /** A freed place goes to the longest waiter. */
  #takePlace(): Promise<boolean> {
    if (this.#largeAtWork < atOnceMax) {
      this.#largeAtWork += 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const end = (hasPlace: boolean) => {
        cancel();
        this.#waiting.delete(end);
        resolve(hasPlace);
      };
      const cancel = this.#clock.after(waitMsMax, () => end(false));
      this.#waiting.add(end);
    });
  }

  #hasSingles(): boolean {
    return this.#clock.monotonicMs() - this.#lastSingleAtMs < besideSingles.forMs;
  }
}

/** Grants turns one after another, first come, first served, with `pause` before each. */
class Turns {
  readonly #pause: () => Promise<void>;
  readonly #waiting: (() => void)[] = [];
  #running = false;

  constructor(pause: () => Promise<void>) {
    this.#pause = pause;
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (;;) {
      await this.#pause();
      const next = this.#waiting.shift();
      if (next === undefined) break;
      next();
    }
    this.#running = false;
  }
}

/** One piece of work, which checks between steps whether its slice is over. */
export class Slices {
  readonly #turns: SliceTurns;
  readonly #clock: Clock;
  #endsAtMs = Number.NEGATIVE_INFINITY;

  constructor(turns: SliceTurns, clock: Clock) {
    this.#turns = turns;
    this.#clock = clock;
  }

  get isOver(): boolean {
    return this.#clock.monotonicMs() >= this.#endsAtMs;
  }

  /**
   * Resolves when the next slice begins. Without a pause for the first slice, so that a small batch is as fast as a
   * single message, and for urgent work.
   */
  async next(isUrgent = false): Promise<void> {
    await this.#turns.next(isUrgent || this.#endsAtMs === Number.NEGATIVE_INFINITY);
    this.#endsAtMs = this.#clock.monotonicMs() + sliceMs;
  }
}
