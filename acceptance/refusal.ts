// Why acceptance does not take a message that the gates passed, as a value without a protocol: an entry point turns the
// code into its own (an HTTP problem, a command_status). What gates refuse is policy's Refusal.
import type { Taken } from '../platform/shared-bound.ts';
import { type BoundName, sharedBounds } from '../platform/limits-shares.ts';

export type AcceptanceCode =
  | 'clock_wrong'
  | 'queue_full'
  | 'overloaded'
  | 'rate_limited'
  | 'account_busy'
  | 'account_queue_full'
  | 'account_schedule_full'
  | 'idempotency_key_reused'
  | 'idempotency_in_progress'
  | 'idempotency_quota_exceeded';

export type AcceptanceRefusal = {
  readonly code: AcceptanceCode;
  /** What to do, for a developer. */
  readonly detail: string;
  /** Whole seconds after which it may be tried again; null where the request itself must change. */
  readonly retryAfterS: number | null;
};

/**
 * ```ts
 * return refusal('queue_full', 'the queue of this category is full', 5);
 * ```
 */
export function refusal(code: AcceptanceCode, detail: string, retryAfterS: number | null = null): AcceptanceRefusal {
  return { code, detail, retryAfterS };
}

/** Null when a slot was taken; 'account_full' is the account's own doing, 'full' everybody's. */
export function refusalOfTaken({ name }: { readonly name: BoundName }, taken: Taken): AcceptanceRefusal | null {
  if (taken === 'taken') return null;
  const { unit, code } = sharedBounds[name];
  const what = unit.split(/[;,]/)[0];
  if (taken === 'full') return refusal('overloaded', `too many ${what}`, 1);
  // A test holds the codes of the bounds to the catalogue.
  return refusal(code as AcceptanceCode, `too many ${what}: as many as one account may have`, 1);
}
