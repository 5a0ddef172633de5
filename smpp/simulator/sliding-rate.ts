// Counts events within the last second exactly, in a ring of their times, for the TPS limit and the peak in the
// statistics. It stores at most `capacity` times and then counts `capacity`.

export class SlidingRate {
  readonly #times: Float64Array;
  #oldest = 0;
  #size = 0;
  /** The largest count add() ever saw. */
  peak = 0;

  constructor(capacity: number) {
    this.#times = new Float64Array(Math.max(1, capacity));
  }

  /** Events in the second that ends at `nowMs`. */
  count(nowMs: number): number {
    const sinceMs = nowMs - 1_000;
    while (this.#size > 0 && this.#times[this.#oldest]! <= sinceMs) {
      this.#oldest = this.#oldest + 1 === this.#times.length ? 0 : this.#oldest + 1;
      this.#size -= 1;
    }
    return this.#size;
  }

  add(nowMs: number): void {
    this.count(nowMs);
    const capacity = this.#times.length;
    if (this.#size === capacity) {
      this.#oldest = this.#oldest + 1 === capacity ? 0 : this.#oldest + 1;
      this.#size -= 1;
    }
    this.#times[(this.#oldest + this.#size) % capacity] = nowMs;
    this.#size += 1;
    if (this.#size > this.peak) this.peak = this.#size;
  }
}
