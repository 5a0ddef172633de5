// What an owner of an SMPP session gives and gets: types only. The owner is an actor; nothing here knows one.
import type { Clock } from '../platform/clock.ts';
import type { PduTap } from './flight/contract.ts';
import type { BindFields, ShortMessagePdu } from './pdu.ts';

export type BindType = 'transmitter' | 'receiver' | 'transceiver';

export type SessionOptions = {
  host: string;
  port: number;
  /** TLS when present: `{}` trusts the system's authorities and checks the host name. */
  tls?: TlsSettings | undefined;
  bind: { type: BindType } & BindFields;
  windowPdusMax: number;
  responseTimerMs: number;
  /** How often enquire_link is asked; a peer that leaves one unanswered until the next is closed. */
  enquireLinkMs: number;
  connectTimerMs?: number;
  bindTimerMs?: number;
  responseTimeoutsInARowMax?: number;
  /** Sees every PDU of the session. */
  tap?: PduTap | undefined;
  clock: Clock;
  /** Asked at every write; false ends the session without another octet. Without it nobody else can have the bind. */
  mayWrite?: () => boolean;
};

/** Paths of PEM files; what is null or absent is the default. */
export type TlsSettings = {
  /** Authorities to trust instead of the system's. */
  caFile?: string | null;
  /** Our own certificate and its key, for peers that ask for one. */
  certFile?: string | null;
  keyFile?: string | null;
  /** The name the peer's certificate must show, when it is not the host. */
  serverName?: string | null;
  /** True unless said otherwise. */
  verify?: boolean;
};

export type SubmitResponse = { status: number; carrierMessageId: string; roundTripMs: number };

/** Why a session ended; `why` is for people. */
export type CloseCause =
  | { kind: 'asked'; why: string }
  | { kind: 'connect_failed'; why: string }
  | { kind: 'bind_refused'; why: string; status: number }
  | { kind: 'bind_timeout'; why: string }
  | { kind: 'peer_unbind'; why: string }
  | { kind: 'peer_closed'; why: string }
  | { kind: 'keepalive'; why: string }
  | { kind: 'response_timeouts'; why: string }
  | { kind: 'protocol'; why: string }
  /** We must not write any more: the bind may be another node's. */
  | { kind: 'fenced'; why: string };

/** Called from the session, synchronously and never before openSession returned. None may throw. */
export type SessionHandlers<T> = {
  onBound(): void;
  onSubmitResponse(token: T, response: SubmitResponse): void;
  /** The response timer ran out: the outcome of this submit is unknown and its place is free. */
  onSubmitTimeout(token: T): void;
  /** An answer after onSubmitTimeout, while the session still lives: it has the carrier's id after all. */
  onLateResponse?(token: T, response: { status: number; carrierMessageId: string }): void;
  /** A deliver_sm or data_sm. `respond` sends the answer; call it once, when the content is safe. */
  onDeliver(pdu: ShortMessagePdu, respond: (status: number) => void): void;
  /** A submit was refused before and can go now. */
  onWindowOpen(): void;
  /** Exactly once. `outstanding`: submits that were written and never answered, oldest first. */
  onClosed(cause: CloseCause, outstanding: T[]): void;
};

/** The fields of a bind for an ordinary client of SMPP 3.4. */
export function bindFields(systemId: string, password: string, systemType = ''): BindFields {
  return { systemId, password, systemType, interfaceVersion: 0x34, addressTon: 0, addressNpi: 0, addressRange: '' };
}
