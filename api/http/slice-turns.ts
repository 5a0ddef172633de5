// Turns of the event loop for bulk work that is done in slices, such as batches: one slice per turn, in the order of
// asking, so that other requests wait for one slice only. While single messages arrive too, it pauses between two
// slices for as long as their publishes take longer than they should (bulk-pace.ts): what a batch causes behind this
// thread, in the bus and at the carriers, delays them too.
import { type Clock, nextTurn, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { BulkPace } from './bulk-pace.ts';

const { sliceMs } = limits.http.batch;

export class SliceTurns {
  readonly pace: BulkPace;
  readonly #clock: Clock;
  /** No pause before them: first slices, so that a small batch is as fast as a single message, and those of OTP. */
  readonly #prompt: Turns;
  readonly #paced: Turns;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.pace = new BulkPace(clock);
    this.#prompt = new Turns(nextTurn);
    this.#paced = new Turns(() => {
      const restMs = this.pace.restMs();
      // The timers of Node.js know whole milliseconds.
      return restMs >= 1 ? clock.sleep(restMs) : nextTurn();
    });
  }

  /** The slices of one piece of work; the first begins in the next turn. */
  slices(): Slices {
    return new Slices(this, this.#clock);
  }

  /** Resolves in a turn of its own: the caller works until its next await and then asks again. */
  next(isPrompt = false): Promise<void> {
    return (isPrompt ? this.#prompt : this.#paced).next();
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

  /** Resolves when the next slice begins; without a pause when it is the first, or `isPrompt`. */
  async next(isPrompt = false): Promise<void> {
    await this.#turns.next(isPrompt || this.#endsAtMs === Number.NEGATIVE_INFINITY);
    this.#endsAtMs = this.#clock.monotonicMs() + sliceMs;
  }
}
