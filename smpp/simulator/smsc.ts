// The simulated carrier: which binds it accepts, the response to a submit, its receipt and when. It owns the accounts
// and all counters; smsc-session.ts owns the sockets, deliveries.ts the deliver_sm. It must stay cheap: a bench counts
// this process against the product's budget.
import type { Socket } from 'node:net';
import { type Cancel, type Clock, epochUs } from '../../platform/clock.ts';
import { commandStatus } from '../../model/command-status.ts';
import { encodeQueryResp } from '../codec.ts';
import {
  type BindFields,
  type CancelPdu,
  commandId,
  type QueryPdu,
  type ShortMessage,
  type ShortMessagePdu,
} from '../pdu.ts';
import { type ReceiptState, receiptStateNumber } from '../receipt.ts';
import { receiptDate } from '../receipt-text.ts';
import type { Account, SimulatedCarrier, SimulatedSession } from './contract.ts';
import { Counters } from './counters.ts';
import { Deliveries, type Delivery } from './deliveries.ts';
import { Faults } from './faults.ts';
import { playOnSubmit } from './line-faults.ts';
import { type Fate, MagicNumbers } from './magic.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import { Nonces } from './nonces.ts';
import type { SimulatorOptions } from './options.ts';
import { type Pending, pendingDeliveries, pendingReceipt, removePending } from './pending.ts';
import { MessageIds, receiptFor, type Taken, type Undelivered } from './receipts.ts';
import { bodyOf, isPart, partOf, plainOctets } from './reading.ts';
import { Recording } from './recording.ts';
import { SlidingRate } from './sliding-rate.ts';
import { SmscSession } from './smsc-session.ts';
import { TimingWheel } from './timing-wheel.ts';
import { refusalOf } from './submit-refusal.ts';

export class Smsc implements SimulatedCarrier {
  readonly clock: Clock;
  readonly faults = new Faults();
  /** Starts at the vendor-specific statuses. */
  #oddStatus = 0x400;
  readonly counters: Counters;
  readonly sessions = new Set<SmscSession>();
  readonly accounts = new Map<string, Account>();
  readonly #options: SimulatorOptions;
  readonly #ids: MessageIds;
  readonly #wheel: TimingWheel<() => void>;
  readonly #magic = new MagicNumbers();
  /** Accepted submits whose last receipt is to come, by the id of the response: a cancel_sm may take them back. */
  readonly #undelivered = new Map<string, Undelivered>();
  readonly #cancelSweep: Cancel;
  recording: Recording;
  nonces = new Nonces();
  /** A receipt held until the next one overtakes it. */
  #overtaken: { account: string; delivery: Delivery } | undefined;

