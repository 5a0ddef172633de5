// How fast a carrier that says "too fast" is sent: a cut in proportion to the share of answers that say so, and a
// twentieth of the contract back for every second without. One complaint among thousands costs a fiftieth, a burst of
// them half. It knows rates and complaints, and neither segments nor when the next one is due.

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

  /** What the carrier said when it was last too fast for it; empty at the whole rate. */
  by(nowMs: number): string {
    return this.ratePerS(nowMs) < this.#fullPerS ? (this.#cut?.by ?? '') : '';
  }

  /** The carrier answered a submit, whatever it said. */
  answered(nowMs: number): void {
    if (nowMs >= this.#secondEndMs) {
      this.#answersBefore = nowMs < this.#secondEndMs + 1_000 ? this.#answersNow : 0;
      this.#answersNow = 0;
      this.#secondEndMs = nowMs + 1_000;
    }
    this.#answersNow += 1;
  }

  /** The carrier was throttled or full. What comes within a second is one complaint, and cuts the deeper the more it is. */
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

/** What was in flight when the first complaint came may complain too. */
const throttledMs = 1_000;
const cutMost = 0.5;
const cutLeast = 0.02;
/** Who is refused a tenth sends a tenth too much, and then some: cutting less would stay at the edge. */
const cutPerShare = 2;
const recoveryShare = 0.05;
const floorPerS = 1;
