// Matches every receipt to its message, and answers the carrier only when the receipt cannot be lost any more: its
// event is durable, or the receipt is parked. A receipt may precede its response, come twice, on another bind, after a
// restart, or for a submit with an unknown outcome. One with the state "unknown" is published and ends nothing: the
// submit still waits for its last receipt.
import { type FindSubmitted, type FindSubmittedReply, querySubjects } from '../../../analytics/contract.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import { type DeliveryEvent, type EventKind, deliveryEvent } from '../../../model/delivery-event.ts';
import { canonical } from '../../../model/carrier-message-id.ts';
import { byCategory } from '../../../model/message.ts';
import { unreachable } from '../../../platform/assert.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { log, maskNumber } from '../../../platform/log.ts';
import { LogThrottle } from '../../../platform/log-throttle.ts';
import type { Tally } from '../../../platform/tallied-metrics.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { commandStatus } from '../../../model/command-status.ts';
import type { ShortMessagePdu } from '../../../smpp/pdu.ts';
import type { Receipt } from '../../../smpp/receipt.ts';
import type { Respond } from '../../../smpp/session-contract.ts';
import { queryEventStore } from '../../ask-event-store.ts';
import type { Outstanding } from './outstanding.ts';
import { receiptError } from './receipt-error.ts';
import type { Submitted } from '../in-flight/facts.ts';
import type { Resend } from '../outcome/resend.ts';
import type { UnknownSubmits } from '../outcome/unknown-submits.ts';

/** `recipient` in E.164. `swapped`: the destination, where that can be a recipient too. */
export type KnownReceipt = Receipt & { readonly swapped?: string };

/** The E.164 number that an address means as a recipient; null: none. */
export type RecipientOf = (address: string, ton: number) => string | null;

export type ReceiptsParts = {
  readonly carrier: string;
  readonly events: EventWriter;
  readonly outstanding: Outstanding;
  readonly unknown: UnknownSubmits;
  readonly clock: Clock;
  /** Parks a receipt without a match for `delayMs`; reports whether it is durable. */
  readonly park: (receipt: KnownReceipt, parked: Parked, delayMs: number, done: (safe: boolean) => void) => void;
  readonly resend: Pick<Resend, 'onReceipt'>;
  /** Gets each last receipt of a one-time password. */
  readonly otp?: OtpReceiptHandlers;
  /** Asks the event store for a submit that is not in memory. */
  readonly lookUp: (receipt: KnownReceipt, carrierIds: readonly string[]) => Promise<FindSubmittedReply>;
};

export type OtpReceiptHandlers = {
  /** `deliveredAfterMs`: of one that says so and was matched at once, since the submit_sm_resp; null otherwise. */
  onLast(submitted: Submitted, deliveredAfterMs: number | null): void;
  /** That it was delivered is durable. */
  onDelivered(submitted: Submitted): void;
};

/** Of a parked receipt: searches without a match, queries without an answer, and since when it waits. */
export type Parked = { readonly waits: number; readonly unanswered: number; readonly sinceMs: number };

type Early = {
  readonly receipt: KnownReceipt;
  readonly respond: Respond;
  /** Null: it came from the carrier just now. */
  readonly parked: Parked | null;
  /** The ids under which it waits for its response. */
  readonly ids: readonly string[];
  readonly atMs: number;
};
type Ended = 'matched' | 'parked' | 'duplicate' | 'unmatched' | 'intermediate' | 'not_safe';

const sweepEveryMs = 250;
const waitsMs = limits.carrier.parkedReceiptWaitsMs;

/** The event of a receipt's state; null for states that say nothing new. All but `unknown` are final. */
const kindOfState: Readonly<Record<Receipt['state'], EventKind | null>> = {
  delivered: 'delivered',
  undelivered: 'undelivered',
  deleted: 'undelivered',
  expired: 'expired',
  rejected: 'rejected',
  unknown: 'unknown',
  accepted: null,
  enroute: null,
};

