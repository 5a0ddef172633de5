// A carrier's health, in the three values that the ingress and the carrier's actor act upon.

/** weak: OTP avoids it · down: everything avoids it. */
export const carrierStates = ['good', 'weak', 'down'] as const;
export type CarrierState = (typeof carrierStates)[number];

export function isCarrierState(text: unknown): text is CarrierState {
  return (carrierStates as readonly unknown[]).includes(text);
}
