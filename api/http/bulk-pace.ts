// How long bulk work rests between two of its slices, from how long the publishes of single messages take: their time
// above the shortest of late is the queue that they wait in, and bulk work is what makes that long. Additive decrease
// and multiplicative increase of the rest, as TCP Vegas does with its window: a publish that waited too long doubles
// it, each that did not takes a little away. Without single messages there is no rest.
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';

const { singlesMs, firstRestMs, restMsMax, shorterBy, queueMsMax, shortestMs } = limits.http.batch.besideSingles;

export class BulkPace {
  readonly #clock: Clock;
  #restMs = 0;
  #lastSingleAtMs = Number.NEGATIVE_INFINITY;
  #lastSliceAtMs = Number.NEGATIVE_INFINITY;
  /** The shortest publish of this period and of the one before. */
  #shortest = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  #periodEndsAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether single messages have come a moment ago. */
  get hasSingles(): boolean {
    return this.#clock.monotonicMs() - this.#lastSingleAtMs < singlesMs;
  }

  /** A single message was published, and `tookMs` later it was durable. */
  singleTook(tookMs: number): void {
    const now = this.#clock.monotonicMs();
    this.#lastSingleAtMs = now;
    if (now >= this.#periodEndsAtMs) {
      this.#shortest = [Number.POSITIVE_INFINITY, this.#shortest[0] ?? Number.POSITIVE_INFINITY];
      this.#periodEndsAtMs = now + shortestMs;
    }
    this.#shortest[0] = Math.min(this.#shortest[0] ?? tookMs, tookMs);
    const shortest = Math.min(...this.#shortest);
    // Over a network, or with copies on three servers, the shortest is milliseconds already.
    if (tookMs > shortest + Math.max(queueMsMax, shortest))
      this.#restMs = Math.min(restMsMax, Math.max(1, this.#restMs * 2));
    else this.#restMs = Math.max(0, this.#restMs - shorterBy);
  }

  /** How long to rest before the next slice, ms. Asked once before each. */
  restMs(): number {
    const now = this.#clock.monotonicMs();
    const isFirst = now - this.#lastSliceAtMs > singlesMs;
    this.#lastSliceAtMs = now;
    if (!this.hasSingles) return (this.#restMs = 0);
    // What it will do to them is not known yet.
    if (isFirst) this.#restMs = Math.max(this.#restMs, firstRestMs);
    return this.#restMs;
  }
}