export class Receipts {
  readonly #parts: ReceiptsParts;
  /** Receipts whose id is not known (yet), by each reading. */
  readonly #early = new Map<string, Early[]>();
  #earlyCount = 0;
  /** Receipts with a query of the event store in progress: they count against the same bound. */
  #searching = 0;
  /** False until the replay has read which ids are ours: until then every receipt waits. */
  #open = false;
  readonly #stopSweep: Cancel;
  readonly #otherNumber: LogThrottle;
  readonly #ended: { [ended in Ended]?: Tally } = {};
  readonly #lag;

  constructor(parts: ReceiptsParts) {
    this.#parts = parts;
    this.#lag = byCategory((category) => metrics.receiptLag.tally({ carrier: parts.carrier, category }));
    this.#otherNumber = new LogThrottle(limits.carrier.receiptLogEveryMs, parts.clock);
    this.#stopSweep = parts.clock.every(sweepEveryMs, () => this.#sweep());
  }

  /** A receipt from the carrier, or one that was parked. */
  take(receipt: KnownReceipt, respond: Respond, parked: Parked | null = null): void {
    const kind = kindOfState[receipt.state];
    if (kind === null) return this.#end('intermediate', respond);
    // The bus is down: the carrier keeps the receipt more safely than our memory.
    if (!this.#parts.events.hasCapacity) return this.#end('not_safe', respond);
    const match = this.#parts.outstanding.find(receipt.carrierMessageId, receipt.recipient, receipt.swapped);
    if (match?.repeated === true) return this.#end('duplicate', respond);
    if (match !== null) return this.#settle(match.submitted, kind, receipt, respond, parked === null);
    const ids = this.#parts.outstanding.candidates(receipt.carrierMessageId);
    this.#wait({ receipt, respond, parked, ids, atMs: this.#parts.clock.monotonicMs() });
  }

  /** The replay is complete: receipts that came meanwhile are matched now, or searched for. */
  open(): void {
    this.#open = true;
    for (const early of this.#allEarly()) {
      this.#forget(early);
      this.take(early.receipt, early.respond, early.parked);
    }
  }

  /** A response contained an id: its receipt may be here already. */
  onSubmitted(submitted: DeliveryEvent): void {
    this.#parts.outstanding.add(submitted);
    if (this.#earlyCount === 0 || submitted.carrierMessageId === null) return;
    const id = canonical(submitted.carrierMessageId);
    for (const early of this.#early.get(id) ?? []) {
      this.#forget(early);
      this.take(early.receipt, early.respond, early.parked);
    }
  }

  /** Another incarnation or another node has written the outcome of a submit. */
  learn(event: DeliveryEvent): void {
    // A receipt UNKNOWN: the submit has its message id, and its final receipt may still come.
    if (event.kind === 'unknown' && event.carrierMessageId !== null) return;
    if (event.kind === 'unknown' || event.kind === 'resent') return this.#parts.unknown.add(event);
    if (event.category === 'otp') this.#learnOtp(event);
    if (event.carrierMessageId !== null) this.#parts.outstanding.settle(event);
    // Refused late: it has no id, and no receipt can be its own.
    if (event.carrierMessageId !== null || event.kind === 'rejected') this.#parts.unknown.settle(event);
  }

  /** Answers those that wait with ESME_RX_T_APPN: the carrier sends them again. A search goes on and answers its own. */
  close(): void {
    this.#stopSweep();
    for (const early of this.#allEarly()) this.#end('not_safe', early.respond);
    this.#early.clear();
    this.#earlyCount = 0;
  }

  #settle(submitted: Submitted, kind: EventKind, receipt: Receipt, respond: Respond, atOnce = false): void {
    const isFinal = kind !== 'unknown';
    if (isFinal) {
      this.#parts.outstanding.settle(submitted);
      this.#parts.unknown.settle(submitted);
    }
    const event = deliveryEvent(submitted, {
      kind,
      atMs: this.#parts.clock.nowMs(),
      attempt: submitted.attempt,
      segment: submitted.segment,
      // In the response's form, under which a replay has the submit; the receipt's may differ.
      carrierMessageId: submitted.carrierMessageId ?? receipt.carrierMessageId,
      error: kind === 'delivered' ? null : receiptError(receipt),
    });
    const lagMs = Math.max(0, event.atMs - submitted.atMs);
    if (isFinal) this.#lag[submitted.category].observe(lagMs / 1_000);
    const urgent = submitted.category === 'otp';
    if (urgent && isFinal) this.#parts.otp?.onLast(submitted, atOnce && kind === 'delivered' ? lagMs : null);
    // A receipt that is not final cannot cancel a second copy of its message.
    const onDurable = isFinal ? this.#parts.resend.onReceipt(submitted, kind) : () => {};
    const done = (durable: boolean) => {
      if (durable) onDurable();
      if (durable && urgent && kind === 'delivered') this.#parts.otp?.onDelivered(submitted);
      this.#end(durable ? 'matched' : 'not_safe', respond);
    };
    this.#parts.events.write(event, done, urgent);
  }

  /** Another node got the receipt. */
  #learnOtp(event: DeliveryEvent): void {
    if (event.carrierMessageId === null || event.kind === 'submitted') return;
    this.#parts.otp?.onLast(event, null);
    if (event.kind === 'delivered') this.#parts.otp?.onDelivered(event);
  }

  #wait(early: Early): void {
    if (this.#earlyCount + this.#searching >= limits.carrier.earlyReceiptsMax)
      return this.#end('not_safe', early.respond);
    for (const id of early.ids) {
      const waiting = this.#early.get(id);
      if (waiting === undefined) this.#early.set(id, [early]);
      else waiting.push(early);
    }
    this.#earlyCount += 1;
  }

  #sweep(): void {
    if (this.#earlyCount === 0 || !this.#open) return;
    const before = this.#parts.clock.monotonicMs() - limits.carrier.earlyReceiptWaitMs;
    for (const early of this.#allEarly()) {
      if (early.atMs > before) continue;
      this.#forget(early);
      void this.#search(early);
    }
  }

  /** No response contained this id in time: the event store may know it, or an unknown submit matches. */
  async #search({ receipt, respond, parked }: Early): Promise<void> {
    const { outstanding, lookUp, clock } = this.#parts;
    const { carrierMessageId, recipient, swapped } = receipt;
    const kind = kindOfState[receipt.state] as EventKind;
    this.#searching += 1;
    const stored = await lookUp(receipt, outstanding.candidates(carrierMessageId)).finally(() => {
      this.#searching -= 1;
    });
    if (stored.result === 'found') {
      // Its id may fit one in memory in a form that `auto` has dropped: three such receipts bring that form back.
      outstanding.fitsDroppedReading(carrierMessageId, recipient, swapped);
      return this.#settle(stored.submitted, kind, receipt, respond);
    }
    // The response may have come during the query: then nothing matches better.
    if (outstanding.find(carrierMessageId, recipient, swapped) !== null) return this.take(receipt, respond, parked);
    const before = parked ?? { waits: 0, unanswered: 0, sinceMs: clock.nowMs() };
    switch (stored.result) {
      case 'none': {
        const fits = this.#guess(receipt);
        if (fits !== null) return this.#settle(fits, kind, receipt, respond);
        if (before.waits >= waitsMs.length) return this.#giveUp(receipt, respond);
        return this.#park(receipt, respond, { ...before, waits: before.waits + 1 }, before.waits);
      }
      case 'unavailable':
        // It may be of a message not searched for yet, which would match better than any unknown submit.
        if (clock.nowMs() - before.sinceMs > limits.carrier.parkedReceiptAgeMsMax)
          return this.#giveUp(receipt, respond);
        return this.#park(receipt, respond, { ...before, unanswered: before.unanswered + 1 }, before.unanswered);
      default:
        return unreachable(stored);
    }
  }

