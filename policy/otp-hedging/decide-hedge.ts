// Whether a message that waits longer than usual gets a second copy, the same for both rules, and which one-time passwords
// never do. Pure, but for the token of the budget, which is taken when everything else is fulfilled.
import { hash } from 'node:crypto';
import type { OtpId } from '../../model/ids.ts';

/** Why a message that waits too long is not hedged. */
export type HedgeRefused = 'no_route' | 'too_late' | 'outage' | 'no_budget';

export type HedgeQuestion = {
  /** Another carrier of its plan is good. */
  readonly hasRoute: boolean;
  /** How long its code still counts. */
  readonly leftMs: number;
  /** How long it has waited: what the carrier usually takes. */
  readonly afterMs: number;
  /** The carrier lets many wait: its health is to act, and no copy. */
  readonly isOutage: boolean;
  /** Takes the token of one copy; false when there is none. */
  readonly takeToken: () => boolean;
};

export function decideHedge({ hasRoute, leftMs, afterMs, isOutage, takeToken }: HedgeQuestion): 'hedge' | HedgeRefused {
  if (!hasRoute) return 'no_route';
  // The copy needs about as long as the first one has had.
  if (leftMs < 2 * afterMs) return 'too_late';
  if (isOutage) return 'outage';
  return takeToken() ? 'hedge' : 'no_budget';
}

/**
 * Whether a one-time password is in the control group, by a hash of its id: every message of it, on every machine, is in the
 * same group, and nobody can choose.
 */
export function isInControlGroup(id: OtpId, share: number): boolean {
  return hash('sha1', id, 'buffer').readUInt32BE(0) < share * 2 ** 32;
}