  /** `pending`: from before this start. */
  constructor(options: SimulatorOptions, pending?: Pending) {
    this.#options = options;
    this.clock = options.clock;
    this.counters = new Counters(options.onReceiptAcked);
    this.#wheel = new TimingWheel<() => void>(options.clock, (run) => run());
    const idsFrom = options.idsFrom ?? BigInt(Math.floor(options.clock.nowMs())) * 1_000n;
    const goesOn = pending !== undefined && pending.lastId > idsFrom;
    this.#ids = new MessageIds(options.ids, goesOn ? pending.lastId : idsFrom);
    this.recording = new Recording(options.recordMax, options.alphabet);
    for (const account of options.accounts) {
      const deliveries = new Deliveries(this, this.#wheel);
      const rate = new SlidingRate(account.tps);
      this.accounts.set(account.systemId, { ...account, sessions: new Set(), rate, deliveries });
    }
    this.#cancelSweep = this.clock.every(1_000, () => {
      for (const account of this.accounts.values()) account.deliveries.sweep();
    });
    if (pending !== undefined) this.#resume(pending);
  }

  /** Clears the recording and the nonces, for the next measurement. */
  forget(): void {
    this.recording = new Recording(this.#options.recordMax, this.#options.alphabet);
    this.nonces = new Nonces();
    this.counters.intendedToReceiptAcked = new LatencyHistogram();
  }

  accept(socket: Socket): void {
    this.counters.connections += 1;
    this.sessions.add(new SmscSession(this, socket));
    if (this.faults.has('stall')) socket.pause();
  }

  close(): void {
    this.#cancelSweep();
    for (const session of this.sessions) session.destroy('the simulator closes');
    if (this.#overtaken !== undefined) this.#releaseOvertaken(this.#overtaken.delivery);
    // Last: what a session had not answered has gone back to the wheel.
    this.#wheel.clear();
  }

  /** After close(): receipts that are not due yet, and deliveries without an answer. */
  pending(): Pending {
    const deliveries = [...this.accounts.values()].flatMap(pendingDeliveries);
    return { lastId: this.#ids.last, receipts: [...this.#undelivered.values()].map(pendingReceipt), deliveries };
  }

  /** Receipts come at the time they had before the stop, at once when it has passed. Accounts that are gone get none. */
  #resume({ receipts, deliveries }: Pending): void {
    for (const { account: systemId, ...rest } of deliveries) {
      this.accounts.get(systemId)?.deliveries.add({ ...rest, from: undefined, attempts: 0 });
    }
    for (const { account: systemId, fate, dueAtMs, ...rest } of receipts) {
      const account = this.accounts.get(systemId);
      if (account === undefined) continue;
      const taken: Taken = { ...rest, account, session: undefined };
      this.#undelivered.set(taken.responseId, { taken, fate, dueAtMs });
      this.#wheel.add(Math.max(0, dueAtMs - this.clock.nowMs()), () => this.#receipt(taken, fate));
    }
  }

  admitBind({ systemId, password, systemType }: BindFields): { status: number; account?: Account } {
    const account = this.accounts.get(systemId);
    const refuse = (status: number) => {
      this.counters.bindsRefused += 1;
      return { status };
    };
    if (!account) return refuse(commandStatus.ESME_RINVSYSID);
    if (account.password !== password) return refuse(commandStatus.ESME_RINVPASWD);
    if (account.systemType !== undefined && account.systemType !== systemType) {
      return refuse(commandStatus.ESME_RINVSYSTYP);
    }
    const { bindsMax } = this.#options;
    if (this.faults.take('already-bound') || (bindsMax > 0 && account.sessions.size >= bindsMax)) {
      return refuse(commandStatus.ESME_RALYBND);
    }
    this.counters.binds += 1;
    const { pendingFile } = this.#options;
    if (this.counters.binds === 1 && pendingFile !== undefined) removePending(pendingFile);
    return { status: 0, account };
  }

  onSubmit(session: SimulatedSession, pdu: ShortMessagePdu): void {
    const { counters, faults } = this;
    const nowMs = this.clock.monotonicMs();
    counters.submits += 1;
    counters.rate.add(nowMs);
    if (faults.any && playOnSubmit(this, session, pdu, this.#options.random)) return;
    const fate = this.#decide(session, pdu, nowMs);
    counters.countStatus(fate.status);
    if (fate.status !== 0) {
      if (fate.status === commandStatus.ESME_RTHROTTLED) counters.throttled += 1;
      return this.#answer(session, pdu.sequence, fate.status, '', fate.refusedAfterMs ?? 0);
    }
    const taken = this.#take(session, pdu);
    const responseMs = this.#options.response(this.#options.random);
    const wantsReceipt = this.#wantsReceipt(pdu, fate);
    const receiptMs = fate.delayMs ?? this.#options.latency(this.#options.random);
    const dueAtMs = taken.submittedAtMs + responseMs + receiptMs;
    if (wantsReceipt) this.#undelivered.set(taken.responseId, { taken, fate, dueAtMs });
    const early = wantsReceipt && faults.take('receipt-before-resp');
    if (early) this.#receipt(taken, fate);
    if (faults.take('no-resp')) counters.unanswered += 1;
    else this.#answer(session, pdu.sequence, 0, taken.responseId, early ? responseMs + earlyMs : responseMs);
    if (wantsReceipt && !early) this.#wheel.add(responseMs + receiptMs, () => this.#receipt(taken, fate));
  }

  onQuery(session: SimulatedSession, pdu: QueryPdu): void {
    this.counters.queries += 1;
    if (this.faults.take('no-query-resp')) return;
    const enroute = { state: 'enroute', doneAtMs: undefined } as const;
    const state = this.stateOf(pdu.messageId) ?? (this.recording.has(pdu.messageId) ? enroute : undefined);
    const status = state ? 0 : commandStatus.ESME_RQUERYFAIL;
    const finalDate = state?.doneAtMs === undefined ? '' : `${receiptDate(state.doneAtMs)}000+`;
    const messageState = receiptStateNumber[state?.state ?? 'enroute'];
    const answer = { messageId: pdu.messageId, finalDate, messageState, errorCode: 0 };
    session.link.sendBytes(encodeQueryResp(pdu.sequence, status, answer));
  }

  /** What its receipt said, or that it is to come; undefined when no receipt is due, or it came long ago. */
  stateOf(responseId: string): { state: ReceiptState; doneAtMs: number | undefined } | undefined {
    const settled = this.#ids.stateOf(responseId);
    if (settled !== undefined || !this.#undelivered.has(responseId)) return settled;
    return { state: 'enroute', doneAtMs: undefined };
  }

  /** Only what is not delivered yet can be cancelled, and only by the account and with the addresses of its submit. */
  onCancel(session: SimulatedSession, pdu: CancelPdu): void {
    const { counters, faults } = this;
    counters.cancels += 1;
    if (faults.take('no-cancel-resp')) return;
    const taken = this.#undelivered.get(pdu.messageId)?.taken;
    const isTheirs = taken !== undefined && isOf(pdu, taken.pdu) && taken.account === session.account;
    const status = !isTheirs || faults.take('cancel-fail') ? commandStatus.ESME_RCANCELFAIL : 0;
    session.link.sendBare(commandId.cancel_sm_resp, status, pdu.sequence);
    if (status !== 0 || taken === undefined) return;
    counters.canceled += 1;
    this.#lastReceipt(taken, { status: 0, state: 'deleted' });
  }

  #decide({ account, interfaceVersion }: SimulatedSession, pdu: ShortMessagePdu, nowMs: number): Fate {
    const { faults } = this;
    if (faults.any) {
      const refusedAfterMs = faults.argOf('queue-full') ?? 0;
      if (faults.take('queue-full')) return { status: commandStatus.ESME_RMSGQFUL, refusedAfterMs };
      if (faults.take('throttle')) return { status: commandStatus.ESME_RTHROTTLED };
      if (faults.take('odd-status')) return { status: (this.#oddStatus += 1) };
      if (faults.take('sys-err')) return { status: commandStatus.ESME_RSYSERR };
      if (faults.has('reject-part') && partOf(pdu) === (faults.argOf('reject-part') ?? 2)) {
        faults.take('reject-part');
        return { status: commandStatus.ESME_RSUBMITFAIL };
      }
    }
    const refusal = refusalOf(pdu, interfaceVersion, this.clock.nowMs());
    if (refusal !== 0) return { status: refusal };
    if (account.tps > 0) {
      if (account.rate.count(nowMs) >= account.tps) return { status: commandStatus.ESME_RTHROTTLED };
      account.rate.add(nowMs);
    }
    return (this.#options.magic ? this.#magic.fateOf(pdu.destination, nowMs) : undefined) ?? asUsual;
  }

  #take(session: SimulatedSession, pdu: ShortMessagePdu): Taken {
    const { counters } = this;
    counters.accepted += 1;
    if (isPart(pdu)) counters.parts += 1;
    const submittedAtMs = this.clock.nowMs();
    const read = bodyOf(pdu);
    const octets = plainOctets(pdu, read, this.#options.alphabet);
    this.#options.onText(octets);
    const intendedUs = this.nonces.count(octets, pdu.dataCoding, epochUs(this.clock.monotonicMs()), read.shift);
    const taken: Taken = { ...this.#nextIds(), pdu, account: session.account, session, submittedAtMs, intendedUs };
    this.recording.add(taken.responseId, pdu, submittedAtMs);
    return taken;
  }

  #nextIds(): { responseId: string; receiptId: string } {
    const { responseId, receiptId } = this.#ids.next();
    const chars = this.faults.argOf('long-id') ?? 0;
    if (chars === 0 || !this.faults.take('long-id')) return { responseId, receiptId };
    return { responseId: responseId.padStart(chars, 'x'), receiptId: receiptId.padStart(chars, 'x') };
  }

  #wantsReceipt(pdu: ShortMessagePdu, fate: Fate): boolean {
    const asked = pdu.registeredDelivery & 0x03;
    const failed = fate.state !== undefined && fate.state !== 'delivered';
    if (asked === 0 || asked === 3 || (asked === 2 && !failed)) return false;
    return fate.receipt !== false && !this.faults.take('no-receipt');
  }

  #answer(session: SimulatedSession, sequence: number, status: number, id: string, delayMs: number): void {
    if (delayMs <= 0) return session.link.sendMessageId('submit_sm_resp', status, sequence, id);
    this.#wheel.add(delayMs, () => session.link.sendMessageId('submit_sm_resp', status, sequence, id));
  }

  #receipt(taken: Taken, fate: Fate): void {
    const preceding = this.faults.argOf('preceding-receipt') ?? 0;
    if (!this.faults.take('preceding-receipt')) return this.#lastReceipt(taken, fate);
    this.#deliver(taken, this.#precedingReceipt(taken, preceding));
    this.#wheel.add(lastReceiptMs, () => this.#lastReceipt(taken, fate));
  }

  #precedingReceipt(taken: Taken, messageState: number): ShortMessage {
    const known = Object.entries(receiptStateNumber).find(([, number]) => number === messageState);
    const state = (known?.[0] ?? 'enroute') as ReceiptState;
    const word = known === undefined ? 'VENDORWD' : undefined;
    return receiptFor(taken, state, '000', this.clock.nowMs(), this.#options, word);
  }

  #lastReceipt(taken: Taken, fate: Fate): void {
    // It was cancelled meanwhile.
    if (!this.#undelivered.delete(taken.responseId)) return;
    const state = fate.state ?? 'delivered';
    const doneAtMs = this.clock.nowMs();
    this.#ids.settle(taken, state, doneAtMs);
    const errorCode = fate.errorCode ?? this.#errorCode();
    this.#deliver(taken, receiptFor(taken, state, errorCode, doneAtMs, this.#options));
  }

  #deliver(taken: Taken, message: ShortMessage): void {
    const { session: from, intendedUs } = taken;
    const delivery: Delivery = { message, isReceipt: true, from, attempts: 0, intendedUs };
    const { systemId, deliveries } = taken.account;
    if (!this.faults.any) return deliveries.add(delivery);
    if (this.faults.take('duplicate-receipt')) deliveries.add({ ...delivery });
    if (!this.faults.has('out-of-order-receipts')) return deliveries.add(delivery);
    const first = this.#overtaken;
    if (!first) {
      this.#overtaken = { account: systemId, delivery };
      this.#wheel.add(overtakenMs, () => this.#releaseOvertaken(delivery));
      return;
    }
    deliveries.add(delivery);
    this.#releaseOvertaken(first.delivery);
  }

  #errorCode(): string {
    const chars = this.faults.argOf('long-err') ?? 0;
    return chars > 0 && this.faults.take('long-err') ? 'e'.repeat(chars) : '000';
  }

  #releaseOvertaken(delivery: Delivery): void {
    if (this.#overtaken?.delivery !== delivery) return;
    const { account } = this.#overtaken;
    this.#overtaken = undefined;
    this.faults.take('out-of-order-receipts');
    this.accounts.get(account)?.deliveries.add(delivery);
  }
}

const asUsual: Fate = { status: 0 };
/** How far a receipt precedes its response with that fault. */
const earlyMs = 50;
const overtakenMs = 300;
/** From a preceding receipt to the final one. */
const lastReceiptMs = 3_000;

/** SMPP 3.4, 4.9.1: the addresses verify the id, and may be NULL. */
function isOf({ source, destination }: CancelPdu, submitted: ShortMessagePdu): boolean {
  const fits = (given: string, own: string) => given === '' || given === own;
  return fits(source, submitted.source) && fits(destination, submitted.destination);
}
