// The deliver_sm of one account, receipts and inbound messages: round robin over its receiving sessions, at most
// receiptWindowMax without a response on each, repeated until a response has status 0. Deliveries that no session can
// take wait, up to pendingMax.
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { RingQueue } from '../../platform/ring-queue.ts';
import { commandStatus } from '../../model/command-status.ts';
import type { AccountDeliveries, Delivery, SimulatedSession } from './contract.ts';
import type { Counters } from './counters.ts';
import type { Faults } from './faults.ts';
import type { TimingWheel } from './timing-wheel.ts';

export class Deliveries implements AccountDeliveries {
  readonly #clock: Clock;
  readonly #faults: Faults;
  readonly #counters: Counters;
  readonly #wheel: TimingWheel<() => void>;
  readonly #pending = new RingQueue<Delivery>(limits.simulator.pendingMax);
  readonly #receivers: SimulatedSession[] = [];
  /** Those that wait for their next attempt. */
  readonly #retrying = new Set<Delivery>();
  #turn = 0;

  constructor(clock: Clock, faults: Faults, counters: Counters, wheel: TimingWheel<() => void>) {
    this.#clock = clock;
    this.#faults = faults;
    this.#counters = counters;
    this.#wheel = wheel;
  }

  /** Deliveries not sent yet or without a response. */
  get pending(): number {
    return this.#receivers.reduce((sum, session) => sum + session.unanswered.size, this.#pending.size);
  }

  add(delivery: Delivery): void {
    if (this.#pending.size === 0 && this.#trySend(delivery)) return;
    if (!this.#pending.push(delivery)) this.#counters.receiptsDropped += 1;
  }

  takeAll(): Delivery[] {
    const all = [...this.#retrying];
    this.#retrying.clear();
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) all.push(next);
    return all;
  }

  addReceiver(session: SimulatedSession): void {
    this.#receivers.push(session);
    this.pump();
  }

  removeReceiver(session: SimulatedSession): void {
    const index = this.#receivers.indexOf(session);
    if (index < 0) return;
    this.#receivers.splice(index, 1);
    const unanswered = [...session.unanswered.values()];
    session.unanswered.clear();
    for (const { delivery } of unanswered) this.#again(delivery, 0);
  }

  onAnswer(session: SimulatedSession, sequence: number, status: number): void {
    const sent = session.unanswered.get(sequence);
    if (!sent) return;
    session.unanswered.delete(sequence);
    if (status === 0) {
      if (sent.delivery.isReceipt)
        this.#counters.countReceiptAcked(sent.delivery.intendedUs, this.#clock.monotonicMs());
      else this.#counters.moAcked += 1;
    } else if (temporaryErrors.has(status)) this.#again(sent.delivery, limits.simulator.receiptRetryMs);
    else this.#counters.receiptsRefused += 1;
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
    const overdueMs = this.#clock.monotonicMs() - limits.simulator.receiptResponseMs;
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
    session.deliver(delivery, this.#clock.monotonicMs());
    if (delivery.isReceipt) this.#counters.receiptsSent += 1;
    else this.#counters.moSent += 1;
    return true;
  }

  #pick(delivery: Delivery): SimulatedSession | undefined {
    const { length } = this.#receivers;
    const notFrom = this.#faults.has('receipt-other-bind') ? delivery.from : undefined;
    for (let tries = 0; tries < length; tries += 1) {
      this.#turn = (this.#turn + 1) % length;
      const session = this.#receivers[this.#turn]!;
      if (session !== notFrom && session.canTake) return session;
    }
    return undefined;
  }

  #again(delivery: Delivery, delayMs: number): void {
    if (delivery.attempts >= limits.simulator.receiptAttemptsMax) {
      this.#counters.receiptsDropped += 1;
      return;
    }
    this.#counters.receiptsRetried += 1;
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
