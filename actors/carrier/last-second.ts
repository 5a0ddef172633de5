// When the last segments went, as many as a contract allows in a second: what a carrier's own counter sees, exactly,
// wherever its second begins. Pacing asks it, so that time lost to a late timer may be made up for and still no second
// carries more than the contract. It says when there is room again and knows nothing of rates.

export class LastSecond {
  /** A ring; the oldest is at #oldest. */
  #times: Float64Array;
  #oldest = 0;

  constructor(segmentsPerSecond: number) {
    this.#times = new Float64Array(roomFor(segmentsPerSecond)).fill(Number.NEGATIVE_INFINITY);
  }

  /** From when on (monotonic) `segments` more are within the contract; more than it allows at all count as all of it. */
  roomAtMs(segments: number): number {
    const nth = Math.min(segments, this.#times.length) - 1;
    return (this.#times[(this.#oldest + nth) % this.#times.length] as number) + secondMs + jitterMs;
  }

  add(segments: number, nowMs: number): void {
    for (let added = Math.min(segments, this.#times.length); added > 0; added -= 1) {
      this.#times[this.#oldest] = nowMs;
      this.#oldest = (this.#oldest + 1) % this.#times.length;
    }
  }

  /** Another contract; what went still counts. */
  resize(segmentsPerSecond: number): void {
    const inOrder = [...this.#times.subarray(this.#oldest), ...this.#times.subarray(0, this.#oldest)];
    const room = roomFor(segmentsPerSecond);
    this.#times = new Float64Array(room).fill(Number.NEGATIVE_INFINITY);
    const kept = inOrder.slice(-room);
    this.#times.set(kept, room - kept.length);
    this.#oldest = 0;
  }
}

const secondMs = 1_000;
/** Segments that left a second apart may arrive this much closer, and the carrier counts arrivals. */
export const jitterMs = 25;

function roomFor(segmentsPerSecond: number): number {
  return Math.max(1, Math.ceil(segmentsPerSecond));
}
