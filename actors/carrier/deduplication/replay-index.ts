// What became of the records this carrier has seen: it makes a redelivery harmless. A record with an outcome is only
// acked again; one with an intent from an earlier incarnation and no outcome is `unknown`; anything else is new. After a
// restart it is filled by replay.ts from the carrier's own events. What has no outcome yet is kept however long that
// takes, and says from where a restart must read (replay-floor.ts).
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { delaysOf, deliveryKey } from '../in-flight/attempt.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';
import { allSegmentBits } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import { type Rerouted, readRerouted } from './rerouted-event.ts';
import { type LaterDeferral, readDeferral } from './deferral-event.ts';

export type ReplayStatus = 'new' | 'settled' | 'intent_without_outcome' | 'rerouted' | 'deferred';

/** Segments with an outcome, as bits; `open` while an intent has no outcome for every segment. */
type Progress = {
  open: boolean;
  bits: number;
  attempt: number;
  resent: boolean;
  epoch: number;
  /** It is on its way into LATER. */
  deferral?: LaterDeferral | null;
  /** The event from which on all of this can be read again. */
  from: EventPosition;
};

/** Where an event is in EVENTS, and when the server stored it (by its own clock). */
export type EventPosition = { readonly seq: number; readonly storedAtMs: number };

const nowhere: EventPosition = { seq: 0, storedAtMs: 0 };

export class ReplayIndex {
  readonly #settled: RotatingMap<string, true>;
  /** What an earlier incarnation of this actor left half done, and where nodes share the carrier what any of them has begun. */
  readonly #progress = new Map<string, Progress>();

  /** Records on their way to another carrier whose publish is not acknowledged yet, as far as is known here. */
  readonly #rerouted: RotatingMap<string, { readonly rerouted: Rerouted; readonly from: EventPosition }>;

  constructor(clock: Clock = systemClock) {
    this.#rerouted = new RotatingMap(limits.carrier.replayWindowMs, limits.carrier.replayIndexEntriesMax, clock);
    this.#settled = new RotatingMap(limits.carrier.replayWindowMs, limits.carrier.replayIndexEntriesMax, clock);
  }

