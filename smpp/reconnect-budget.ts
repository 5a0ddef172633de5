// Bounds the connection attempts of a process per second, over all its binds, so that 200 binds do not reconnect in one
// burst. Attempts get evenly spaced slots; it has no queue and no timer.

export class ReconnectBudget {
  readonly #spacingMs: number;
  readonly #burst: number;
  #nextMs = Number.NEGATIVE_INFINITY;

  /** Allows `burst` attempts at once after a quiet time, then one each 1/perSecond. */
  constructor(perSecond: number, burst = 4) {
    this.#spacingMs = 1_000 / perSecond;
    this.#burst = burst;
  }

  /** Reserves a slot and returns its time, at or after `wantedMs`. */
  reserve(wantedMs: number): number {
    const earliestMs = wantedMs - this.#spacingMs * (this.#burst - 1);
    const turnMs = Math.max(this.#nextMs, earliestMs);
    this.#nextMs = turnMs + this.#spacingMs;
    return Math.max(wantedMs, turnMs);
  }
}
