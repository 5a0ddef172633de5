// A quantile of recent times, in bounded memory: counts in buckets that grow by a tenth, each time weighing less the
// older it is (half after `halfLife`). Forward decay: what is added weighs more instead, and all weights are divided
// when they become large, so that adding is one addition. Its times are in milliseconds; their age (`now`, `halfLife`) in
// any unit that only grows, such as monotonic time or the number of times added. Pure.
import { assert } from '../../platform/assert.ts';

const growth = 1.1;
const shortestMs = 1;
const longestMs = 120_000;
const buckets = Math.ceil(Math.log(longestMs / shortestMs) / Math.log(growth)) + 1;
/** Weights are divided before they exceed this. */
const weightMax = 1e12;

export class FadingQuantile {
  readonly #halfLife: number;
  readonly #counts = new Float64Array(buckets);
  #total = 0;
  #since: number;

  constructor(halfLife: number, now: number) {
    assert(halfLife > 0, 'what fades has a half-life');
    this.#halfLife = halfLife;
    this.#since = now;
  }

  add(tookMs: number, now: number): void {
    const weight = this.#weightAt(now);
    const bucket = bucketOf(tookMs);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + weight;
    this.#total += weight;
  }

  /** How many times are in it, older ones as fractions. */
  countAt(now: number): number {
    return this.#total / this.#weightAt(now);
  }

  /**
   * The time that a share `of` of them does not exceed, at most a tenth too long; null with fewer than `countMin` in it.
   */
  quantile(of: number, countMin: number, now: number): number | null {
    if (this.#total === 0 || this.countAt(now) < countMin) return null;
    const wanted = this.#total * of;
    let sum = 0;
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      sum += this.#counts[bucket] ?? 0;
      if (sum >= wanted) return shortestMs * growth ** bucket;
    }
    return longestMs;
  }

  #weightAt(now: number): number {
    const weight = 2 ** ((now - this.#since) / this.#halfLife);
    if (weight <= weightMax) return weight;
    for (let bucket = 0; bucket < buckets; bucket += 1) this.#counts[bucket] = (this.#counts[bucket] ?? 0) / weight;
    this.#total /= weight;
    this.#since = now;
    return 1;
  }
}

/** The first bucket whose end is not before it. */
function bucketOf(tookMs: number): number {
  if (!(tookMs > shortestMs)) return 0;
  return Math.min(buckets - 1, Math.ceil(Math.log(tookMs / shortestMs) / Math.log(growth) - 1e-9));
}
