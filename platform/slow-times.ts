// Counts which of many durations are slow, measured against what is usual for them, so that the same code fits a single
// node, where a publish takes 1 ms, and three replicas in three places, where it takes 20; and whether too many of the
// last ones were.
import type { Clock } from './clock.ts';
import { limits } from './limits.ts';

/** Of how many durations how many were slow. */
export type SlowCount = { readonly count: number; readonly slow: number };

const { usualFactor, step } = limits.bulkPace.slow;

export class SlowTimes {
  /** A running estimate of the lower quartile: slow times hardly move it. */
  #usualMs = Number.NaN;
  #count = 0;
  #slow = 0;
  readonly #marginMs: number;

  /** Slow is more than twice the usual time plus `marginMs`. */
  constructor(marginMs: number = limits.bulkPace.slow.marginMs) {
    this.#marginMs = marginMs;
  }

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
    const isSlow = ms > this.#usualMs * usualFactor + this.#marginMs;
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

export type SlownessRules = {
  /** Of the counts. */
  readonly halfLifeMs: number;
  /** Too many: more than this share of them, and more than slowMin. */
  readonly slowShareMax: number;
  readonly slowMin: number;
};

/** Whether too many of the last durations were slow. */
export class RecentSlowness {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #rules: SlownessRules;
  #count = 0;
  #slow = 0;
  #fadedAtMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>, rules: SlownessRules) {
    this.#clock = clock;
    this.#rules = rules;
    this.#fadedAtMs = clock.monotonicMs();
  }

  add({ count, slow }: SlowCount): void {
    this.#fade();
    this.#count += count;
    this.#slow += slow;
  }

  /** Of the last ones: those of halfLifeMs ago count half. */
  get count(): number {
    this.#fade();
    return this.#count;
  }

  /** A few slow ones are chance: a machine that does nothing else has some. */
  get isTooMuch(): boolean {
    this.#fade();
    return this.#slow > Math.max(this.#rules.slowMin, this.#count * this.#rules.slowShareMax);
  }

  #fade(): void {
    const nowMs = this.#clock.monotonicMs();
    const left = 0.5 ** ((nowMs - this.#fadedAtMs) / this.#rules.halfLifeMs);
    this.#fadedAtMs = nowMs;
    this.#count *= left;
    this.#slow *= left;
  }
}
