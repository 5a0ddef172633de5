// Finds one-time passwords that this carrier has not answered within its usual time: the p99 of its recent answers, but
// never less than the floor of the rules. A carrier that lets many wait is in an outage: then its health moves
// everything, and no copy is sent. On the hot path it only adds; hedges.ts sends the copies.
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { FadingQuantile } from '../../../policy/otp-hedging/fading-quantile.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';
import type { CarrierHealth } from './health.ts';
import type { Hedges } from './hedges.ts';

export type ResponseHedgesParts = {
  readonly clock: Clock;
  readonly hedges: Hedges;
  readonly health: Pick<CarrierHealth, 'lateShare' | 'onHedgeable'>;
};

const { p99, answersMin, halfLifeMs, wakeEveryMs, watchedMax, stalledMin, lateInARow, timerLateMs } = limits.otpHedging;

export class ResponseHedges {
  readonly #parts: ResponseHedgesParts;
  readonly #answers: FadingQuantile;
  /** Submits that may be hedged, in the order in which they were written. */
  #waiting: SubmitToken[] = [];
  #waitingFrom = 0;
  #lateInARow = 0;
  #timer: Cancel | null = null;

  constructor(parts: ResponseHedgesParts) {
    this.#parts = parts;
    this.#answers = new FadingQuantile(halfLifeMs, parts.clock.monotonicMs());
  }

  /** A PDU was written. */
  written(token: SubmitToken): void {
    const { hedges } = this.#parts;
    const { message, tries } = token.inFlight;
    const to = hedges.routeOf(token.inFlight);
    if (to === null) return;
    if (message.hop === 0 && message.delays === 0 && tries === 1) hedges.earn(message.accountId, to);
    if (this.#waiting.length >= watchedMax) return;
    this.#waiting.push(token);
    this.#wake();
  }

  /** The carrier has answered after `tookMs`, or its time to answer is over. */
  onAnswer(tookMs: number): void {
    if (this.#parts.hedges.rules !== null) this.#answers.add(tookMs, this.#parts.clock.monotonicMs());
  }

  /** After how long without an answer a message is hedged; null while too few answers are known. */
  get afterMs(): number | null {
    const { rules } = this.#parts.hedges;
    const usualMs = this.#answers.quantile(p99, answersMin, this.#parts.clock.monotonicMs());
    return rules === null || usualMs === null ? null : Math.max(rules.responseFloorMs, usualMs);
  }

  close(): void {
    this.#timer?.();
    this.#timer = null;
    this.#waiting = [];
    this.#waitingFrom = 0;
  }

  #wake(): void {
    const oldest = this.#waiting[this.#waitingFrom];
    if (this.#timer !== null || oldest === undefined) return;
    this.#lookAt(oldest.writtenAtMs + this.#dueAfterMs());
  }

  #lookAt(atMs: number): void {
    const { clock } = this.#parts;
    const expectedMs = Math.max(clock.monotonicMs() + wakeEveryMs, atMs);
    this.#timer = clock.after(expectedMs - clock.monotonicMs(), () => {
      this.#timer = null;
      // Our own thread was held up: what has arrived meanwhile is read first.
      if (clock.monotonicMs() - expectedMs > timerLateMs) return this.#lookAt(0);
      this.#look();
      this.#wake();
    });
  }

  /** Without enough answers nothing is hedged, and what waits is forgotten after the floor. */
  #dueAfterMs(): number {
    return this.afterMs ?? this.#parts.hedges.rules?.responseFloorMs ?? 0;
  }

  #look(): void {
    const { health, hedges, clock } = this.#parts;
    const afterMs = this.#dueAfterMs();
    const isKnown = this.afterMs !== null;
    const beforeMs = clock.monotonicMs() - afterMs;
    const late: SubmitToken[] = [];
    for (; this.#waitingFrom < this.#waiting.length; this.#waitingFrom += 1) {
      const token = this.#waiting[this.#waitingFrom] as SubmitToken;
      if (token.writtenAtMs > beforeMs) break;
      if (!isKnown) continue;
      const isLate = isStillOut(token);
      health.onHedgeable(isLate);
      this.#lateInARow = isLate ? this.#lateInARow + 1 : 0;
      if (isLate) late.push(token);
    }
    // All are counted first: an outage must not be hedged until it is seen.
    const isLateAsAWhole =
      this.#lateInARow >= lateInARow || (health.lateShare ?? 0) >= limits.carrierHealth.lateShareWeak;
    const isOutage = late.length > 0 && (isLateAsAWhole || this.#isStalled(afterMs));
    for (const { inFlight } of late) hedges.onLate(inFlight, { rule: 'response', afterMs, isOutage });
    if (this.#waitingFrom < this.#waiting.length / 2) return;
    this.#waiting = this.#waiting.slice(this.#waitingFrom);
    this.#waitingFrom = 0;
  }

  /** Most of what was written after it, and half as long ago, waits too: the outage has just begun. */
  #isStalled(afterMs: number): boolean {
    const beforeMs = this.#parts.clock.monotonicMs() - afterMs / 2;
    let older = 0;
    let out = 0;
    for (let at = this.#waitingFrom; at < this.#waiting.length; at += 1) {
      const token = this.#waiting[at] as SubmitToken;
      if (token.writtenAtMs > beforeMs) break;
      older += 1;
      if (isStillOut(token)) out += 1;
    }
    return older >= stalledMin && out * 2 >= older;
  }
}

function isStillOut({ inFlight, attempt }: SubmitToken): boolean {
  const { state, isOut, hedged, message } = inFlight;
  return state === 'sending' && isOut && hedged === 'no' && message.resends === 0 && inFlight.attempt === attempt;
}
