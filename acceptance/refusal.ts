// Why acceptance refuses a message that passed the gates, as a value without a protocol: each entry point turns the
// code into its own form (an HTTP problem, an SMPP command_status). What gates refuse is a Refusal of policy/.
import type { PublishFailure } from '../cluster/bus/publisher.ts';
import type { Taken } from '../platform/shared-bound.ts';
import { type BoundName, sharedBounds } from '../platform/limits-shares.ts';

export const acceptanceCodes = [
  'clock_wrong',
  'queue_full',
  'overloaded',
  'rate_limited',
  'account_busy',
  'account_queue_full',
  'account_schedule_full',
  'account_links_full',
  'link_disabled',
  'idempotency_key_reused',
  'idempotency_in_progress',
  'idempotency_quota_exceeded',
] as const;
export type AcceptanceCode = (typeof acceptanceCodes)[number];

export type AcceptanceRefusal = {
  readonly code: AcceptanceCode;
  /** What to do about it, for a developer. */
  readonly detail: string;
  /** Seconds to wait before another try; null when the request itself must change. */
  readonly retryAfterS: number | null;
  /** What must change, where it is one field of the request. */
  readonly field?: string;
  /** The queue did not answer: the message may have been accepted all the same. */
  readonly mayBeAccepted?: true;
};

/**
 * ```ts
 * return refusal('queue_full', 'the queue of this category is full', 5);
 * ```
 */
export function refusal(code: AcceptanceCode, detail: string, retryAfterS: number | null = null): AcceptanceRefusal {
  return { code, detail, retryAfterS };
}

/** Null when a slot was taken; 'account_full': the account uses its whole share; 'full': every slot is in use. */
export function refusalOfTaken({ name }: { readonly name: BoundName }, taken: Taken): AcceptanceRefusal | null {
  if (taken === 'taken') return null;
  const { unit, code } = sharedBounds[name];
  const what = unit.split(/[;,]/)[0];
  if (taken === 'full') return refusal('overloaded', `too many ${what}`, 1);
  // A test checks the codes of the bounds against the catalogue.
  return refusal(code as AcceptanceCode, `too many ${what}: as many as one caller may have`, 1);
}

/** Why a record is not durable. */
export function refusalOfFailure(failure: PublishFailure): AcceptanceRefusal {
  switch (failure) {
    case 'full':
      return refusal('queue_full', 'the queue of this category is full', 5);
    case 'subject_full':
      return refusal('account_queue_full', 'too many messages of this account wait for this carrier', 5);
    case 'busy':
      return publisherBusy;
    default:
      return noAnswer;
  }
}

const noAnswer: AcceptanceRefusal = {
  ...refusal('overloaded', 'the message queue did not answer: the message may or may not have been accepted', 1),
  mayBeAccepted: true,
};

export const publisherBusy = refusal('overloaded', 'too many messages are being accepted', 1);
