// The rate for a carrier that throttles (an outcome of throttle): cut in proportion to the share of throttled
// answers, and raised by a twentieth of the contract for every second without. One among thousands costs a fiftieth, a
// burst of them half.

export class ThrottleBackoff {
  #fullPerS: number;
  /** The rate right after the last cut, which grows from there; null: the whole rate. */
  #cut: Cut | null = null;
  /** Answers of this second and of the one before. */
  #answersNow = 0;
  #answersBefore = 0;
  #secondEndMs = Number.NEGATIVE_INFINITY;

  constructor(fullPerS: number) {
    this.#fullPerS = fullPerS;
  }

  ratePerS(nowMs: number): number {
    const cut = this.#cut;
    if (cut === null) return this.#fullPerS;
    const cleanSeconds = Math.max(0, Math.floor((nowMs - cut.lastThrottledMs) / 1_000));
    const perS = Math.max(
      Math.min(floorPerS, this.#fullPerS),
      cut.perS + cleanSeconds * recoveryShare * this.#fullPerS,
    );
    if (perS < this.#fullPerS) return perS;
    this.#cut = null;
    return this.#fullPerS;
  }

  /** The carrier's last throttling status; empty at the whole rate. */
  by(nowMs: number): string {
    return this.ratePerS(nowMs) < this.#fullPerS ? (this.#cut?.by ?? '') : '';
  }

  /** The carrier answered a submit, with any status. */
  answered(nowMs: number): void {
    if (nowMs >= this.#secondEndMs) {
      this.#answersBefore = nowMs < this.#secondEndMs + 1_000 ? this.#answersNow : 0;
      this.#answersNow = 0;
      this.#secondEndMs = nowMs + 1_000;
    }
    this.#answersNow += 1;
  }

  /** The carrier throttled. Throttled answers within a second are one cut, the deeper the more there are. */
  onThrottled(nowMs: number, by = ''): void {
    if (this.#cut === null || nowMs - this.#cut.atMs >= throttledMs) {
      const beforePerS = this.ratePerS(nowMs);
      this.#cut = { atMs: nowMs, beforePerS, perS: beforePerS, throttledAnswers: 0, lastThrottledMs: nowMs, by };
    }
    const cut = this.#cut;
    cut.throttledAnswers += 1;
    cut.lastThrottledMs = nowMs;
    cut.by = by;
    const answers = Math.max(this.#answersNow, this.#answersBefore, cut.throttledAnswers);
    const share = Math.min(cutMost, Math.max(cutLeast, (cutPerShare * cut.throttledAnswers) / answers));
    cut.perS = Math.max(Math.min(floorPerS, this.#fullPerS), Math.min(cut.perS, cut.beforePerS * (1 - share)));
  }

  setFull(fullPerS: number): void {
    if (this.#cut !== null) this.#cut.perS = Math.min(this.#cut.perS, fullPerS);
    this.#fullPerS = fullPerS;
  }
}

type Cut = {
  readonly atMs: number;
  readonly beforePerS: number;
  perS: number;
  throttledAnswers: number;
  lastThrottledMs: number;
  by: string;
};

/** What was in flight at the first throttled answer may be throttled too. */
const throttledMs = 1_000;
const cutMost = 0.5;
const cutLeast = 0.02;
/** A carrier that refuses a tenth gets a tenth too much: cutting by more leaves the edge. */
const cutPerShare = 2;
const recoveryShare = 0.05;
const floorPerS = 1;
