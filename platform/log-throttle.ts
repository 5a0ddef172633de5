// A log line that may be due with every message is written at most once in `everyMs`, with the number of suppressed
// ones. The first is written at once. The caller writes the line.
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

  /** The number of suppressed occurrences since the last line when one is to be written now, else null. */
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
