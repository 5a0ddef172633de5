// The interfaces of the simulated carrier, its accounts and its sessions to each other. Types only: the classes are in
// smsc.ts and smsc-session.ts, and neither imports the class that creates it.
import type { Link } from '../link.ts';
import type { BindFields, CancelPdu, QueryPdu, ShortMessagePdu } from '../pdu.ts';
import type { CarrierParts, Deliveries, Receiver } from './deliveries.ts';
import type { AccountOptions } from './options.ts';
import type { SlidingRate } from './sliding-rate.ts';

export type SimulatedSession = Receiver & {
  readonly link: Link;
  readonly account: Account;
  readonly interfaceVersion: number;
  nextSequence(): number;
  unbind(): void;
  destroy(why: string): void;
};

export type Account = AccountOptions & {
  readonly sessions: Set<SimulatedSession>;
  readonly rate: SlidingRate;
  readonly deliveries: Deliveries;
};

export type SimulatedCarrier = CarrierParts & {
  readonly sessions: { delete(session: SimulatedSession): boolean };
  admitBind(fields: BindFields): { status: number; account?: Account };
  onSubmit(session: SimulatedSession, pdu: ShortMessagePdu): void;
  onQuery(session: SimulatedSession, pdu: QueryPdu): void;
  onCancel(session: SimulatedSession, pdu: CancelPdu): void;
};
