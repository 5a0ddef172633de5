// The states of a carrier and its binds: health, in the three values that the ingress and the carrier's actor act upon,
// what operators want of them, and how a bind is.

/** weak: OTP avoids it · down: everything avoids it. */
export const carrierStates = ['good', 'weak', 'down'] as const;
export type CarrierState = (typeof carrierStates)[number];

/** What comes of operator commands. drained: paused, and its sessions have ended. */
export const desiredStates = ['running', 'paused', 'drained'] as const;
export type DesiredState = (typeof desiredStates)[number];

/**
 * Of a bind that several nodes report, the first of these counts: a session somewhere is a session. waiting: for its next
 * try · stopped: it needs a person · resting: drained · elsewhere: another node has it.
 */
export const bindStates = ['bound', 'connecting', 'waiting', 'stopped', 'resting', 'elsewhere'] as const;
/** closed: its actor ends · unknown: no node reports it. */
export type BindState = (typeof bindStates)[number] | 'closed' | 'unknown';

export function isCarrierState(text: unknown): text is CarrierState {
  return (carrierStates as readonly unknown[]).includes(text);
}