  statusOf(key: string): ReplayStatus {
    if (this.#settled.get(key) === true) return 'settled';
    if (this.#rerouted.get(key) !== undefined) return 'rerouted';
    const progress = this.#progress.get(key);
    if (progress === undefined) return 'new';
    if (progress.deferral) return 'deferred';
    return progress.open ? 'intent_without_outcome' : 'new';
  }

  /**
   * What is in EVENTS before an intent of this writer, when it is read next: `new` when nothing does, so that it is
   * the one that counts. Every node reads the same order, and so comes to the same answer.
   */
  claimStatus(key: string, epoch: number): ReplayStatus {
    const status = this.statusOf(key);
    return status === 'intent_without_outcome' && this.ownerOf(key) === epoch ? 'new' : status;
  }

  /** The writer of the intent that is open, or of what puts it off; 0 when it is not known, or there were no other nodes. */
  ownerOf(key: string): number {
    return this.#progress.get(key)?.epoch ?? 0;
  }

  /** How a record was being put off; null when it was not. */
  deferralOf(key: string): LaterDeferral | null {
    return this.#progress.get(key)?.deferral ?? null;
  }

  /** Segments of a record that may go again which the carrier took in an earlier incarnation: they are not sent twice. */
  takenBitsOf(key: string): number {
    return this.#progress.get(key)?.bits ?? 0;
  }

  /** The last attempt an earlier incarnation told of; 0 before the first. */
  attemptOf(key: string): number {
    return this.#progress.get(key)?.attempt ?? 0;
  }

  /** An earlier incarnation, or another node, decided to send it once more: whatever becomes of that, there is no further time. */
  wasResent(key: string): boolean {
    return this.#progress.get(key)?.resent === true;
  }

  /** Gives a message the mark that goes with that, and that travels with it from now on. */
  markResent(inFlight: Pick<InFlightMessage, 'key' | 'message'>): void {
    if (this.wasResent(inFlight.key)) inFlight.message = { ...inFlight.message, resends: 1 };
  }

  /** Where a record was on its way to; null when it was not. */
  reroutedOf(key: string): Rerouted | null {
    return this.#rerouted.get(key)?.rerouted ?? null;
  }

  /** Its `rerouted` event is durable: from now on it may only go there. */
  reroute(key: string, rerouted: Rerouted, from: EventPosition = nowhere): void {
    this.#rerouted.set(key, { rerouted, from });
    this.#progress.delete(key);
  }

  /** Its publish is repeated: until that is durable it is not forgotten, however long that takes. */
  keepReroute(key: string): void {
    const rerouted = this.#rerouted.get(key);
    if (rerouted !== undefined) this.#rerouted.set(key, rerouted);
  }

  settle(key: string): void {
    this.#settled.set(key, true);
    this.#rerouted.delete(key);
    this.#progress.delete(key);
  }

  /** From where EVENTS must be read to know this of a record again; 0 when nothing of it is known here. */
  neededFromSeq(key: string): number {
    return (this.#progress.get(key) ?? this.#rerouted.get(key))?.from.seq ?? 0;
  }

  /** From where it must be read for everything that has no outcome yet; Infinity when that is nothing. */
  get needsFromSeq(): number {
    let seq = Number.POSITIVE_INFINITY;
    for (const progress of this.#progress.values()) if (matters(progress)) seq = Math.min(seq, progress.from.seq);
    for (const { from } of this.#rerouted.values()) seq = Math.min(seq, from.seq);
    return seq;
  }

  /**
   * No record of the carrier was stored before that moment: what was told of any before is of records that are gone.
   * Without this, one that a person took out of its stream would keep EVENTS for ever.
   */
  forgetBefore(storedAtMs: number): number {
    let forgotten = 0;
    for (const [key, { from }] of this.#progress) {
      if (from.storedAtMs >= storedAtMs) continue;
      this.#progress.delete(key);
      forgotten += 1;
    }
    return forgotten;
  }

  /** EVENTS is another stream, or has lost its end: all of it must be read to know this again, as far as it can be. */
  needAll(): void {
    for (const progress of this.#progress.values()) progress.from = { ...progress.from, seq: 1 };
  }

  /** One event of an earlier incarnation, in stream order. */
  learn(event: DeliveryEvent, place: EventPosition = nowhere): void {
    const key = deliveryKey(event.messageId, event.hop, delaysOf(event.attempt));
    switch (event.kind) {
      case 'accepted':
      case 'scheduled':
      // Of no record that is on its way to the carrier.
      case 'received':
      case 'opted_out':
      case 'opted_in':
        return;
      case 'intent':
        // One that comes after another node's counts for nothing: its writer has seen that too.
        if (this.claimStatus(key, event.epoch) !== 'new') return;
        this.#remember(key, {
          open: true,
          ...this.#publishedProgress(key, event),
          attempt: event.attempt,
          epoch: event.epoch,
          from: this.#placeFor(key, event, place),
        });
        return;
      case 'resent':
        this.#learnResent(key, event, place);
        return;
      case 'deferred':
        this.#learnDeferred(key, event, place);
        return;
      case 'submitted':
      case 'delivered':
      case 'undelivered':
        this.#learnSegment(key, event);
        return;
      case 'rerouted':
        this.#learnRerouted(key, event, place);
        return;
      case 'unknown':
        // Said by a receipt, it tells of a segment that the carrier has, and of no other.
        if (event.carrierMessageId !== null) return this.#learnSegment(key, event);
        return this.settle(key);
      default:
        this.settle(key);
    }
  }

  /** A deferral into LATER ends this record (`error` says which way it was deferred); a short one reopens it. */
  #learnDeferred(key: string, event: DeliveryEvent, place: EventPosition): void {
    if (event.segment === 0) return this.settle(key);
    const before = this.#progress.get(key);
    const deferral = readDeferral(event);
    if (before === undefined && deferral === null && (event.progress ?? 0) === 0) return;
    // A batch that was published again can come after the next intent: that one is still open.
    if (before !== undefined && before.attempt > event.attempt) return;
    // Nobody closes what another node has begun.
    const isOtherNodes = before !== undefined && before.epoch !== event.epoch && event.epoch !== 0;
    if (isOtherNodes && (before.open || before.deferral)) return;
    const { attempt, epoch } = event;
    const from = this.#placeFor(key, event, place);
    this.#remember(key, { open: false, ...this.#publishedProgress(key, event), attempt, epoch, deferral, from });
  }

  /** What the carrier has of it: what was read of that, and what the event itself says of what came before. */
  #publishedProgress(key: string, { progress = 0 }: DeliveryEvent): Pick<Progress, 'bits' | 'resent'> {
    return { bits: this.takenBitsOf(key) | (progress & ~1), resent: this.wasResent(key) || (progress & 1) === 1 };
  }

  /** It may go again, unless an intent behind this one says that it did. */
  /** From this event on, when it says all that is known from those before it. */
  #placeFor(key: string, { progress = 0 }: DeliveryEvent, place: EventPosition): EventPosition {
    const before = this.#progress.get(key);
    if (before === undefined) return place;
    const known = before.bits | (before.resent ? 1 : 0);
    return (progress & known) === known ? place : before.from;
  }

  #learnResent(key: string, { attempt }: DeliveryEvent, place: EventPosition): void {
    const before = this.#progress.get(key);
    const wentAgain = before !== undefined && before.open && before.attempt > attempt;
    this.#remember(key, {
      epoch: before?.epoch ?? 0,
      open: wentAgain,
      bits: before?.bits ?? 0,
      attempt: Math.max(before?.attempt ?? 0, attempt),
      resent: true,
      from: before?.from ?? place,
    });
  }

  #learnRerouted(key: string, event: DeliveryEvent, place: EventPosition): void {
    if (this.claimStatus(key, event.epoch) !== 'new') return;
    const rerouted = readRerouted(event);
    if (rerouted === null) return this.settle(key);
    this.reroute(key, rerouted, place);
  }

  #learnSegment(key: string, event: DeliveryEvent): void {
    const progress = this.#progress.get(key);
    if (progress === undefined) return;
    progress.bits |= 1 << event.segment;
    // Segment 0: one PDU carried the whole text.
    if (event.segment === 0 || progress.bits === allSegmentBits(event.segments)) this.settle(key);
  }

  #remember(key: string, progress: Progress): void {
    const isNew = !this.#progress.has(key);
    if (isNew && this.#progress.size >= limits.carrier.replayIndexEntriesMax) {
      this.#progress.delete(this.#progress.keys().next().value as string);
    }
    this.#progress.set(key, progress);
  }
}

/** Of a record that may go again as if nothing had been, nothing has to be read. */
function matters({ open, bits, resent, deferral }: Progress): boolean {
  return open || bits !== 0 || resent || (deferral ?? null) !== null;
}
