// Counts which of many durations are slow, measured against what is usual for them, so that the same code fits a single
// node, where a publish takes 1 ms, and three replicas in three places, where it takes 20.
import { limits } from './limits.ts';

/** Of how many durations how many were slow. */
export type SlowCount = { readonly count: number; readonly slow: number };

const { usualFactor, marginMs, step } = limits.bulkPace.slow;

export class SlowTimes {
  /** A running estimate of the lower quartile: slow times hardly move it. */
  #usualMs = Number.NaN;
  #count = 0;
  #slow = 0;

  get usualMs(): number {
    return this.#usualMs;
  }

  /** Returns whether it was slow: more than twice the usual time and a margin. */
  note(ms: number): boolean {
    this.#count += 1;
    if (Number.isNaN(this.#usualMs)) {
      this.#usualMs = ms;
      return false;
    }
    const isSlow = ms > this.#usualMs * usualFactor + marginMs;
    if (isSlow) this.#slow += 1;
    // At the quartile a quarter of the steps lead down, three times as far as the others lead up.
    this.#usualMs += ms < this.#usualMs ? -3 * step * this.#usualMs : step * this.#usualMs;
    return isSlow;
  }

  /** The counts since the last call. */
  take(): SlowCount {
    const taken = { count: this.#count, slow: this.#slow };
    this.#count = 0;
    this.#slow = 0;
    return taken;
  }
}
