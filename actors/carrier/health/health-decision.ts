// From the signs of a carrier to its state: pure, with hysteresis. Trouble begins at one threshold and ends at
// another; after it a carrier stays avoided for a hold that doubles with every relapse, so that a carrier that
// comes and goes is not trusted again and again. Nothing here reads a clock or counts an answer.
import type { CarrierState } from '../../../model/carrier-state.ts';
import { limits } from '../../../platform/limits.ts';

export type Trouble = 'no_bind' | 'errors' | 'slow' | 'no_receipts';

/** What can be seen of a carrier at one moment. Shares are null when there is too little to tell. */
export type Signs = {
  /** Binds that can submit. */
  readonly bound: number;
  /** Answers that speak against the carrier, and submits it never answered, of all. */
  readonly errorShare: number | null;
  readonly answerMs: number | null;
  /** Receipts of what is old enough to have one; null also with a carrier that never sent many. */
  readonly receiptShare: number | null;
};

export type MoveRules = {
  /** Trouble of this length makes a carrier weak when it is a missing bind … */
  readonly otpMovesAfterMs: number;
  /** … and any trouble of this length makes it down. */
  readonly othersMoveAfterMs: number;
};

export type HealthMemory = {
  readonly state: CarrierState;
  readonly why: Trouble | '';
  /** The present trouble since then; null while there is none. */
  readonly troubleSinceMs: number | null;
  /** No trouble since then. */
  readonly clearSinceMs: number;
  /** What it must be clear for before it is good again. */
  readonly holdMs: number;
  readonly goodSinceMs: number;
};

export function freshHealth(nowMs: number): HealthMemory {
  const { holdMs } = limits.carrierHealth;
  return {
    state: 'good',
    why: '',
    troubleSinceMs: null,
    clearSinceMs: nowMs,
    holdMs,
    goodSinceMs: Number.NEGATIVE_INFINITY,
  };
}

/** One look. Times are monotonic. */
export function decideHealth(before: HealthMemory, signs: Signs, nowMs: number, rules: MoveRules): HealthMemory {
  const trouble = troubleIn(before, signs);
  if (trouble === null) return withoutTrouble(before, nowMs);
  const troubleSinceMs = before.troubleSinceMs ?? nowMs;
  const next = { ...before, troubleSinceMs, clearSinceMs: nowMs };
  const lastedMs = nowMs - troubleSinceMs;
  const wanted = stateAfter(trouble, lastedMs, rules);
  if (wanted === 'good' || (before.state === 'down' && wanted === 'weak')) return next;
  if (before.state !== 'good') return { ...next, state: wanted, why: trouble };
  const isRelapse = nowMs - before.goodSinceMs < limits.carrierHealth.relapseMs;
  const { holdMs, holdMsMax } = limits.carrierHealth;
  return {
    ...next,
    state: wanted,
    why: trouble,
    holdMs: isRelapse ? Math.min(holdMsMax, before.holdMs * 2) : holdMs,
  };
}

/** A missing bind is forgiven for a moment; shares over many answers are not. */
function stateAfter(trouble: Trouble, lastedMs: number, rules: MoveRules): CarrierState {
  if (lastedMs >= rules.othersMoveAfterMs) return 'down';
  if (trouble === 'no_bind' && lastedMs < rules.otpMovesAfterMs) return 'good';
  return 'weak';
}

function withoutTrouble(before: HealthMemory, nowMs: number): HealthMemory {
  const clear = before.troubleSinceMs === null ? before : { ...before, troubleSinceMs: null, clearSinceMs: nowMs };
  if (clear.state === 'good' || nowMs - clear.clearSinceMs < clear.holdMs) return clear;
  return { ...clear, state: 'good', why: '', goodSinceMs: nowMs };
}

/** What is in trouble stays so until it is clearly better; what is well until it is clearly worse. */
function troubleIn({ state, troubleSinceMs, why }: HealthMemory, signs: Signs): Trouble | null {
  const { bound, errorShare, answerMs, receiptShare } = signs;
  const limit = limits.carrierHealth;
  const isIn = state !== 'good' && troubleSinceMs !== null;
  if (bound === 0) return 'no_bind';
  const errorsFrom = isIn && why === 'errors' ? limit.errorShareGood : limit.errorShareWeak;
  if (errorShare !== null && errorShare >= errorsFrom) return 'errors';
  const slowFrom = isIn && why === 'slow' ? limit.answerMsGood : limit.answerMsWeak;
  if (answerMs !== null && answerMs >= slowFrom) return 'slow';
  const receiptsTo = isIn && why === 'no_receipts' ? limit.receiptShareGood : limit.receiptShareWeak;
  if (receiptShare !== null && receiptShare <= receiptsTo) return 'no_receipts';
  return null;
}
