// What one bind's answers tell about when the carrier counted a segment: no later than its answer less the least round
// trip. Lateness beyond what is usual on this bind tells of a stall, of the peer, of the network or of our own loop, and
// is believed; answers that always vary tell nothing, and a fixed jitter is allowed for instead. It keeps a handful of
// numbers and knows nothing of segments.

export class AnswerTimes {
  /** Least round trips of this stretch and of the one before, so that a path that is no more is forgotten. */
  #leastNowMs = Number.POSITIVE_INFINITY;
  #leastBeforeMs = Number.POSITIVE_INFINITY;
  #stretchEndMs = Number.NEGATIVE_INFINITY;
  #stretchAnswers = 0;
  #newUntilMs = Number.POSITIVE_INFINITY;
  #firstAnswerMs = Number.POSITIVE_INFINITY;
  /** Of each tenth of a second that had answers: the mean of its lateness, and of its worst with the mean deviation. */
  #meanMs = 0;
  #meanWorstMs = 0;
  #deviationMs = 0;
  #tenths = 0;
  #tenth = { segments: 0, sumMs: 0, worstMs: 0, endMs: Number.NEGATIVE_INFINITY };

  /** An answer came at `atMs` to what was written at `writtenAtMs`. */
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
   * When a segment was counted at the latest, which was written at `writtenAtMs` and is proven counted by an answer at
   * `atMs`. In doubt whatever is proven is believed, and it is no sooner than the fixed jitter after it was written.
   */
  countedByMs(writtenAtMs: number, atMs: number, isDistrusted: boolean): number {
    const tookMs = atMs - writtenAtMs;
    const provenMs = Math.max(0, tookMs - this.#leastMs);
    this.#learn(provenMs, atMs);
    // At first the least round trip is that of a beginning: slow. Then all of an answer's time may have been the way there.
    if (this.#isNew(atMs)) {
      // Before the first answer nothing told whether the carrier stood still.
      const mostMs = writtenAtMs < this.#firstAnswerMs ? firstMostMs : newMostMs;
      return writtenAtMs + Math.max(jitterMs, provenMs + slackMs, Math.min(tookMs, mostMs));
    }
    const believed = isDistrusted || this.#meanMs <= trustMs || provenMs > this.#usualMs;
    const latenessMs = believed ? provenMs + slackMs : Math.min(provenMs + slackMs, jitterMs);
    return writtenAtMs + (isDistrusted ? Math.max(latenessMs, jitterMs) : latenessMs);
  }

  /** What was written then should have been answered by now: silence tells of a stall. */
  isOverdue(writtenAtMs: number, nowMs: number): boolean {
    return nowMs - writtenAtMs > this.#leastMs + Math.max(jitterMs, this.#usualMs);
  }

  get #leastMs(): number {
    return Math.min(this.#leastNowMs, this.#leastBeforeMs);
  }

  /** Too few answers yet to tell what is usual. */
  #isNew(nowMs: number): boolean {
    return this.#tenths < tenthsToKnow || nowMs < this.#newUntilMs;
  }

  get #usualMs(): number {
    return this.#meanWorstMs + deviations * this.#deviationMs;
  }

  #learn(provenMs: number, atMs: number): void {
    const tenth = this.#tenth;
    // A stall must not pass for a habit: what is far out counts as just beyond the usual.
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

/** Segments that left a second apart may arrive this much closer, when nothing better is known. */
export const jitterMs = 25;
/** Two clocks, a least round trip not seen yet, a carrier that gets to a bind's segments not quite in their order. */
const slackMs = 5;
/** Answers that on average prove no more lateness than this are believed each by itself. */
const trustMs = jitterMs;
/** Trust is lost, and won back, over some twelve seconds of answers: a few overloaded seconds are no reason, a habit is. */
const trustGain = 1 / 128;
const stretchMs = 10_000;
const stretchAnswersLeast = 20;
const tenthMs = 100;
const tenthsToKnow = 5;
const newForMs = 2_000;
/** A carrier that always answers slowly must not pay for all of it. */
const newMostMs = 250;
const firstMostMs = 2_000;
const deviations = 6;
/** What is usual is forgotten over some two seconds of answers. */
const leastGain = 1 / 16;
