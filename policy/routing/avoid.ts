// Whether a message should avoid a carrier because of its present health. The same function plans at the ingress and
// moves waiting messages in the carrier's actor: two answers would send a message in circles.
import type { CarrierState } from '../../model/carrier-state.ts';
import type { Category } from '../../model/message.ts';
import type { CarrierHealthView } from '../contract.ts';

/** An OTP leaves at the first doubt; everything else waits until the carrier is really down, because a move costs. */
export function isAvoided(state: CarrierState, category: Category): boolean {
  return state === 'down' || (state === 'weak' && category === 'otp');
}

/** Before anything was heard: every carrier is as good as its configuration says. */
export const everyCarrierIsGood: CarrierHealthView = { stateOf: () => 'good', reasonOf: () => '' };
