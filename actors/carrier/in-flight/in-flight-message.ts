// One message that this carrier has taken from its stream and not acked. It owns its state (states.ts has the table), the
// segments that are out, those the carrier has accepted, its pending writes and its one timer: they change through the
// methods here and nowhere else. A state that may not follow is a bug, and an assertion. What an answer means is
// settlement.ts's business, when the message goes out the sender's.
import type { JsMsg } from '@nats-io/jetstream';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { EncodedSegment } from '../../../model/text/octets.ts';
import type { Category, Message } from '../../../model/message.ts';
import { assert } from '../../../platform/assert.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { attemptNumber, triesMax } from './attempt.ts';
import {
  type Closing,
  type Deferral,
  type EventSink,
  type Refusal,
  type SubmitHeader,
  allSegmentBits,
  waitAgainMs,
} from './facts.ts';
import type { Place } from './queue-place.ts';
import { type InFlightState, checkEdge } from './states.ts';

export class InFlightMessage {
  readonly key: string;
  /** Changes in one thing only: the mark of a message that is sent once more. */
  message: Message;
  readonly category: Category;
  /** The latest delivery of its record: acks go to that one. */
  record: JsMsg;
  /** Until then (monotonic) the server gives the record to nobody else. */
  ackDeadlineMs: number;
  /** In its lane: from the moment it begins to wait until its turn, its move or its end. The queue's own. */
  place: Place | null = null;
  tries = 0;
  /** Of its last intent: the epoch it was written under (intent-claims.ts), when (monotonic), from which sequence on. */
  epoch = 0;
  intentAtMs = 0;
  intentFromSeq = 0;
  /** Window slots promised to it then. */
  slots = 0;
  /** A restart has to read EVENTS from this sequence on to know what became of it; 0 while nothing was written. */
  neededFromSeq = 0;
  /** The carrier's last word on it; null before the first. */
  lastRefusal: string | null;
  /** What each of its PDUs carries; empty until they are made. One may carry all segments of the contract. */
  pdus: readonly EncodedSegment[] = [];
  /** What the submit_sm of all of them have in common; made with them, before the first intent. */
  header: SubmitHeader | undefined = undefined;
  #state: InFlightState = 'received';
  /** Bits 1..n of the segments that are written and not answered. */
  #out = 0;
  /** Bits 1..n of the segments that the carrier has accepted. */
  #accepted = 0;
  #pendingWrites = 0;
  #leaving: Refusal | null = null;
  #closing: Closing | null = null;
  #deferral: Deferral | null = null;
  /** While it is lapsed: it is to be sent once more when its record comes again. */
  #resendsAfterLapse = false;
  #cancelTimer: Cancel | null = null;
  #waitEndsAtMs = 0;

  constructor(key: string, message: Message, record: JsMsg, ackDeadlineMs: number, lastRefusal: string | null = null) {
    this.key = key;
    this.message = message;
    this.category = message.category;
    this.lastRefusal = lastRefusal;
    this.record = record;
    this.ackDeadlineMs = ackDeadlineMs;
  }

  get state(): InFlightState {
    return this.#state;
  }

  /** The number of its last submit, as its events say it. */
  get attempt(): number {
    return attemptNumber(this.message.delays, this.tries);
  }

  /** A segment is written and not answered. */
  get isOut(): boolean {
    return this.#out !== 0;
  }

  get isPartAccepted(): boolean {
    return this.#accepted !== 0;
  }

  get isAllAccepted(): boolean {
    return this.#accepted === allSegmentBits(Math.max(1, this.pdus.length));
  }

  /** Events and publishes of it that are not over; the ack waits for them. */
  get pendingWrites(): number {
    return this.#pendingWrites;
  }

  /** Nothing of it is at the carrier or on its way to it, and none was accepted. */
  get isUntouched(): boolean {
    return this.#out === 0 && this.#accepted === 0;
  }

