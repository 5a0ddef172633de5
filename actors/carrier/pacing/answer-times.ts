// Estimates from one bind's answers when the carrier counted a segment: at the latest its answer time less the least
// round trip. Lateness beyond what is usual on this bind indicates a stall of the peer, the network or our own loop,
// and is used; where answers always vary, a fixed jitter is assumed instead.

export class AnswerTimes {
  /** Least round trips of this period and the one before, so that an old network path is forgotten. */
  #leastNowMs = Number.POSITIVE_INFINITY;
  #leastBeforeMs = Number.POSITIVE_INFINITY;
  #stretchEndMs = Number.NEGATIVE_INFINITY;
  #stretchAnswers = 0;
  #newUntilMs = Number.POSITIVE_INFINITY;
  #firstAnswerMs = Number.POSITIVE_INFINITY;
  /** Averages over tenths of a second with answers: mean lateness, and worst lateness with its mean deviation, ms. */
  #meanMs = 0;
  #meanWorstMs = 0;
  #deviationMs = 0;
  #tenths = 0;
  #tenth = { segments: 0, sumMs: 0, worstMs: 0, endMs: Number.NEGATIVE_INFINITY };

  /** An answer came at `atMs` to what was written at `writtenAtMs` (monotonic, ms). */
  add(writtenAtMs: number, atMs: number): void {
    if (atMs >= this.#stretchEndMs && this.#stretchAnswers >= stretchAnswersLeast) {
      this.#leastBeforeMs = this.#leastNowMs;
      this.#leastNowMs = Number.POSITIVE_INFINITY;
      this.#stretchEndMs = atMs + stretchMs;
      this.#stretchAnswers = 0;
    }
    this.#stretchAnswers += 1;
    if (this.#firstAnswerMs === Number.POSITIVE_INFINITY) {
      this.#firstAnswerMs = atMs;
      this.#newUntilMs = atMs + newForMs;
    }
    this.#leastNowMs = Math.min(this.#leastNowMs, atMs - writtenAtMs);
  }

  /**
   * When a segment written at `writtenAtMs`, proven counted by an answer at `atMs`, was counted at the latest: never
   * sooner than the fixed jitter after it was written. In doubt what is proven is used.
   */
  countedByMs(writtenAtMs: number, atMs: number, isDistrusted: boolean): number {
    const tookMs = atMs - writtenAtMs;
    const provenMs = Math.max(0, tookMs - this.#leastMs);
    this.#learn(provenMs, atMs);
    // At first the least round trip may be too high: all of an answer's time may have been the way there.
    if (this.#isNew(atMs)) {
      // Before the first answer nothing shows whether the carrier stood still.
      const mostMs = writtenAtMs < this.#firstAnswerMs ? firstMostMs : newMostMs;
      return writtenAtMs + Math.max(jitterMs, provenMs + slackMs, Math.min(tookMs, mostMs));
    }
    const believed = isDistrusted || this.#meanMs <= trustMs || provenMs > this.#usualMs;
    const latenessMs = believed ? provenMs + slackMs : Math.min(provenMs + slackMs, jitterMs);
    return writtenAtMs + (isDistrusted ? Math.max(latenessMs, jitterMs) : latenessMs);
  }

  /** What was written then should have been answered by now: a stall. */
  isOverdue(writtenAtMs: number, nowMs: number): boolean {
    return nowMs - writtenAtMs > this.#leastMs + Math.max(jitterMs, this.#usualMs);
  }

  get #leastMs(): number {
    return Math.min(this.#leastNowMs, this.#leastBeforeMs);
  }

  /** Too few answers yet to know what is usual. */
  #isNew(nowMs: number): boolean {
    return this.#tenths < tenthsToKnow || nowMs < this.#newUntilMs;
  }

  get #usualMs(): number {
    return this.#meanWorstMs + deviations * this.#deviationMs;
  }

  #learn(provenMs: number, atMs: number): void {
    const tenth = this.#tenth;
    // A stall must not become usual: an outlier counts as just beyond the usual.
    const countsMs = this.#isNew(atMs) ? provenMs : Math.min(provenMs, this.#usualMs + 1);
    tenth.segments += 1;
    tenth.sumMs += countsMs;
    tenth.worstMs = Math.max(tenth.worstMs, countsMs);
    if (atMs < tenth.endMs) return;
    const gain = Math.max(1 / (this.#tenths + 1), leastGain);
    this.#meanMs += (tenth.sumMs / tenth.segments - this.#meanMs) * trustGain;
    this.#deviationMs += (Math.abs(tenth.worstMs - this.#meanWorstMs) - this.#deviationMs) * gain;
    this.#meanWorstMs += (tenth.worstMs - this.#meanWorstMs) * gain;
    this.#tenths += 1;
    tenth.segments = 0;
    tenth.sumMs = 0;
    tenth.worstMs = 0;
    tenth.endMs = atMs + tenthMs;
  }
}

/** Assumed jitter, ms: segments that left a second apart may arrive this much closer. */
export const jitterMs = 25;
/** Allows for two clocks, a least round trip not seen yet, and a carrier that slightly reorders a bind's segments. */
const slackMs = 5;
/** When the average proven lateness is at most this, each answer is used by itself. */
const trustMs = jitterMs;
/** Trust changes over some twelve seconds of answers: a few overloaded seconds do not change it. */
const trustGain = 1 / 128;
const stretchMs = 10_000;
const stretchAnswersLeast = 20;
const tenthMs = 100;
const tenthsToKnow = 5;
const newForMs = 2_000;
/** Bounds what a carrier that always answers slowly costs. */
const newMostMs = 250;
const firstMostMs = 2_000;
const deviations = 6;
/** What is usual is forgotten over some two seconds of answers. */
const leastGain = 1 / 16;
