// Whether a message should go another way because of how its carrier does right now. One question for the ingress,
// which plans, and for the carrier's actor, which moves what waits: two answers would send a message in circles.
import type { CarrierState } from '../../model/carrier-state.ts';
import type { Category } from '../../model/message.ts';
import type { CarrierHealthView } from '../contract.ts';

/** An OTP leaves at the first doubt; everything else waits until the carrier is really down, because a move costs. */
export function isAvoided(state: CarrierState, category: Category): boolean {
  return state === 'down' || (state === 'weak' && category === 'otp');
}

/** Before anything was heard: every carrier is as good as its configuration says. */
export const everyCarrierIsGood: CarrierHealthView = { stateOf: () => 'good', reasonOf: () => '' };
