// The interfaces of the simulated carrier, its accounts and its sessions to each other. Types only: the classes are in
// smsc.ts, smsc-session.ts and deliveries.ts, and none of them imports the class that creates it.
import type { Clock } from '../../platform/clock.ts';
import type { Link } from '../link.ts';
import type { BindFields, CancelPdu, QueryPdu, ShortMessage, ShortMessagePdu } from '../pdu.ts';
import type { Counters } from './counters.ts';
import type { Faults } from './faults.ts';
import type { AccountOptions } from './options.ts';
import type { SlidingRate } from './sliding-rate.ts';

/** `from` is the submitting session, for the fault receipt-other-bind; `intendedUs` as in Taken. */
export type Delivery = {
  message: ShortMessage;
  isReceipt: boolean;
  from: SimulatedSession | undefined;
  attempts: number;
  intendedUs: number;
};

export type SimulatedSession = {
  readonly link: Link;
  /** Deliveries without a response, by sequence number, oldest first. */
  readonly unanswered: Map<number, { delivery: Delivery; sentAtMs: number }>;
  readonly account: Account;
  readonly interfaceVersion: number;
  /** It can send a deliver_sm now. */
  readonly canTake: boolean;
  deliver(delivery: Delivery, nowMs: number): void;
  nextSequence(): number;
  unbind(): void;
  destroy(why: string): void;
};

export type Account = AccountOptions & {
  readonly sessions: Set<SimulatedSession>;
  readonly rate: SlidingRate;
  readonly deliveries: AccountDeliveries;
};

export type AccountDeliveries = {
  /** Deliveries not sent yet or without a response. */
  readonly pending: number;
  add(delivery: Delivery): void;
  /** Removes and returns those without a response of status 0, oldest first. For the end, when no session is left. */
  takeAll(): Delivery[];
  addReceiver(session: SimulatedSession): void;
  removeReceiver(session: SimulatedSession): void;
  onAnswer(session: SimulatedSession, sequence: number, status: number): void;
  pump(): void;
  sweep(): void;
};

export type SimulatedCarrier = {
  readonly clock: Clock;
  readonly faults: Faults;
  readonly counters: Counters;
  readonly sessions: { delete(session: SimulatedSession): boolean };
  admitBind(fields: BindFields): { status: number; account?: Account };
  onSubmit(session: SimulatedSession, pdu: ShortMessagePdu): void;
  onQuery(session: SimulatedSession, pdu: QueryPdu): void;
  onCancel(session: SimulatedSession, pdu: CancelPdu): void;
};
