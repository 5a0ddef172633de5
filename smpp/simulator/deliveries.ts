// The deliver_sm of one account, receipts and inbound messages: round robin over its receiving sessions, at most
// receiptWindowMax without a response on each, repeated until a response has status 0. Deliveries that no session can
// take wait, up to pendingMax.
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { RingQueue } from '../../platform/ring-queue.ts';
import { commandStatus } from '../../model/command-status.ts';
import type { ShortMessage } from '../pdu.ts';
import type { Counters } from './counters.ts';
import type { Faults } from './faults.ts';
import type { TimingWheel } from './timing-wheel.ts';

/** `from` is the submitting session, for the fault receipt-other-bind; `intendedUs` as in Taken. */
export type Delivery = {
  message: ShortMessage;
  isReceipt: boolean;
  from: Receiver | undefined;
  attempts: number;
  intendedUs: number;
};

/** A session as its account's deliveries see it. */
export type Receiver = {
  /** Deliveries without a response, by sequence number, oldest first. */
  readonly unanswered: Map<number, { delivery: Delivery; sentAtMs: number }>;
  /** It can send a deliver_sm now. */
  readonly canTake: boolean;
  deliver(delivery: Delivery, nowMs: number): void;
};

/** What all accounts and sessions of a carrier share. */
export type CarrierParts = { readonly clock: Clock; readonly faults: Faults; readonly counters: Counters };

export class Deliveries {
  readonly #carrier: CarrierParts;
  readonly #wheel: TimingWheel<() => void>;
  readonly #pending = new RingQueue<Delivery>(limits.simulator.pendingMax);
  readonly #receivers: Receiver[] = [];
  /** Those that wait for their next attempt. */
  readonly #retrying = new Set<Delivery>();
  #turn = 0;

  constructor(carrier: CarrierParts, wheel: TimingWheel<() => void>) {
    this.#carrier = carrier;
    this.#wheel = wheel;
  }

  /** Deliveries not sent yet or without a response. */
  get pending(): number {
    return this.#receivers.reduce((sum, session) => sum + session.unanswered.size, this.#pending.size);
  }

  add(delivery: Delivery): void {
    if (this.#pending.size === 0 && this.#trySend(delivery)) return;
    if (!this.#pending.push(delivery)) this.#carrier.counters.receiptsDropped += 1;
  }

  /** Removes and returns those without a response of status 0, oldest first. For the end, when no session is left. */
  takeAll(): Delivery[] {
    const all = [...this.#retrying];
    this.#retrying.clear();
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) all.push(next);
    return all;
  }

  addReceiver(session: Receiver): void {
    this.#receivers.push(session);
    this.pump();
  }

  removeReceiver(session: Receiver): void {
    const index = this.#receivers.indexOf(session);
    if (index < 0) return;
    this.#receivers.splice(index, 1);
    const unanswered = [...session.unanswered.values()];
    session.unanswered.clear();
    for (const { delivery } of unanswered) this.#again(delivery, 0);
  }

  onAnswer(session: Receiver, sequence: number, status: number): void {
    const sent = session.unanswered.get(sequence);
    if (!sent) return;
    session.unanswered.delete(sequence);
    const { clock, counters } = this.#carrier;
    if (status === 0) {
      if (sent.delivery.isReceipt) counters.countReceiptAcked(sent.delivery.intendedUs, clock.monotonicMs());
      else counters.moAcked += 1;
    } else if (temporaryErrors.has(status)) this.#again(sent.delivery, limits.simulator.receiptRetryMs);
    else counters.receiptsRefused += 1;
    if (this.#pending.size > 0) this.pump();
  }

  /** Sends pending deliveries as far as windows and sockets allow. */
  pump(): void {
    for (let next = this.#pending.peek(); next && this.#trySend(next); next = this.#pending.peek()) {
      this.#pending.shift();
    }
  }

  /** Repeats deliveries without a response in time. */
  sweep(): void {
    const overdueMs = this.#carrier.clock.monotonicMs() - limits.simulator.receiptResponseMs;
    for (const session of this.#receivers) {
      for (const [sequence, { delivery, sentAtMs }] of session.unanswered) {
        if (sentAtMs > overdueMs) break;
        session.unanswered.delete(sequence);
        this.#again(delivery, 0);
      }
    }
    this.pump();
  }

  #trySend(delivery: Delivery): boolean {
    const session = this.#pick(delivery);
    if (!session) return false;
    delivery.attempts += 1;
    session.deliver(delivery, this.#carrier.clock.monotonicMs());
    if (delivery.isReceipt) this.#carrier.counters.receiptsSent += 1;
    else this.#carrier.counters.moSent += 1;
    return true;
  }

  #pick(delivery: Delivery): Receiver | undefined {
    const { length } = this.#receivers;
    const notFrom = this.#carrier.faults.has('receipt-other-bind') ? delivery.from : undefined;
    for (let tries = 0; tries < length; tries += 1) {
      this.#turn = (this.#turn + 1) % length;
      const session = this.#receivers[this.#turn]!;
      if (session !== notFrom && session.canTake) return session;
    }
    return undefined;
  }

  #again(delivery: Delivery, delayMs: number): void {
    if (delivery.attempts >= limits.simulator.receiptAttemptsMax) {
      this.#carrier.counters.receiptsDropped += 1;
      return;
    }
    this.#carrier.counters.receiptsRetried += 1;
    this.#retrying.add(delivery);
    // Always through the timing wheel: a receiver that refuses at once must not cause a loop.
    this.#wheel.add(delayMs, () => {
      this.#retrying.delete(delivery);
      this.add(delivery);
    });
  }
}

const temporaryErrors: ReadonlySet<number> = new Set([
  commandStatus.ESME_RX_T_APPN,
  commandStatus.ESME_RMSGQFUL,
  commandStatus.ESME_RTHROTTLED,
  commandStatus.ESME_RSYSERR,
]);
