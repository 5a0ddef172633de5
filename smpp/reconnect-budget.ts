// How many connections a process may attempt per second, over all its binds: when a carrier comes back, 200
// binds must not arrive in one burst. Attempts get turns, evenly spaced; it holds no queue and no timer.

export class ReconnectBudget {
  readonly #spacingMs: number;
  readonly #burst: number;
  #nextMs = Number.NEGATIVE_INFINITY;

  /** `burst` attempts may come at once after a quiet time, then one each 1/perSecond. */
  constructor(perSecond: number, burst = 4) {
    this.#spacingMs = 1_000 / perSecond;
    this.#burst = burst;
  }

  /** The time, at or after `wantedMs`, at which this attempt may start. The turn is taken. */
  reserve(wantedMs: number): number {
    const earliestMs = wantedMs - this.#spacingMs * (this.#burst - 1);
    const turnMs = Math.max(this.#nextMs, earliestMs);
    this.#nextMs = turnMs + this.#spacingMs;
    return Math.max(wantedMs, turnMs);
  }
}
