// Something that may happen with every message is said at most once in a while, with how often it happened unsaid.
// The first time is said at once. It writes nothing itself: whoever asks does.
import type { Clock } from './clock.ts';

export class LogThrottle {
  readonly #everyMs: number;
  readonly #clock: Clock;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #suppressed = 0;

  constructor(everyMs: number, clock: Clock) {
    this.#everyMs = everyMs;
    this.#clock = clock;
  }

  /** It has happened: how often it did before without a word, or null when it is not to be said now. */
  allow(): number | null {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#loggedAtMs < this.#everyMs) {
      this.#suppressed += 1;
      return null;
    }
    const suppressed = this.#suppressed;
    this.#loggedAtMs = nowMs;
    this.#suppressed = 0;
    return suppressed;
  }
}
