// A message this carrier holds: taken from its stream, not acked yet. Types and the pure questions that decide
// whether it may be written and whether it is done.
import type { JsMsg } from '@nats-io/jetstream';
import type { EncodedSegment } from '../../../model/text/octets.ts';
import type { Category, Message } from '../../../model/message.ts';
import type { Cancel } from '../../../platform/clock.ts';
import type { PutOffWait } from '../outcome/put-offs.ts';
import type { SubmitHeader } from '../submit/submit-pdu.ts';
import type { Place } from './fair-queue.ts';

export type HeldMessage = {
  readonly key: string;
  /** Changes in one thing only: the mark of a message that is sent once more. */
  message: Message;
  readonly category: Category;
  /** The latest delivery of the record: redelivery swaps it, and acks always go to the latest. */
  record: JsMsg;
  /** Until then (monotonic) the server gives the record to nobody else. */
  holdUntilMs: number;
  /**
   * lane: waits for a token · intent: chosen, its intent is on the way to EVENTS · sending: PDUs may be written ·
   * resting: refused for a moment · resending: its outcome is unknown and it goes once more, as soon as that is durable
   * and every segment still out is answered · put_off: on its way into LATER · lapsed: the server may have given it to
   * somebody else; only a redelivery brings it back · settling: only durability of its events and the ack are left
   */
  stage: 'lane' | 'intent' | 'sending' | 'resting' | 'resending' | 'put_off' | 'lapsed' | 'settling';
  /** When a rest ends (monotonic), and what calls its timer off. */
  restUntilMs: number;
  cancelRest: Cancel;
  /** In the stage put_off; null in any other. */
  putOff: PutOffWait | null;
  /** The deferral that closes its intent, told when no segment of it is out any more. */
  closing: Closing | null;
  /** In its lane: from the moment it begins to wait until its turn, its move or its end. */
  place: Place | null;
  tries: number;
  /** Under which its last intent was written; see intent-claims.ts. */
  epoch: number;
  /** When that intent was written, monotonic. */
  intentAtMs: number;
  /** A restart has to read EVENTS from this sequence on to know what became of it; 0 while nothing was written. */
  neededFromSeq: number;
  /** A refusal after which it wants to another carrier, while other segments of it still wait for their answers. */
  leaving: Refusal | null;
  /** The carrier's last word on it; null before the first. */
  lastRefusal: string | null;
  /** What each of its PDUs carries; empty until they are made. One may carry all segments of the contract. */
  pdus: readonly EncodedSegment[];
  /** What the submit_sm of all of them have in common; made with them, before the first intent. */
  header: SubmitHeader | undefined;
  /** Bits 1..n of the segments that the carrier has taken. */
  takenBits: number;
  /** Segments written and not answered. */
  outstanding: number;
  /** Events on their way to EVENTS; the ack waits for them. */
  eventsInFlight: number;
};

export type Closing = {
  readonly segment: number;
  readonly attempt: number;
  readonly error: string;
  readonly detail: string;
};

/** What the carrier said about one segment of it. */
export type Refusal = {
  readonly status: number;
  readonly statusName: string;
  readonly segment: number;
  readonly attempt: number;
  /** It was not the message that was refused: this carrier stays in its plan. */
  readonly mayComeBack: boolean;
};

/** Bits 1..count: all segments of a message, as `takenBits` has them. */
export const allTakenBits = (count: number): number => ((1 << count) - 1) << 1;

/** What the carrier has of it, as its events say it (DeliveryEvent.progress). */
export function progressOf({ takenBits, message }: Pick<HeldMessage, 'takenBits' | 'message'>): number {
  return takenBits | (message.resends > 0 ? 1 : 0);
}

/** A PDU may be written only while the record is surely ours. */
export function holdIsValid(held: HeldMessage, nowMs: number): boolean {
  return nowMs < held.holdUntilMs;
}

/** Nothing is left to wait for but the ack. */
export function isDone(held: HeldMessage): boolean {
  return held.stage === 'settling' && held.outstanding === 0 && held.eventsInFlight === 0;
}

/** The segments that still have to be written, 1-based. */
export function segmentsToSend(held: HeldMessage): number[] {
  const segments: number[] = [];
  for (let segment = 1; segment <= held.pdus.length; segment += 1) {
    if ((held.takenBits & (1 << segment)) === 0) segments.push(segment);
  }
  return segments;
}
