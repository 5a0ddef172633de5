// Finds one-time passwords that this carrier has accepted and whose receipt does not come within the usual time. Until the
// receipt comes or is late, the message's record gets no ack. So after a crash the record is redelivered: the actor that
// gets it reads in EVENTS whether a copy was decided, publishes that copy again or acks the record. When many receipts of a
// carrier are late, the carrier has an outage, and no copy is sent.
import { overflowShardOfSubject } from '../../../cluster/bus/subjects.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { MinHeap } from '../../../platform/min-heap.ts';
import { ReceiptTimes } from '../../../policy/otp-hedging/receipt-times.ts';
import { delaysOf, deliveryKey } from '../in-flight/attempt.ts';
import type { Submitted } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';
import type { Completion } from '../outcome/completion.ts';
import type { CopyCancels } from './copy-cancels.ts';
import type { CarrierHealth } from './health.ts';
import type { Hedges } from './hedges.ts';

export type ReceiptHedgesParts = {
  readonly clock: Clock;
  readonly hedges: Hedges;
  readonly health: Pick<CarrierHealth, 'state' | 'lateReceiptShare' | 'onReceiptDue'>;
  readonly completion: Pick<Completion, 'finishWhenDone'>;
  readonly cancels: Pick<CopyCancels, 'onAccepted'>;
  /** The prefix by which the country knows a number's operator; '' for numbers without one. */
  readonly operatorPrefixOf: (to: string) => string;
  /** Whether a bind is open that receives receipts. */
  readonly isReceiving: () => boolean;
  /** How many records of one account shard may be without an ack. */
  readonly shardHeldMax: number;
};

type Waiting = {
  readonly inFlight: InFlightMessage;
  readonly carrierMessageId: string;
  readonly sinceMs: number;
  readonly afterMs: number;
  /** Allows the ack of its record; null once its receipt came or was late. */
  release: (() => void) | null;
};

const bounds = limits.otpHedging;
/** A submit that asks for a receipt in every case (SMPP 3.4, 5.2.17). */
const everyReceipt = 1;
/** After this share of the usual time nearly all receipts have come. */
const nearlyAll = 0.75;

export class ReceiptHedges {
  readonly #parts: ReceiptHedgesParts;
  readonly #times: ReceiptTimes;
  readonly #waiting = new Map<string, Waiting>();
  /** All of `#waiting`, and those that ended, until their time is over: they show how many receipts came. */
  readonly #due = new MinHeap<Waiting>((one, other) => dueAtMs(one) < dueAtMs(other));
  /** By subject, which is a shard of a carrier: how many records wait without an ack. */
  readonly #held = new Map<string, number>();
  #lateInARow = 0;
  #timer: Cancel | null = null;
  #closed = false;

  constructor(parts: ReceiptHedgesParts) {
    this.#parts = parts;
    this.#times = new ReceiptTimes(bounds.receiptTimes, parts.clock);
  }

