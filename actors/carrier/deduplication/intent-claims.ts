// Whether a durable intent counts: with several nodes on one carrier, another node's may precede it in EVENTS
// (multi-node/cluster-claims.ts checks). On a single node every intent counts.
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { ReplayStatus } from './replay-index.ts';

/** `new`: ours counts, continue · `lost`: it was written by an earlier incarnation · otherwise what precedes it. */
export type ClaimStatus = ReplayStatus | 'lost';

export type ClaimKind = 'intent' | 'rerouted';

export type IntentClaims = {
  /** Identifies this incarnation's events; 0 on a single node. */
  epoch(): number;
  /** The event is durable. Calls `then` once: at once, or when everything before the event was read. */
  confirm(kind: ClaimKind, inFlight: InFlightMessage, then: (status: ClaimStatus) => void): void;
};

export const localClaims: IntentClaims = { epoch: () => 0, confirm: (_kind, _inFlight, then) => then('new') };
