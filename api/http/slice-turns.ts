// Turns of the event loop for bulk work that is done in slices, such as batches: one slice per turn, in the order of
// asking, so that other requests wait for one slice only. While single messages arrive too, bulk work pauses between
// slices, because what a batch causes behind this thread, in the bus and at the carriers, delays them as well
// (decision 166). Of the large batches a few are at work at a time, so that each ends soon after it has begun.
import { type Clock, nextTurn, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';

const { sliceMs, atOnceMax, largeFrom, waitMsMax, besideSingles } = limits.http.batch;

export class SliceTurns {
  readonly #clock: Clock;
  readonly #prompt = new Turns(nextTurn);
  readonly #paced: Turns;
  #lastSingleAtMs = Number.NEGATIVE_INFINITY;
  #largeAtWork = 0;
  /** In the order of asking. */
  readonly #waiting = new Set<(hasPlace: boolean) => void>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#paced = new Turns(() => (this.#hasSingles() ? clock.sleep(besideSingles.pauseMs) : nextTurn()));
  }

  /** A single message arrived: bulk work of the next moment pauses between its slices. */
  singleArrived(): void {
    this.#lastSingleAtMs = this.#clock.monotonicMs();
  }

  /** The slices of one piece of work; the first begins in the next turn. */
  slices(): Slices {
    return new Slices(this, this.#clock);
  }

  /**
   * Runs `work` of so many items: a small one at once, a large one when few others are at work, in the order of asking.
   * Null: it would have waited longer than waitMsMax, and was not begun.
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

  /**
   * Resolves in a turn of its own: the caller works until its next await and then asks again. `prompt`: without a
   * pause.
   */
  next(prompt = false): Promise<void> {
    return (prompt ? this.#prompt : this.#paced).next();
  }

  /** A place that becomes free goes to the first that waits. */
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

/** One turn after another, in the order of asking, with `pause` before each. */
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

/** One piece of work, which asks between two steps whether its slice is over. */
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
   * Resolves when the next slice begins: without a pause when it is the first, so that a small batch is as fast as a
   * single message, or when what comes next is as urgent as one (`isUrgent`).
   */
  async next(isUrgent = false): Promise<void> {
    await this.#turns.next(isUrgent || this.#endsAtMs === Number.NEGATIVE_INFINITY);
    this.#endsAtMs = this.#clock.monotonicMs() + sliceMs;
  }
}
