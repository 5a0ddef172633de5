// One message in flight: taken from its stream and not acked. It owns its state (states.ts has the table), its
// outstanding and accepted segments, its pending writes and its one timer; only the methods here change them. An
// illegal transition is a bug and fails an assertion. settlement.ts decides what an answer means, the sender when the
// message is sent.
import type { DeliveredRecord } from '../../../cluster/bus/delivered-record.ts';
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
  /** Changes only to get the mark of a message that is sent once more. */
  message: Message;
  readonly category: Category;
  /** The latest delivery of its record, which an ack must name. */
  record: DeliveredRecord;
  /** Until then (monotonic) the server redelivers the record to nobody. */
  ackDeadlineMs: number;
  /** Its place in its lane while it waits; owned by the queue. */
  place: Place | null = null;
  tries = 0;
  /** copied: a second copy goes to another carrier; it is not sent again here, and goes nowhere else · noted: control. */
  hedged: 'no' | 'noted' | 'copied' = 'no';
  /** Of its last intent: its epoch (intent-claims.ts), its time (monotonic), and a lower bound of its sequence. */
  epoch = 0;
  intentAtMs = 0;
  intentFromSeq = 0;
  /** Window slots reserved for it then. */
  slots = 0;
  /** The EVENTS sequence from which a restart must read to know its state; 0 while nothing was written. */
  neededFromSeq = 0;
  /** The carrier's last refusal; null before the first. */
  lastRefusal: string | null = null;
  /** What each of its PDUs carries; empty until they are encoded. */
  pdus: readonly EncodedSegment[] = [];
  /** Encoded with them, before the first intent. */
  header: SubmitHeader | undefined = undefined;
  #state: InFlightState = 'received';
  /** Segments that are written and not answered, as bits 1..n. */
  #out = 0;
  /** Segments that the carrier has accepted, as bits 1..n. */
  #accepted = 0;
  #pendingWrites = 0;
  #leaving: Refusal | null = null;
  #closing: Closing | null = null;
  #deferral: Deferral | null = null;
  /** While it is lapsed: it is sent once more when its record is redelivered. */
  #resendsAfterLapse = false;
  #cancelTimer: Cancel | null = null;
  #waitEndsAtMs = 0;

  constructor(key: string, message: Message, record: DeliveredRecord, ackDeadlineMs: number) {
    this.key = key;
    this.message = message;
    this.category = message.category;
    this.record = record;
    this.ackDeadlineMs = ackDeadlineMs;
  }

  get state(): InFlightState {
    return this.#state;
  }

  /** The number of its last submit, as in its events. */
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

  /** Its unfinished events and publishes; the ack waits for them. */
  get pendingWrites(): number {
    return this.#pendingWrites;
  }

  /** Nothing of it is at the carrier or being sent there, and none was accepted. */
  get isUntouched(): boolean {
    return this.#out === 0 && this.#accepted === 0;
  }

  /** It waits for its turn or for a timer, and nothing of it is out or pending. */
  get isAtRest(): boolean {
    return (this.#state === 'queued' || this.#state === 'waiting') && this.#out === 0 && this.#pendingWrites === 0;
  }

  /** Only the ack is left. */
  get isDone(): boolean {
    return this.#state === 'settling' && this.#out === 0 && this.#pendingWrites === 0;
  }

  /** It is to be sent once more, and that has not begun. */
  get isResendDecided(): boolean {
    return this.#state === 'resending' || this.#resendsAfterLapse;
  }

  /** A refusal that sends it to another carrier when its outstanding segments are answered. */
  get leaving(): Refusal | null {
    return this.#leaving;
  }

  /** Null in any state but deferring. */
  get deferral(): Deferral | null {
    return this.#deferral;
  }

  /** What the carrier has of it, as in its events (DeliveryEvent.progress). */
  get progress(): number {
    return this.#accepted | (this.message.resends > 0 ? 1 : 0);
  }

  /** A PDU may be written only before the ack deadline. */
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
    let count = 0;
    for (let bit = 1; bit <= this.pdus.length; bit += 1) count += 1 - ((this.#accepted >> bit) & 1);
    return count;
  }

  /** Its record was redelivered. True when it had lapsed: it is ours again, and continues. */
  redelivered(record: DeliveredRecord, ackDeadlineMs: number): boolean {
    this.record = record;
    this.ackDeadlineMs = ackDeadlineMs;
    if (this.#state !== 'lapsed') return false;
    this.#become('received', 'its record was redelivered');
    return true;
  }

  /** Enters its lane. */
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

  /** The segment was answered, or no answer will come. */
  answered(segment: number): void {
    const bit = 1 << segment;
    assert((this.#out & bit) !== 0, 'an answer belongs to a segment that is out');
    this.#out &= ~bit;
  }

  /** The carrier has accepted this segment; 0: all of it. */
  accept(segment: number): void {
    this.#accepted |= segment === 0 ? allSegmentBits(Math.max(1, this.pdus.length)) : 1 << segment;
  }

  /** The accepted segments according to its events. */
  learnAccepted(bits: number): void {
    this.#accepted |= bits;
  }

  /** Its ack deadline has passed: only a redelivery brings it back. */
  lapse(): void {
    this.#become('lapsed', 'its ack deadline has passed');
  }

  /** Nothing more of it is written under this intent, and no timer is set for the next. */
  stopSending(): void {
    this.#become('waiting', 'the sender ends');
  }

  /**
   * Calls `then` after the wait, and when no segment is out and no write is pending. Of two waits the longer one
   * counts.
   */
  wait(clock: Clock, afterMs: number, then: (message: InFlightMessage) => void): void {
    const nowMs = clock.monotonicMs();
    const leftMs = this.#state === 'waiting' && this.#cancelTimer !== null ? this.#waitEndsAtMs - nowMs : 0;
    const waitMs = Math.max(afterMs, leftMs);
    this.#become('waiting', 'it was refused temporarily');
    this.#waitEndsAtMs = nowMs + waitMs;
    this.#cancelTimer = clock.after(waitMs, () => {
      this.#cancelTimer = null;
      // A late event must not close the next intent: attempts are counted up to fifteen only.
      if (this.#out !== 0 || this.#pendingWrites !== 0) this.wait(clock, waitAgainMs, then);
      else then(this);
    });
  }

  /** Refused here: it goes to another carrier when every outstanding segment is answered. */
  leave(refusal: Refusal): void {
    this.#become('waiting', 'it leaves when nothing of it is out');
    this.#leaving = refusal;
  }

  /** No segment is out any more: the refusal that `leave` kept is handled now. */
  endLeaving(): void {
    assert(this.#out === 0, 'a segment is out: the carrier may take it yet');
    this.#leaving = null;
  }

  /** It is sent once more. A lapsed message does so only when its record is redelivered. */
  sendOnceMore(): void {
    if (this.#state === 'lapsed') this.#resendsAfterLapse = true;
    else this.#become('resending', 'its outcome is unknown');
    this.message = { ...this.message, resends: 1 };
    this.#leaving = null;
    this.#closing = null;
  }

  /** Its record was redelivered, and it was to be sent once more. */
  goOnResending(): void {
    this.#become('resending', 'its record was redelivered');
    this.#resendsAfterLapse = false;
  }

  /** It is being published to LATER. */
  defer(deferral: Deferral): void {
    this.#become('deferring', 'it waits in LATER');
    this.#leaving = null;
    this.#deferral = deferral;
  }

  /** Calls `then` after a while, unless it has ended meanwhile. */
  deferAgain(clock: Clock, afterMs: number, then: () => void): void {
    assert(this.#state === 'deferring', 'only what is deferred is deferred again');
    this.#cancelTimer?.();
    this.#cancelTimer = clock.after(afterMs, () => {
      this.#cancelTimer = null;
      then();
    });
  }

  /** It is being published to another carrier. */
  reroute(): void {
    this.#become('rerouting', 'it goes to another carrier');
  }

  /** Its outcome is decided: only its events and its ack are left. */
  settle(): void {
    this.#closing = null;
    this.#leaving = null;
    if (this.#state !== 'settling') this.#become('settling', 'its outcome is decided');
  }

  /** It is no longer in flight here. */
  release(): void {
    assert(this.#out === 0, 'the answers of what is out would go to no message');
    this.#become('released', 'we hold it no more');
  }

  /** The actor stops: cancels its timer. */
  stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  /** The deferral that closes its intent, published when no segment is out: until then the intent covers it. */
  closeIntent(closing: Closing): void {
    this.#closing = closing;
  }

  /** What to publish about its intent now; null when there is nothing, or not yet. */
  takeClosing(): Closing | null {
    const closing = this.#closing;
    if (closing === null || this.#out !== 0) return null;
    this.#closing = null;
    return closing;
  }

  /** Writes an event of it, and calls `then` when that is durable, or given up because the actor stops. */
  write<T>(events: EventSink, event: DeliveryEvent, then: WriteEnd<T>, context: T): void {
    this.#pendingWrites += 1;
    const onDone = (durable: boolean) => {
      this.#pendingWrites -= 1;
      then(this, durable, context);
    };
    events.write(event, onDone, this.category === 'otp');
  }

  /** Makes its ack wait for something else, until the returned function is called (once at most). */
  hold(): () => void {
    this.#pendingWrites += 1;
    let isOver = false;
    return () => {
      assert(!isOver, 'what is over twice would let the ack go before its time');
      isOver = true;
      this.#pendingWrites -= 1;
    };
  }

  /** Cancels what was set for the previous state. */
  #become(next: InFlightState, why: string): void {
    checkEdge(this.#state, next, why);
    if (this.#cancelTimer !== null) this.stopTimer();
    this.#deferral = null;
    this.#state = next;
  }
}

export type WriteEnd<T> = (message: InFlightMessage, durable: boolean, context: T) => void;
