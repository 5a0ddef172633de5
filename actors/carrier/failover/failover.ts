// Goes through what a carrier holds and has not begun: what can no longer go out in time ends, and while the carrier
// is avoided everything that may goes to the next carrier of its plan. It looks at messages only; how a move is made
// repeat-safe is reroute.ts's business, and when a carrier is avoided health.ts's.
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
  /** What ends or moves waits no more, though it is held until its events are durable. */
  readonly leaveLane: (inFlight: InFlightMessage) => void;
  /** Whether its lane's stream and the events have room for one more move. */
  readonly hasCapacity: (inFlight: InFlightMessage) => boolean;
  readonly onExpired: (inFlight: InFlightMessage) => void;
  /** Set where the carrier is configured no more: what can go nowhere else ends. */
  readonly onNoAlternative?: ((inFlight: InFlightMessage) => void) | null;
  /** Its intent is durable and no PDU was written: told before it moves. */
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

  /** Moves what may go another way: OTP first, a bounded number at each look. */
  move(state: CarrierState, why: string): void {
    let left: number = limits.reroute.failoversPerCheck;
    for (const category of categories) {
      if (!isAvoided(state, category)) continue;
      for (const inFlight of this.#parts.messages.all()) {
        if (left === 0) return;
        if (inFlight.category !== category) continue;
        // Every category has a stream of its own: one without room keeps no other from moving.
        if (!this.#parts.hasCapacity(inFlight)) break;
        if (this.moveOne(inFlight, why)) left -= 1;
      }
    }
  }

  /** False when it stays: it has begun, or it has no better way. */
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

/** The carrier has parts of it and no PDU is out. */
function isPartlySubmitted(inFlight: InFlightMessage): boolean {
  return inFlight.isPartAccepted && !inFlight.isOut && (inFlight.state === 'queued' || inFlight.state === 'waiting');
}

/** Idle, or on its way into LATER without an answer: when one comes after all, its copy has expired too. */
function mayEnd(inFlight: InFlightMessage): boolean {
  return inFlight.state === 'deferring' ? inFlight.pendingWrites === 0 : isIdle(inFlight);
}

/** No PDU of it is out and none was taken. `sending`: its intent is durable, but no bind took a PDU. */
function isIdle(inFlight: InFlightMessage): boolean {
  if (!inFlight.isUntouched) return false;
  return inFlight.state === 'queued' || inFlight.state === 'waiting' || inFlight.state === 'sending';
}
