// Whether an intent that is durable counts: with several nodes on one carrier another's may come before it in EVENTS
// (multi-node/cluster-claims.ts finds that out). Alone there is nobody to wait for.
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { ReplayStatus } from './replay-index.ts';

/** `new`: ours counts, go on · `lost`: that is not known us any more · otherwise what came before it. */
export type ClaimStatus = ReplayStatus | 'lost';

export type ClaimKind = 'intent' | 'rerouted';

export type IntentClaims = {
  /** What our events are told apart by; 0 where there are no other nodes. */
  epoch(): number;
  /** The event is durable. `then` is called once: at once, or as soon as everything before the event is known. */
  confirm(kind: ClaimKind, inFlight: InFlightMessage, then: (status: ClaimStatus) => void): void;
};

export const localClaims: IntentClaims = { epoch: () => 0, confirm: (_kind, _inFlight, then) => then('new') };
