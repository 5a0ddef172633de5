// The interface of an SMPP session to its owner, an actor. Types only.
import type { Clock } from '../platform/clock.ts';
import type { PduTap } from './flight/contract.ts';
import type { BindFields, ShortMessagePdu } from './pdu.ts';

export type BindType = 'transmitter' | 'receiver' | 'transceiver';

export type SessionOptions = {
  host: string;
  port: number;
  /** TLS when present: `{}` trusts the system's authorities and verifies the host name. */
  tls?: TlsSettings | undefined;
  bind: { type: BindType } & BindFields;
  windowPdusMax: number;
  responseTimerMs: number;
  /** Interval of enquire_link; a session whose peer leaves one unanswered until the next is closed. */
  enquireLinkMs: number;
  connectTimerMs?: number;
  bindTimerMs?: number;
  /** Gets every PDU of the session. */
  tap?: PduTap | undefined;
  clock: Clock;
  /** Called before every write; false ends the session without another octet. Absent on a single node. */
  mayWrite?: () => boolean;
};

/** Paths of PEM files; null or absent is the default. */
export type TlsSettings = {
  /** Trusted authorities instead of the system's. */
  caFile?: string | null;
  /** Our own certificate and its key, for peers that require one. */
  certFile?: string | null;
  keyFile?: string | null;
  /** The name that the peer's certificate must have, when it is not the host. */
  serverName?: string | null;
  /** Default: true. */
  verify?: boolean;
};

/** The content of a submit_sm_resp (SMPP 3.4, 4.4.2). */
export type SubmitResponse = { readonly status: number; readonly carrierMessageId: string };

/** Why a session ended; `why` is text for logs. */
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
  /** We must not write any more: another node may have the bind. */
  | { kind: 'fenced'; why: string };

/** Answers a deliver_sm or data_sm with this command_status. */
export type Respond = (status: number) => void;

/** The session calls these synchronously and never before openSession returned. None may throw. */
export type SessionHandlers<T> = {
  onBound(): void;
  onSubmitResponse(token: T, response: SubmitResponse): void;
  /** The response timer expired: the outcome of this submit is unknown and its slot is free. */
  onSubmitTimeout(token: T): void;
  /** A response after onSubmitTimeout, while the session is open: it has the carrier's message id. */
  onLateResponse?(token: T, response: SubmitResponse): void;
  /** A deliver_sm or data_sm. Call `respond` once, when the content is stored; it sends the response. */
  onDeliver(pdu: ShortMessagePdu, respond: Respond): void;
  /** A submit was refused before and is possible now. */
  onWindowOpen(): void;
  /** Called exactly once. `outstanding`: tokens of submits without a response, oldest first. */
  onClosed(cause: CloseCause, outstanding: T[]): void;
};
