// A count that fades: of what was added, 1/e is left after the span. It holds three numbers however much is added.

export class FadingCount {
  readonly #spanMs: number;
  #value = 0;
  #atMs = 0;
  #firstAtMs = 0;

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  add(nowMs: number, count = 1): void {
    if (this.#value === 0) this.#firstAtMs = nowMs;
    this.#value = this.value(nowMs) + count;
    this.#atMs = nowMs;
  }

  value(nowMs: number): number {
    return this.#value === 0 ? 0 : this.#value * Math.exp((this.#atMs - nowMs) / this.#spanMs);
  }

  /** Additions per millisecond, true also while it has counted for less than its span. */
  rate(nowMs: number): number {
    const counted = 1 - Math.exp((this.#firstAtMs - nowMs) / this.#spanMs);
    return counted <= 0 ? 0 : this.value(nowMs) / (this.#spanMs * counted);
  }
}
