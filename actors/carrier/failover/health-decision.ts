// Decides a carrier's state from its measurements: pure, with hysteresis. A fault begins at one threshold and ends at
// another; afterwards the carrier stays avoided for a hold that doubles with every relapse. No clock is read and no
// answer counted here.
import type { CarrierState } from '../../../model/carrier-state.ts';
import { limits } from '../../../platform/limits.ts';
import type { HedgingRules } from '../../../policy/otp-hedging/contract.ts';

export type HealthFault =
  | 'no_bind'
  | 'errors'
  | 'slow'
  | 'late_answers'
  | 'late_receipts'
  | 'throttled'
  | 'no_receipts';

/** Measurements of a carrier at one moment. Shares are null when the sample is too small. */
export type Signs = {
  /** Binds that can submit. */
  readonly bound: number;
  /** Refusals that speak against the carrier, and submits without an answer, of all. */
  readonly errorShare: number | null;
  readonly answerMs: number | null;
  /** One-time passwords that it did not answer within the time after which they are hedged; null without hedging. */
  readonly lateShare: number | null;
  /** One-time passwords whose receipt did not come within the carrier's usual time, without what is usual of them. */
  readonly lateReceiptShare: number | null;
  /** How long the last one-time password in its lane will wait at the rate that the carrier's throttling has left; 0 at the whole rate. */
  readonly otpWaitMs: number;
  /** Receipts of the submits old enough to have one; null also for a carrier that never sent many. */
  readonly receiptShare: number | null;
};

export type FailoverPolicy = {
  /** Second copies of one-time passwords; absent: none. */
  readonly hedging?: HedgingRules;
  /** A missing bind for this long makes a carrier weak. */
  readonly otpFailoverAfterMs: number;
  /** Any fault for this long makes it down. */
  readonly othersFailoverAfterMs: number;
};

export type HealthMemory = {
  readonly state: CarrierState;
  readonly why: HealthFault | '';
  /** When the present fault began; null while there is none. */
  readonly faultSinceMs: number | null;
  /** No fault since then. */
  readonly clearSinceMs: number;
  /** How long it must be without a fault before it is good again. */
  readonly holdMs: number;
  readonly goodSinceMs: number;
};

export function freshHealth(nowMs: number): HealthMemory {
  const { holdMs } = limits.carrierHealth;
  return {
    state: 'good',
    why: '',
    faultSinceMs: null,
    clearSinceMs: nowMs,
    holdMs,
    goodSinceMs: Number.NEGATIVE_INFINITY,
  };
}

/** One evaluation. Times are monotonic. */
export function decideHealth(before: HealthMemory, signs: Signs, nowMs: number, rules: FailoverPolicy): HealthMemory {
  const fault = faultIn(before, signs);
  if (fault === null) return withoutFault(before, nowMs);
  const faultSinceMs = before.faultSinceMs ?? nowMs;
  const next = { ...before, faultSinceMs, clearSinceMs: nowMs };
  const lastedMs = nowMs - faultSinceMs;
  const wanted = stateAfter(fault, lastedMs, rules);
  if (wanted === 'good' || (before.state === 'down' && wanted === 'weak')) return next;
  if (before.state !== 'good') return { ...next, state: wanted, why: fault };
  const isRelapse = nowMs - before.goodSinceMs < limits.carrierHealth.relapseMs;
  const { holdMs, holdMsMax } = limits.carrierHealth;
  return {
    ...next,
    state: wanted,
    why: fault,
    holdMs: isRelapse ? Math.min(holdMsMax, before.holdMs * 2) : holdMs,
  };
}

/** A short loss of the bind is ignored; shares over many answers are not. */
function stateAfter(fault: HealthFault, lastedMs: number, rules: FailoverPolicy): CarrierState {
  // Only what waits for a code minds half a second: other messages stay while any receipts come, and keep to a lower rate.
  if (fault === 'late_receipts' || fault === 'throttled') return 'weak';
  if (lastedMs >= rules.othersFailoverAfterMs) return 'down';
  if (fault === 'no_bind' && lastedMs < rules.otpFailoverAfterMs) return 'good';
  return 'weak';
}

function withoutFault(before: HealthMemory, nowMs: number): HealthMemory {
  const clear = before.faultSinceMs === null ? before : { ...before, faultSinceMs: null, clearSinceMs: nowMs };
  if (clear.state === 'good' || nowMs - clear.clearSinceMs < clear.holdMs) return clear;
  return { ...clear, state: 'good', why: '', goodSinceMs: nowMs };
}

/** A faulty carrier stays so until it is clearly better, a good one until it is clearly worse. */
function faultIn({ state, faultSinceMs, why }: HealthMemory, signs: Signs): HealthFault | null {
  const limit = limits.carrierHealth;
  const isIn = (fault: HealthFault) => state !== 'good' && faultSinceMs !== null && why === fault;
  const isHigh = (fault: HealthFault, measured: number | null, weakFrom: number, goodBelow: number) =>
    measured !== null && measured >= (isIn(fault) ? goodBelow : weakFrom);
  if (signs.bound === 0) return 'no_bind';
  if (isHigh('errors', signs.errorShare, limit.errorShareWeak, limit.errorShareGood)) return 'errors';
  if (isHigh('slow', signs.answerMs, limit.answerMsWeak, limit.answerMsGood)) return 'slow';
  if (isHigh('late_answers', signs.lateShare, limit.lateShareWeak, limit.lateShareGood)) return 'late_answers';
  if (isHigh('late_receipts', signs.lateReceiptShare, limit.lateShareWeak, limit.lateShareGood)) return 'late_receipts';
  if (isHigh('throttled', signs.otpWaitMs, limit.otpWaitMsWeak, limit.otpWaitMsGood)) return 'throttled';
  const receiptsTo = isIn('no_receipts') ? limit.receiptShareGood : limit.receiptShareWeak;
  return signs.receiptShare !== null && signs.receiptShare <= receiptsTo ? 'no_receipts' : null;
}
