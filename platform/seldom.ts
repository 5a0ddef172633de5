// Something that may happen with every message is said at most once in a while, with how often it happened unsaid.
// The first time is said at once. It writes nothing itself: whoever asks does.
import type { Clock } from './clock.ts';

export class Seldom {
  readonly #everyMs: number;
  readonly #clock: Clock;
  #saidAtMs = Number.NEGATIVE_INFINITY;
  #unsaid = 0;

  constructor(everyMs: number, clock: Clock) {
    this.#everyMs = everyMs;
    this.#clock = clock;
  }

  /** It has happened: how often it did before without a word, or null when it is not to be said now. */
  happened(): number | null {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#saidAtMs < this.#everyMs) {
      this.#unsaid += 1;
      return null;
    }
    const unsaid = this.#unsaid;
    this.#saidAtMs = nowMs;
    this.#unsaid = 0;
    return unsaid;
  }
}