  /** The only unknown submit it can be about; never for the state "unknown" or an id that matches another submit. */
  #guess({ state, carrierMessageId, recipient, swapped, sender, submittedAt }: KnownReceipt): DeliveryEvent | null {
    const { outstanding, unknown } = this.#parts;
    if (state === 'unknown' || outstanding.fitsDroppedReading(carrierMessageId, recipient, swapped)) return null;
    return unknown.find(recipient, sender, submittedAt ?? null);
  }

  #park(receipt: KnownReceipt, respond: Respond, parked: Parked, times: number): void {
    if (parked.waits + parked.unanswered === 1) this.#compare(receipt);
    const delayMs = waitsMs[Math.min(times, waitsMs.length - 1)] as number;
    this.#parts.park(receipt, parked, delayMs, (safe) => this.#end(safe ? 'parked' : 'not_safe', respond));
  }

  #giveUp({ carrierMessageId, state, recipient }: KnownReceipt, respond: Respond): void {
    const facts = { carrier: this.#parts.carrier, carrierMessageId, state, recipient: maskNumber(recipient) };
    log.warn(facts, 'a receipt without a message');
    this.#end('unmatched', respond);
  }

  /** The id is ours and the number is not: the carrier writes numbers in an unexpected form, or reuses ids. */
  #compare({ carrierMessageId, recipient, swapped, state }: KnownReceipt): void {
    const { carrier, outstanding } = this.#parts;
    const submitted = outstanding.recipientOf(carrierMessageId);
    if (submitted === null) return;
    metrics.receiptsOtherNumber.inc({ carrier });
    const unlogged = this.#otherNumber.allow();
    if (unlogged === null) return;
    const compared = {
      receipt: maskNumber(recipient),
      ...(swapped === undefined ? {} : { swapped: maskNumber(swapped) }),
      submitted: maskNumber(submitted),
      ...(unlogged > 0 ? { unlogged } : {}),
    };
    log.warn({ carrier, carrierMessageId, state, ...compared }, 'a receipt has the id of a message to another number');
  }

  #forget(early: Early): void {
    for (const id of early.ids) {
      const left = (this.#early.get(id) ?? []).filter((each) => each !== early);
      if (left.length === 0) this.#early.delete(id);
      else this.#early.set(id, left);
    }
    this.#earlyCount -= 1;
  }

  #allEarly(): Set<Early> {
    return new Set([...this.#early.values()].flat());
  }

  #end(ended: Ended, respond: Respond): void {
    const { carrier } = this.#parts;
    (this.#ended[ended] ??= metrics.receipts.tally({ carrier, ended })).inc();
    // ESME_RX_T_APPN (SMPP 3.4, 5.1.3) asks the carrier to keep the receipt and to retry.
    respond(ended === 'not_safe' ? commandStatus.ESME_RX_T_APPN : commandStatus.ESME_ROK);
  }
}