  /** Waits for its turn or for the end of a wait, and nothing of it is out or pending. */
  get isAtRest(): boolean {
    return (this.#state === 'queued' || this.#state === 'waiting') && this.#out === 0 && this.#pendingWrites === 0;
  }

  /** Only the ack is left. */
  get isDone(): boolean {
    return this.#state === 'settling' && this.#out === 0 && this.#pendingWrites === 0;
  }

  /** It was decided here that it is sent once more, and that has not begun. */
  get isResendDecided(): boolean {
    return this.#state === 'resending' || this.#resendsAfterLapse;
  }

  /** A refusal after which it wants to another carrier, while other segments of it still wait for their answers. */
  get leaving(): Refusal | null {
    return this.#leaving;
  }

  /** Null in any state but deferring. */
  get deferral(): Deferral | null {
    return this.#deferral;
  }

  /** What the carrier has of it, as its events say it (DeliveryEvent.progress). */
  get progress(): number {
    return this.#accepted | (this.message.resends > 0 ? 1 : 0);
  }

  /** A PDU may be written only while the record is surely ours. */
  isOursAt(nowMs: number): boolean {
    return nowMs < this.ackDeadlineMs;
  }

  /** The segments that still have to be written, 1-based. */
  segmentsToSend(): number[] {
    const segments: number[] = [];
    for (let segment = 1; segment <= this.pdus.length; segment += 1) {
      if ((this.#accepted & (1 << segment)) === 0) segments.push(segment);
    }
    return segments;
  }

  get segmentCountToSend(): number {
    return this.segmentsToSend().length;
  }

  /** Its record was delivered again. True when it had lapsed: then it is ours again, and goes on. */
  redelivered(record: JsMsg, ackDeadlineMs: number): boolean {
    this.record = record;
    this.ackDeadlineMs = ackDeadlineMs;
    if (this.#state !== 'lapsed') return false;
    this.#become('received', 'its record was delivered again');
    return true;
  }

  /** Into its lane. */
  queue(): void {
    assert(this.#out === 0, 'a message whose segments are out is not sent again');
    this.#become('queued', 'it waits for its turn');
    this.#leaving = null;
  }

  beginIntent(epoch: number, atMs: number, fromSeq: number, slots: number): void {
    this.#become('intent', 'it was chosen');
    this.epoch = epoch;
    this.tries = Math.min(this.tries + 1, triesMax);
    this.intentAtMs = atMs;
    this.intentFromSeq = fromSeq;
    this.slots = slots;
    if (this.neededFromSeq === 0) this.neededFromSeq = fromSeq;
  }

  /** Its intent is durable and counts. */
  send(): void {
    this.#become('sending', 'its intent is durable');
  }

  written(segment: number): void {
    const bit = 1 << segment;
    assert(this.#state === 'sending' && (this.#out & bit) === 0, 'a segment is written once under an intent');
    this.#out |= bit;
  }

  /** The answer of a segment, or that none comes. */
  answered(segment: number): void {
    const bit = 1 << segment;
    assert((this.#out & bit) !== 0, 'an answer belongs to a segment that is out');
    this.#out &= ~bit;
  }

  /** The carrier has taken this segment; 0: all of it. */
  accept(segment: number): void {
    this.#accepted |= segment === 0 ? allSegmentBits(Math.max(1, this.pdus.length)) : 1 << segment;
  }

  /** What its events say the carrier has of it. */
  learnAccepted(bits: number): void {
    this.#accepted |= bits;
  }

  /** Its ack deadline has passed: only a redelivery brings it back. */
  lapse(): void {
    this.#become('lapsed', 'its ack deadline has passed');
  }

  /** Nothing more of it is written under this intent, and no time is set for its next. */
  stopSending(): void {
    this.#become('waiting', 'the sender ends');
  }

  /**
   * Calls `then` after the wait, and not before every segment that is out was answered and every write is over. Of two
   * waits the one that ends later counts.
   */
  wait(clock: Clock, afterMs: number, then: (message: InFlightMessage) => void): void {
    const nowMs = clock.monotonicMs();
    const leftMs = this.#state === 'waiting' && this.#cancelTimer !== null ? this.#waitEndsAtMs - nowMs : 0;
    const waitMs = Math.max(afterMs, leftMs);
    this.#become('waiting', 'it was refused temporarily');
    this.#waitEndsAtMs = nowMs + waitMs;
    this.#cancelTimer = clock.after(waitMs, () => {
      this.#cancelTimer = null;
      // An event that comes late must not close the next intent: attempts are counted to fifteen only.
      if (this.#out !== 0 || this.#pendingWrites !== 0) this.wait(clock, waitAgainMs, then);
      else then(this);
    });
  }

  /** Refused here: to another carrier, as soon as every segment that is out was answered. */
  leave(refusal: Refusal): void {
    this.#become('waiting', 'it leaves when nothing of it is out');
    this.#leaving = refusal;
  }

  /** Nothing of it is out any more: the refusal it leaves for is dealt with now. */
  endLeaving(): void {
    assert(this.#out === 0, 'a segment is out: the carrier may take it yet');
    this.#leaving = null;
  }

  /**
   * It is sent once more. A lapsed message stays where it is: only a redelivery brings it back, and then this is
   * what it goes on with.
   */
  sendOnceMore(): void {
    if (this.#state === 'lapsed') this.#resendsAfterLapse = true;
    else this.#become('resending', 'its outcome is unknown');
    this.message = { ...this.message, resends: 1 };
    this.#leaving = null;
    this.#closing = null;
  }

  /** Its record came again, and it was to be sent once more. */
  goOnResending(): void {
    this.#become('resending', 'its record came again');
    this.#resendsAfterLapse = false;
  }

  /** On its way into LATER. */
  defer(deferral: Deferral): void {
    this.#become('deferring', 'it waits in LATER');
    this.#leaving = null;
    this.#deferral = deferral;
  }

  /** Runs once more after a while, unless it has ended meanwhile. */
  deferAgain(clock: Clock, afterMs: number, then: () => void): void {
    assert(this.#state === 'deferring', 'only what is deferred is deferred again');
    this.#cancelTimer?.();
    this.#cancelTimer = clock.after(afterMs, () => {
      this.#cancelTimer = null;
      then();
    });
  }

  /** On its way to another carrier. */
  reroute(): void {
    this.#become('rerouting', 'it goes to another carrier');
  }

  /** Its outcome is decided: nothing but its events and its ack is left. */
  settle(): void {
    this.#closing = null;
    this.#leaving = null;
    if (this.#state !== 'settling') this.#become('settling', 'its outcome is decided');
  }

  /** We hold it no more. */
  release(): void {
    assert(this.#out === 0, 'nobody would hear the answers of what is out');
    this.#become('released', 'we hold it no more');
  }

  /** We end: nothing of it happens by itself any more. */
  stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  /** The deferral that closes its intent, told when no segment of it is out any more: until then the intent covers it. */
  closeIntent(closing: Closing): void {
    this.#closing = closing;
  }

  /** What is to be told of its intent now; null when nothing is, or not yet. */
  takeClosing(): Closing | null {
    const closing = this.#closing;
    if (closing === null || this.#out !== 0) return null;
    this.#closing = null;
    return closing;
  }

  /** Writes an event of it, and calls `then` when that is over: durable, or given up because we stop. */
  write<T>(events: EventSink, event: DeliveryEvent, then: WriteEnd<T>, context: T): void {
    this.#pendingWrites += 1;
    const onDone = (durable: boolean) => {
      this.#pendingWrites -= 1;
      then(this, durable, context);
    };
    events.write(event, onDone, this.category === 'otp');
  }

  /** Anything else that its ack waits for. What this returns ends it, and is called once at the most. */
  hold(): () => void {
    this.#pendingWrites += 1;
    let isOver = false;
    return () => {
      assert(!isOver, 'what is over twice would let the ack go before its time');
      isOver = true;
      this.#pendingWrites -= 1;
    };
  }

  /** Ends whatever was set for the former state. */
  #become(next: InFlightState, why: string): void {
    checkEdge(this.#state, next, why);
    if (this.#cancelTimer !== null) this.stopTimer();
    this.#deferral = null;
    this.#state = next;
  }
}

/** What is called when a write of it is over. */
export type WriteEnd<T> = (message: InFlightMessage, durable: boolean, context: T) => void;
