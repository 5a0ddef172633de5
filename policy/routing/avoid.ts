// Whether a message should avoid a carrier because of its present health. The same function plans at the ingress and
// moves waiting messages in the carrier's actor: two different answers would send a message in circles.
import type { CarrierState } from '../../model/carrier-state.ts';
import type { Category } from '../../model/message.ts';
import type { CarrierHealthView } from '../contract.ts';

/** An OTP avoids a weak carrier; other categories only one that is down, because a move costs. */
export function isAvoided(state: CarrierState, category: Category): boolean {
  return state === 'down' || (state === 'weak' && category === 'otp');
}

/** Before the first heartbeat every carrier counts as good. */
export const everyCarrierIsGood: CarrierHealthView = { stateOf: () => 'good', reasonOf: () => '' };
