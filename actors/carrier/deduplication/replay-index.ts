// What became of the records this carrier has seen, so that a redelivery is harmless. A record with an outcome is only
// acked again; one with an intent from an earlier incarnation and no outcome is `unknown`; any other is new. After a
// restart replay.ts fills it from the carrier's own events. What has no outcome is kept however long that takes, and
// pins the replay floor (replay-floor.ts).
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { delaysOf, deliveryKey } from '../in-flight/attempt.ts';
import { RecentTexts } from '../../../platform/recent-texts.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';
import { allSegmentBits } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import { type Rerouted, readRerouted } from './rerouted-event.ts';
import { type LaterDeferral, readDeferral } from './deferral-event.ts';

/** copied: settled, and its second copy may not be published. */
export type ReplayStatus = 'new' | 'settled' | 'copied' | 'intent_without_outcome' | 'rerouted' | 'deferred';

/** Segments with an outcome, as bits; `open` while an intent lacks the outcome of a segment. */
type Progress = {
  open: boolean;
  bits: number;
  attempt: number;
  resent: boolean;
  epoch: number;
  /** It is being deferred into LATER. */
  deferral?: LaterDeferral | null;
  /** The first event that must be read to know all of this again. */
  from: EventPosition;
};

/** Where an event is in EVENTS, and when the server stored it (by its own clock). */
export type EventPosition = { readonly seq: number; readonly storedAtMs: number };

const nowhere: EventPosition = { seq: 0, storedAtMs: 0 };

/** How a record was settled: its events say so · this actor made its second copy durable too, if it has one. */
const settled = { no: 0, read: 1, here: 2 } as const;
type Settled = (typeof settled)['read' | 'here'];

export class ReplayIndex {
  /** By key, one of `settled`: hundreds of thousands. */
  readonly #settled: RecentTexts;
  /** What earlier incarnations left unfinished; where nodes share the carrier, what any of them has begun. */
  readonly #progress = new Map<string, Progress>();

  /** Records rerouted to another carrier whose publish is not known to be acknowledged. */
  readonly #rerouted: RotatingMap<string, { readonly rerouted: Rerouted; readonly from: EventPosition }>;

  /** Records of which an earlier incarnation or another node decided to send a second copy to another carrier. */
  readonly #hedged: RotatingMap<string, Rerouted>;

  constructor(clock: Clock = systemClock) {
    this.#hedged = new RotatingMap(limits.carrier.replayWindowMs, limits.carrier.replayIndexEntriesMax, clock);
    this.#rerouted = new RotatingMap(limits.carrier.replayWindowMs, limits.carrier.replayIndexEntriesMax, clock);
    this.#settled = new RecentTexts(limits.carrier.replayWindowMs, limits.carrier.replayIndexEntriesMax, clock);
  }

