// Goes through what a carrier holds and has not begun: what can no longer go out in time ends, and while the carrier
// is avoided everything that may goes to the next carrier of its plan. It looks at messages only; how a move is made
// repeat-safe is reroute.ts's business, and when a carrier is avoided health.ts's.
import type { CarrierState } from '../../../model/carrier-state.ts';
import { categories } from '../../../model/message.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { isAvoided } from '../../../policy/routing/avoid.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Reroute } from './reroute.ts';

export type MoverParts = {
  readonly clock: Clock;
  readonly reroute: Pick<Reroute, 'go' | 'otherWay'>;
  readonly held: () => Iterable<InFlightMessage>;
  /** What ends or moves waits no more, though it is held until its events are durable. */
  readonly leaveLane: (held: InFlightMessage) => void;
  /** Whether its lane's stream and the events have room for one more move. */
  readonly hasRoom: (held: InFlightMessage) => boolean;
  readonly onExpired: (held: InFlightMessage) => void;
  /** Set where the carrier is configured no more: what can go nowhere else ends. */
  readonly onNoWay?: ((held: InFlightMessage) => void) | null;
  /** Its intent is durable and no PDU was written: told before it moves. */
  readonly onNotWritten: (held: InFlightMessage) => void;
};

export class Mover {
  readonly #parts: MoverParts;

  constructor(parts: MoverParts) {
    this.#parts = parts;
  }

  /** Ends what is too late. */
  expire(): void {
    const nowMs = this.#parts.clock.nowMs();
    for (const held of this.#parts.held()) {
      if (nowMs < held.message.validUntilMs || !mayEnd(held)) continue;
      this.#parts.leaveLane(held);
      this.#parts.onExpired(held);
    }
  }

  /** Moves what may go another way: OTP first, a bounded number at each look. */
  move(state: CarrierState, why: string): void {
    let left: number = limits.reroute.movesPerLook;
    for (const category of categories) {
      if (!isAvoided(state, category)) continue;
      for (const held of this.#parts.held()) {
        if (left === 0) return;
        if (held.category !== category) continue;
        // Every category has a stream of its own: one without room keeps no other from moving.
        if (!this.#parts.hasRoom(held)) break;
        if (this.moveOne(held, why)) left -= 1;
      }
    }
  }

  /** False when it stays: it has begun, or it has no better way. */
  moveOne(held: InFlightMessage, why: string): boolean {
    const { reroute, onNoWay = null } = this.#parts;
    if (!isIdle(held)) return onNoWay !== null && isPartTaken(held) && this.#end(held, onNoWay);
    const way = reroute.otherWay(held.message);
    if (way === null && onNoWay !== null) return this.#end(held, onNoWay);
    if (way === null || way.how !== 'good') return false;
    this.#parts.leaveLane(held);
    if (held.state === 'sending') this.#parts.onNotWritten(held);
    reroute.go(held, way.to, why, true);
    return true;
  }

  #end(held: InFlightMessage, onNoWay: (held: InFlightMessage) => void): boolean {
    this.#parts.leaveLane(held);
    onNoWay(held);
    return true;
  }
}

/** The carrier has parts of it and no PDU is out. */
function isPartTaken(held: InFlightMessage): boolean {
  return held.isPartAccepted && !held.isOut && (held.state === 'queued' || held.state === 'waiting');
}

/** Idle, or on its way into LATER without an answer: when one comes after all, its copy has expired too. */
function mayEnd(held: InFlightMessage): boolean {
  return held.state === 'deferring' ? held.pendingWrites === 0 : isIdle(held);
}

/** No PDU of it is out and none was taken. `sending`: its intent is durable, but no bind took a PDU. */
function isIdle(held: InFlightMessage): boolean {
  if (!held.isUntouched) return false;
  return held.state === 'queued' || held.state === 'waiting' || held.state === 'sending';
}
