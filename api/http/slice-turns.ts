// Turns of the event loop for bulk work that is done in slices, such as batches: one slice per turn, in the order of
// asking, so that other requests wait for one slice only.
import { type Clock, nextTurn, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';

const { sliceMs } = limits.http.batch;

export class SliceTurns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #running = false;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** The slices of one piece of work; the first begins in the next turn. */
  slices(): Slices {
    return new Slices(this, this.#clock);
  }

  /** Resolves in a turn of its own: the caller works until its next await and then asks again. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (;;) {
      await nextTurn();
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

  /** Resolves when the next slice begins. */
  async next(): Promise<void> {
    await this.#turns.next();
    this.#endsAtMs = this.#clock.monotonicMs() + sliceMs;
  }
}