  statusOf(key: string): ReplayStatus {
    if (this.#settled.get(key) !== settled.no) return this.#hedged.get(key) === undefined ? 'settled' : 'copied';
    if (this.#rerouted.get(key) !== undefined) return 'rerouted';
    const progress = this.#progress.get(key);
    if (progress === undefined) return 'new';
    if (progress.deferral) return 'deferred';
    return progress.open ? 'intent_without_outcome' : 'new';
  }

  /**
   * What precedes an intent of this writer in EVENTS, when that intent is read next: `new` when nothing does, so that
   * it counts. Every node reads the same order and gets the same answer.
   */
  claimStatus(key: string, epoch: number): ReplayStatus {
    const status = this.statusOf(key);
    return status === 'intent_without_outcome' && this.ownerOf(key) === epoch ? 'new' : status;
  }

  /** The writer of the open intent or deferral; 0 when it is not known, or on a single node. */
  ownerOf(key: string): number {
    return this.#progress.get(key)?.epoch ?? 0;
  }

  /** The record's unfinished deferral; null when there is none. */
  deferralOf(key: string): LaterDeferral | null {
    return this.#progress.get(key)?.deferral ?? null;
  }

  /** Segments that the carrier accepted in an earlier incarnation, as bits: they are not sent twice. */
  takenBitsOf(key: string): number {
    return this.#progress.get(key)?.bits ?? 0;
  }

  /** The last attempt that an earlier incarnation published; 0 before the first. */
  attemptOf(key: string): number {
    return this.#progress.get(key)?.attempt ?? 0;
  }

  /** An earlier incarnation, or another node, decided to send it once more: it is not sent a third time. */
  wasResent(key: string): boolean {
    return this.#progress.get(key)?.resent === true;
  }

  /** Marks the message as sent once more; the mark travels with it. */
  markResent(inFlight: Pick<InFlightMessage, 'key' | 'message'>): void {
    if (this.wasResent(inFlight.key)) inFlight.message = { ...inFlight.message, resends: 1 };
  }

  /** Where the record was rerouted to; null when it was not. */
  reroutedOf(key: string): Rerouted | null {
    return this.#rerouted.get(key)?.rerouted ?? null;
  }

  /** Where the second copy of the record goes; null without one. */
  hedgedOf(key: string): Rerouted | null {
    return this.#hedged.get(key) ?? null;
  }

  /** Its `rerouted` event is durable: from now on it may only go there. */
  reroute(key: string, rerouted: Rerouted, from: EventPosition = nowhere): void {
    this.#rerouted.set(key, { rerouted, from });
    this.#progress.delete(key);
  }

  /** Its publish is repeated: kept until that is durable, however long that takes. */
  keepReroute(key: string): void {
    const rerouted = this.#rerouted.get(key);
    if (rerouted !== undefined) this.#rerouted.set(key, rerouted);
  }

  /** Its events are durable, and its second copy is where it goes. */
  settle(key: string): void {
    this.#hedged.delete(key);
    this.#end(key, settled.here);
  }

  #end(key: string, how?: Settled): void {
    this.#settled.set(key, how ?? (this.#settled.get(key) || settled.read));
    this.#rerouted.delete(key);
    this.#progress.delete(key);
  }

  /** The EVENTS sequence from which this record's state can be read again; 0 when nothing is known of it. */
  neededFromSeq(key: string): number {
    return (this.#progress.get(key) ?? this.#rerouted.get(key))?.from.seq ?? 0;
  }

  /** The same for everything that has no outcome yet; Infinity when there is nothing. */
  get needsFromSeq(): number {
    let seq = Number.POSITIVE_INFINITY;
    for (const progress of this.#progress.values()) if (matters(progress)) seq = Math.min(seq, progress.from.seq);
    for (const { from } of this.#rerouted.values()) seq = Math.min(seq, from.seq);
    return seq;
  }

  /**
   * No record of the carrier was stored before that moment: forgets what older events say, because their records are
   * gone. Without this, a record that an operator purged would pin EVENTS for ever.
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

  /** EVENTS was recreated or has lost its end: all of it must be read to know this again. */
  needAll(): void {
    for (const progress of this.#progress.values()) progress.from = { ...progress.from, seq: 1 };
  }

  /** Learns one event of an earlier incarnation, in stream order. */
  learn(event: DeliveryEvent, place: EventPosition = nowhere): void {
    const key = deliveryKey(event.messageId, event.hop, delaysOf(event.attempt));
    switch (event.kind) {
      case 'accepted':
      case 'scheduled':
      // An inbound message has no record on its way to the carrier.
      case 'received':
      case 'opted_out':
      case 'opted_in':
        return;
      case 'intent':
        // An event after another node's claim does not count: its writer has read that claim too.
        if (this.claimStatus(key, event.epoch) !== 'new') return;
        return this.#begin(key, event, place, true);
      case 'resent':
        return this.#learnResent(key, event, place);
      case 'hedged':
        return this.#learnHedged(key, event);
      case 'deferred':
        return this.#learnDeferred(key, event, place);
      case 'submitted':
      case 'delivered':
      case 'undelivered':
        return this.#learnSegment(key, event);
      case 'rerouted':
        return this.#learnRerouted(key, event, place);
      case 'unknown':
        // From a receipt: it concerns one segment that the carrier has.
        if (event.carrierMessageId !== null) return this.#learnSegment(key, event);
        return this.#end(key);
      default:
        this.#end(key);
    }
  }

  /** A deferral into LATER ends this record (`error` says which way it was deferred); a short one reopens it. */
  #learnDeferred(key: string, event: DeliveryEvent, place: EventPosition): void {
    if (event.segment === 0) return this.#end(key);
    const before = this.#progress.get(key);
    const deferral = readDeferral(event);
    if (before === undefined && deferral === null && (event.progress ?? 0) === 0) return;
    // A batch that was published again can come after the next intent: that one is still open.
    if (before !== undefined && before.attempt > event.attempt) return;
    // No node closes another node's intent.
    const isOtherNodes = before !== undefined && before.epoch !== event.epoch && event.epoch !== 0;
    if (isOtherNodes && (before.open || before.deferral)) return;
    this.#begin(key, event, place, false, deferral);
  }

  /** What the carrier has of it is what was read before, and what the event itself repeats of earlier events. */
  #begin(
    key: string,
    event: DeliveryEvent,
    place: EventPosition,
    open: boolean,
    deferral?: LaterDeferral | null,
  ): void {
    const { attempt, epoch, progress = 0 } = event;
    const before = this.#progress.get(key);
    const known = before === undefined ? 0 : before.bits | (before.resent ? 1 : 0);
    const all = known | progress;
    // From this event on, when it says all that is known from those before it.
    const from = before === undefined || (progress & known) === known ? place : before.from;
    this.#remember(key, { open, bits: all & ~1, resent: (all & 1) === 1, attempt, epoch, deferral, from });
  }

  /** It may be sent again, unless a later intent says that it was. */
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
    if (rerouted === null) return this.#end(key);
    this.reroute(key, rerouted, place);
  }

  #learnHedged(key: string, event: DeliveryEvent): void {
    const hedged = readRerouted(event);
    // One of the control group names no carrier; one that was settled here has its copy where it goes.
    if (hedged !== null && this.#settled.get(key) !== settled.here) this.#hedged.set(key, hedged);
  }

  #learnSegment(key: string, event: DeliveryEvent): void {
    const progress = this.#progress.get(key);
    if (progress === undefined) return;
    progress.bits |= 1 << event.segment;
    // Segment 0: one PDU carried the whole text.
    if (event.segment === 0 || progress.bits === allSegmentBits(event.segments)) this.#end(key);
  }

  #remember(key: string, progress: Progress): void {
    const isNew = !this.#progress.has(key);
    if (isNew && this.#progress.size >= limits.carrier.replayIndexEntriesMax) {
      this.#progress.delete(this.#progress.keys().next().value as string);
    }
    this.#progress.set(key, progress);
  }
}

/** A record that may be sent as if it were new needs no earlier event. */
function matters({ open, bits, resent, deferral }: Progress): boolean {
  return open || bits !== 0 || resent || (deferral ?? null) !== null;
}