/** Without a country's number plan: only international numbers. */
export const asWritten: RecipientOf = (address) => {
  if (!/^\+?[1-9]\d{6,14}$/.test(address)) return null;
  return address.startsWith('+') ? address : `+${address}`;
};

/**
 * Adds the recipient in E.164 to a receipt. Carriers write it internationally or nationally, under any type of number,
 * some with source and destination exchanged. The exchanged reading counts only when the message id
 * matches too: a number is not enough to find a message.
 */
export function withNumbers(
  receipt: Receipt,
  { source, sourceTon, destination, destinationTon }: ShortMessagePdu,
  recipientOf: RecipientOf,
): KnownReceipt {
  const plain = source.startsWith('+') ? source : `+${source}`;
  const recipient = recipientOf(source, sourceTon) ?? plain;
  const swapped = recipientOf(destination, destinationTon);
  return swapped === null || swapped === recipient ? { ...receipt, recipient } : { ...receipt, recipient, swapped };
}

/**
 * Asks the event store for the submit of a receipt that is not in memory: it is older than the replay window, or
 * another node submitted it. `unavailable` from an event store that is down or behind is not `none`.
 * `carrierMessageIds`: the ids it may refer to, likeliest first.
 */
export function lookUpReceipt(
  bus: Pick<Bus, 'connection'>,
  carrier: string,
  { recipient, swapped }: Pick<KnownReceipt, 'recipient' | 'swapped'>,
  carrierMessageIds: readonly string[],
): Promise<FindSubmittedReply> {
  const recipients = swapped === undefined ? [recipient] : [recipient, swapped];
  const query: FindSubmitted = { carrier, recipients, carrierMessageIds };
  return queryEventStore<FindSubmittedReply>(bus, querySubjects.findSubmitted, query);
}
