// Sends a second copy of a one-time password to the next carrier when this one has not answered within its usual time:
// the p99 of its recent answers, but never less than the floor of the rules. A budget bounds the copies, a control group
// gets none, and a carrier that lets many wait is in an outage: then its health moves everything, and no copy is sent.
// reroute.ts makes the copy safe to repeat. On the hot path it only adds.
import { eventOfMessage } from '../../../model/delivery-event.ts';
import { controlGroup } from '../../../model/copies.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { HedgingRules } from '../../../policy/otp-hedging/contract.ts';
import { FadingQuantile } from '../../../policy/otp-hedging/fading-quantile.ts';
import { HedgeBudget } from '../../../policy/otp-hedging/hedge-budget.ts';
import type { EventSink } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';
import type { Alternatives } from '../outcome/alternatives.ts';
import type { Completion } from '../outcome/completion.ts';
import type { CarrierHealth } from './health.ts';
import type { Reroute } from './reroute.ts';

export type ResponseHedgesParts = {
  readonly carrier: string;
  readonly clock: Clock;
  /** Null: nothing is hedged. */
  readonly rules: HedgingRules | null;
  readonly alternatives: Pick<Alternatives, 'best'>;
  readonly reroute: Pick<Reroute, 'copy'>;
  readonly health: Pick<CarrierHealth, 'lateShare' | 'onHedgeable'>;
  readonly events: EventSink;
  readonly completion: Pick<Completion, 'finishWhenDone'>;
};

/** Why a message that waits too long is not hedged. */
type Refused = 'no_route' | 'too_late' | 'outage' | 'no_budget';

const { p99, answersMin, halfLifeMs, wakeEveryMs, watchedMax, stalledMin, budget } = limits.otpHedging;

export class ResponseHedges {
  readonly #parts: ResponseHedgesParts;
  #rules: HedgingRules | null;
  readonly #answers: FadingQuantile;
  readonly #budget: HedgeBudget;
  /** Submits that may be hedged, in the order in which they were written. */
  #waiting: SubmitToken[] = [];
  #waitingFrom = 0;
  #timer: Cancel | null = null;

  constructor(parts: ResponseHedgesParts) {
    this.#parts = parts;
    this.#rules = parts.rules;
    this.#answers = new FadingQuantile(halfLifeMs, parts.clock.monotonicMs());
    this.#budget = new HedgeBudget(budget, parts.clock);
  }

  setRules(rules: HedgingRules | null): void {
    this.#rules = rules;
  }

  /** A PDU was written. */
  written(token: SubmitToken): void {
    const { message, tries } = token.inFlight;
    if (this.#rules === null || !this.#rules.enabled || !isHedgeable(message)) return;
    const other = this.#parts.alternatives.best(message);
    if (other?.how !== 'good') return;
    const isFirst = message.hop === 0 && message.delays === 0 && tries === 1;
    if (isFirst) this.#budget.earn(message.accountId, other.to, this.#rules.share);
    if (this.#waiting.length >= watchedMax) return;
    this.#waiting.push(token);
    this.#wake();
  }

  /** The carrier has answered after `tookMs`, or its time to answer is over. */
  onAnswer(tookMs: number): void {
    if (this.#rules !== null) this.#answers.add(tookMs, this.#parts.clock.monotonicMs());
  }

  /** After how long without an answer a message is hedged; null while too few answers are known. */
  get afterMs(): number | null {
    const usualMs = this.#answers.quantile(p99, answersMin, this.#parts.clock.monotonicMs());
    if (this.#rules === null || usualMs === null) return null;
    return Math.max(this.#rules.responseFloorMs, usualMs);
  }

  close(): void {
    this.#timer?.();
    this.#timer = null;
    this.#waiting = [];
    this.#waitingFrom = 0;
    this.#rules = null;
  }

  #wake(): void {
    const oldest = this.#waiting[this.#waitingFrom];
    if (this.#timer !== null || oldest === undefined) return;
    const { clock } = this.#parts;
    const dueInMs = oldest.writtenAtMs + this.#dueAfterMs() - clock.monotonicMs();
    this.#timer = clock.after(Math.max(wakeEveryMs, dueInMs), () => {
      this.#timer = null;
      this.#look();
      this.#wake();
    });
  }

  /** Without enough answers nothing is hedged, and what waits is forgotten after the floor. */
  #dueAfterMs(): number {
    return this.afterMs ?? this.#rules?.responseFloorMs ?? 0;
  }

  #look(): void {
    const afterMs = this.#dueAfterMs();
    const isKnown = this.afterMs !== null;
    const beforeMs = this.#parts.clock.monotonicMs() - afterMs;
    const late: SubmitToken[] = [];
    for (; this.#waitingFrom < this.#waiting.length; this.#waitingFrom += 1) {
      const token = this.#waiting[this.#waitingFrom] as SubmitToken;
      if (token.writtenAtMs > beforeMs) break;
      if (!isKnown) continue;
      const isLate = isStillOut(token);
      this.#parts.health.onHedgeable(isLate);
      if (isLate) late.push(token);
    }
    // All are counted first: an outage must not be hedged until it is seen.
    const isStalled = late.length > 0 && this.#isStalled(afterMs);
    for (const { inFlight } of late) this.#hedge(inFlight, afterMs, isStalled);
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

  #hedge(inFlight: InFlightMessage, afterMs: number, isStalled: boolean): void {
    const { carrier, alternatives, reroute } = this.#parts;
    const { message } = inFlight;
    const other = alternatives.best(message);
    const refused = other?.how === 'good' ? this.#refusedBy(message, other.to, { afterMs, isStalled }) : 'no_route';
    const to = other?.to ?? '';
    if (refused !== null) return metrics.otpHedges.inc({ carrier, to, result: refused });
    if (message.hedge === 'control') this.#noteControl(inFlight, to);
    else reroute.copy(inFlight, to, 'no_response');
  }

  /** The control group is asked the same, and spends as much: both groups differ by the copy only. */
  #refusedBy(
    { accountId, validUntilMs }: InFlightMessage['message'],
    to: string,
    { afterMs, isStalled }: { readonly afterMs: number; readonly isStalled: boolean },
  ): Refused | null {
    const { clock, health } = this.#parts;
    if (clock.nowMs() + 2 * afterMs > validUntilMs) return 'too_late';
    if (isStalled || (health.lateShare ?? 0) >= limits.carrierHealth.lateShareWeak) return 'outage';
    return this.#budget.spend(accountId, to) ? null : 'no_budget';
  }

  #noteControl(inFlight: InFlightMessage, to: string): void {
    const { carrier, events, clock, completion } = this.#parts;
    metrics.otpHedges.inc({ carrier, to, result: 'control' });
    const { message, attempt, epoch } = inFlight;
    const error = `${controlGroup}no_response`;
    const noted = eventOfMessage(message, { kind: 'hedged', attempt, error, epoch, atMs: clock.nowMs() });
    inFlight.write(events, noted, (_, durable) => durable && completion.finishWhenDone(inFlight), null);
  }
}

/** Copies of a long message would need the whole of both to be counted. */
function isHedgeable({ category, hedge, resends, segments }: InFlightMessage['message']): boolean {
  return (hedge === 'may' || hedge === 'control') && category === 'otp' && resends === 0 && segments === 1;
}

function isStillOut({ inFlight, attempt }: SubmitToken): boolean {
  const { state, isOut, isHedged, message } = inFlight;
  return state === 'sending' && isOut && !isHedged && message.resends === 0 && inFlight.attempt === attempt;
}
