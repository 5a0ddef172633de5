// Goes through the messages in flight that were not begun: it ends what can no longer be sent in time and, while the
// carrier is avoided, moves the others to the next carrier of their plan. reroute.ts makes a move safe to repeat;
// health.ts says when a carrier is avoided.
import type { CarrierState } from '../../../model/carrier-state.ts';
import { categories } from '../../../model/message.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { isAvoided } from '../../../policy/routing/avoid.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Alternatives } from '../outcome/alternatives.ts';
import type { MessagesInFlight } from '../queue/messages-in-flight.ts';

export type FailoverParts = {
  readonly clock: Clock;
  readonly messages: Pick<MessagesInFlight, 'all'>;
  readonly alternatives: Pick<Alternatives, 'best'>;
  readonly reroute: (inFlight: InFlightMessage, to: string, why: string, mayComeBack: boolean) => void;
  /** A message that ends or moves leaves its lane, though it stays in flight until its events are durable. */
  readonly leaveLane: (inFlight: InFlightMessage) => void;
  /** Whether the alternative's stream and the events have capacity for one more move. */
  readonly hasCapacity: (inFlight: InFlightMessage) => boolean;
  readonly onExpired: (inFlight: InFlightMessage) => void;
  /** Set when the carrier is no longer configured: ends a message without an alternative. */
  readonly onNoAlternative?: ((inFlight: InFlightMessage) => void) | null;
  /** Its intent is durable and no PDU was written: published before it moves. */
  readonly onNotWritten: (inFlight: InFlightMessage) => void;
};

export class Failover {
  readonly #parts: FailoverParts;

  constructor(parts: FailoverParts) {
    this.#parts = parts;
  }

  /** Ends what is too late. */
  expire(): void {
    const nowMs = this.#parts.clock.nowMs();
    for (const inFlight of this.#parts.messages.all()) {
      if (nowMs < inFlight.message.validUntilMs || !mayEnd(inFlight)) continue;
      this.#parts.leaveLane(inFlight);
      this.#parts.onExpired(inFlight);
    }
  }

  /** Moves what has an alternative: OTP first, a bounded number per call. */
  move(state: CarrierState, why: string): void {
    let left: number = limits.reroute.failoversPerCheck;
    for (const category of categories) {
      if (!isAvoided(state, category)) continue;
      for (const inFlight of this.#parts.messages.all()) {
        if (left === 0) return;
        if (inFlight.category !== category) continue;
        // Each category has its own stream: one without capacity does not block the others.
        if (!this.#parts.hasCapacity(inFlight)) break;
        if (this.moveOne(inFlight, why)) left -= 1;
      }
    }
  }

  /** False when it stays: it has begun, or has no better alternative. */
  moveOne(inFlight: InFlightMessage, why: string): boolean {
    const { alternatives, onNoAlternative = null } = this.#parts;
    if (!isIdle(inFlight))
      return onNoAlternative !== null && isPartlySubmitted(inFlight) && this.#end(inFlight, onNoAlternative);
    const candidate = alternatives.best(inFlight.message);
    if (candidate === null && onNoAlternative !== null) return this.#end(inFlight, onNoAlternative);
    if (candidate === null || candidate.how !== 'good') return false;
    this.#parts.leaveLane(inFlight);
    if (inFlight.state === 'sending') this.#parts.onNotWritten(inFlight);
    this.#parts.reroute(inFlight, candidate.to, why, true);
    return true;
  }

  #end(inFlight: InFlightMessage, onNoAlternative: (inFlight: InFlightMessage) => void): boolean {
    this.#parts.leaveLane(inFlight);
    onNoAlternative(inFlight);
    return true;
  }
}

/** The carrier has segments of it and no PDU is out. */
function isPartlySubmitted(inFlight: InFlightMessage): boolean {
  return inFlight.isPartAccepted && !inFlight.isOut && (inFlight.state === 'queued' || inFlight.state === 'waiting');
}

/** Idle, or being deferred into LATER without an answer: if that answer comes, its copy has expired too. */
function mayEnd(inFlight: InFlightMessage): boolean {
  return inFlight.state === 'deferring' ? inFlight.pendingWrites === 0 : isIdle(inFlight);
}

/** No PDU of it is out and none was accepted. `sending`: its intent is durable, but no bind accepted a PDU. */
function isIdle(inFlight: InFlightMessage): boolean {
  if (!inFlight.isUntouched) return false;
  return inFlight.state === 'queued' || inFlight.state === 'waiting' || inFlight.state === 'sending';
}