  /** The carrier has accepted a submit; called before its receipt can be matched. */
  onAccepted({ inFlight }: SubmitToken, carrierMessageId: string): void {
    if (inFlight.message.hedge === undefined || this.#closed) return;
    const afterMs = this.#afterMs(inFlight);
    if (afterMs === null || this.#due.size >= bounds.watchedMax) return;
    const { subject } = inFlight.record;
    const held = this.#held.get(subject) ?? 0;
    const heldMax = Math.floor(this.#parts.shardHeldMax * bounds.receiptsHeldShare);
    if (held >= heldMax || overflowShardOfSubject(subject) !== null) return;
    this.#held.set(subject, held + 1);
    const sinceMs = this.#parts.clock.monotonicMs();
    const waiting: Waiting = { inFlight, carrierMessageId, sinceMs, afterMs, release: inFlight.hold() };
    this.#waiting.set(inFlight.key, waiting);
    this.#due.add(waiting);
    if (this.#due.first === waiting) this.#wake();
  }

  /** A final receipt came. `deliveredAfterMs`: from submit_sm_resp to a receipt DELIVRD; null for other receipts. */
  onReceipt(submitted: Submitted, deliveredAfterMs: number | null): void {
    const { hedges, health, operatorPrefixOf } = this.#parts;
    if (deliveredAfterMs !== null && hedges.rules?.receipts === true) {
      this.#times.add(operatorPrefixOf(submitted.recipient), deliveredAfterMs);
    }
    if (this.#waiting.size === 0) return;
    const { messageId, hop, attempt } = submitted;
    const waiting = this.#waiting.get(deliveryKey(messageId, hop, delaysOf(attempt)));
    if (waiting === undefined) return;
    health.onReceiptDue(false);
    this.#lateInARow = 0;
    this.#end(waiting);
  }

  /** The carrier's own usual time; null while too few receipts are known, or when it is too long. */
  get afterMs(): number | null {
    const { usualMs } = this.#times;
    return usualMs === null ? null : this.#bounded(usualMs);
  }

  /** Nothing waits any more: records are acked. */
  close(): void {
    this.#closed = true;
    this.#timer?.();
    this.#timer = null;
    for (const waiting of this.#waiting.values()) this.#end(waiting);
  }

  /** After how long without a receipt it is hedged; null: never. */
  #afterMs(inFlight: InFlightMessage): number | null {
    const { hedges, clock, operatorPrefixOf } = this.#parts;
    const { message, header } = inFlight;
    if (hedges.rules?.receipts !== true || hedges.routeOf(inFlight) === null) return null;
    if (((header?.registeredDelivery ?? 0) & 3) !== everyReceipt) return null;
    const usualMs = this.#times.lateAfterMs(operatorPrefixOf(message.recipient));
    const afterMs = usualMs === null ? null : this.#bounded(usualMs);
    // A copy needs about as long again: later than that it would not arrive within the validity.
    return afterMs === null || clock.nowMs() + 3 * afterMs > message.validUntilMs ? null : afterMs;
  }

  #bounded(usualMs: number): number | null {
    const afterMs = Math.max(this.#parts.hedges.rules?.receiptFloorMs ?? 0, usualMs);
    return afterMs > bounds.receiptWaitMsMax ? null : afterMs;
  }

  #wake(): void {
    this.#timer?.();
    this.#timer = null;
    const { first } = this.#due;
    if (first !== undefined) this.#lookAt(dueAtMs(first));
  }

  #lookAt(atMs: number): void {
    const { clock } = this.#parts;
    const expectedMs = Math.max(clock.monotonicMs() + bounds.wakeEveryMs, atMs);
    this.#timer = clock.after(expectedMs - clock.monotonicMs(), () => {
      // Our own thread was held up: what has arrived meanwhile is read first.
      if (clock.monotonicMs() - expectedMs > bounds.timerLateMs) return this.#lookAt(0);
      this.#look();
      this.#wake();
    });
  }

  #look(): void {
    const { clock, health, hedges, cancels, isReceiving } = this.#parts;
    const nowMs = clock.monotonicMs();
    const late: Waiting[] = [];
    for (let { first } = this.#due; first !== undefined && dueAtMs(first) <= nowMs; { first } = this.#due) {
      this.#due.removeFirst();
      if (first.release !== null) late.push(first);
    }
    if (late.length === 0) return;
    // Without a bind no receipt can come: that says nothing about the deliveries.
    const isAway = !isReceiving();
    // All are counted first: an outage must not be hedged until it is seen.
    if (!isAway) {
      for (const _ of late) health.onReceiptDue(true);
      this.#lateInARow += late.length;
    }
    const isOutage = isAway || health.state !== 'good' || this.#isLateAsAWhole() || this.#isStalled(nowMs);
    for (const waiting of late) {
      const { inFlight, afterMs, carrierMessageId } = waiting;
      // Another node may have its record, and acks it.
      if (inFlight.isOursAt(nowMs) && hedges.rules?.receipts === true)
        hedges.onLate(inFlight, { rule: 'receipt', afterMs, isOutage });
      cancels.onAccepted(inFlight, carrierMessageId);
      this.#end(waiting);
    }
  }

  #isLateAsAWhole(): boolean {
    const share = this.#parts.health.lateReceiptShare ?? 0;
    return this.#lateInARow >= bounds.lateInARow || share >= limits.carrierHealth.lateShareWeak;
  }

  /** Of the messages whose time is nearly over, half or more have no receipt: an outage has just begun. */
  #isStalled(nowMs: number): boolean {
    let older = 0;
    let out = 0;
    for (const { sinceMs, afterMs, release } of this.#due.all()) {
      if (nowMs - sinceMs < afterMs * nearlyAll) continue;
      older += 1;
      if (release !== null) out += 1;
    }
    return older >= bounds.stalledMin && out * 2 >= older;
  }

  #end(waiting: Waiting): void {
    const { inFlight, release } = waiting;
    waiting.release = null;
    this.#waiting.delete(inFlight.key);
    const { subject } = inFlight.record;
    this.#held.set(subject, (this.#held.get(subject) ?? 1) - 1);
    release?.();
    this.#parts.completion.finishWhenDone(inFlight);
  }
}

const dueAtMs = ({ sinceMs, afterMs }: Waiting): number => sinceMs + afterMs;
