// Tries one bind and reports the result of each step: name, connection, TLS, bind, enquire_link, unbind. It submits
// nothing and takes no message: it answers deliveries with a temporary error, so that the carrier keeps them.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type Socket, isIP } from 'node:net';
import { type PeerCertificate, TLSSocket } from 'node:tls';
import { type Clock, systemClock } from '../platform/clock.ts';
import { DeadlineExceeded, withDeadline } from '../platform/deadline.ts';
import { ignoring, messageOf } from '../platform/errors.ts';
import { encodeBind } from './codec.ts';
import { commandStatus } from '../model/command-status.ts';
import { connectSocket } from './connect.ts';
import { Link } from './link.ts';
import { commandId, type Pdu } from './pdu.ts';
import type { SessionOptions } from './session-contract.ts';

export type ProbeOptions = Pick<SessionOptions, 'host' | 'port' | 'tls' | 'bind'> & { readonly stepMs: number };

export type ProbeEnd =
  | 'works'
  | 'no_such_name'
  | 'no_connection'
  | 'connection_refused'
  | 'connection_timeout'
  | 'tls_failed'
  | 'tls_timeout'
  | 'closed_before_answer'
  | 'no_answer_to_bind'
  | 'not_smpp'
  | 'bind_refused'
  | 'closed_after_bind'
  | 'no_answer_to_enquire_link';

export type ProbeFound = {
  readonly end: ProbeEnd;
  /** Code and text of the error that ended the attempt. */
  readonly error: { readonly code: string; readonly text: string } | null;
  readonly addresses: readonly string[];
  readonly tls: TlsFound | null;
  /** command_status of the bind response. */
  readonly status: number | null;
  readonly bindMs: number | null;
  readonly enquireMs: number | null;
  /** Deliveries answered with a temporary error. */
  readonly deferred: number;
};

export type TlsFound = {
  readonly protocol: string;
  readonly subject: string;
  readonly issuer: string;
  readonly names: string;
  readonly validTo: string;
};

type Step = 'resolve' | 'connect' | 'tls' | 'bind' | 'enquire';
type Finding = { -readonly [Name in keyof ProbeFound]: ProbeFound[Name] };

/** The peer ended the connection, or sent what is no PDU. */
class Gone extends Error {
  readonly broken: boolean;
  constructor(why: string, broken: boolean) {
    super(why);
    this.broken = broken;
  }
}

export async function probeBind(options: ProbeOptions, clock: Clock = systemClock): Promise<ProbeFound> {
  const found: Finding = {
    end: 'works',
    error: null,
    addresses: [],
    tls: null,
    status: null,
    bindMs: null,
    enquireMs: null,
    deferred: 0,
  };
  let step: Step = 'resolve';
  let socket: Socket | null = null;
  let line: Line | null = null;
  const within = <T>(work: Promise<T>) => withDeadline(step, options.stepMs, work, clock);
  const timed = async (answer: Promise<Pdu>) => {
    const sentAtMs = clock.monotonicMs();
    const { status, command } = await within(answer);
    return { status, command, ms: Math.round(clock.monotonicMs() - sentAtMs) };
  };
  try {
    found.addresses = await within(addressesOf(options.host));
    step = 'connect';
    socket = connectSocket(options, () => undefined);
    socket.on('error', (error) => ignoring(error, 'the step that waits for the connection reports it'));
    await within(once(socket, 'connect'));
    if (options.tls) {
      step = 'tls';
      await within(once(socket, 'secureConnect'));
      found.tls = tlsOf(socket);
    }
    step = 'bind';
    line = openLine(socket, found, clock);
    line.link.sendBytes(encodeBind(`bind_${options.bind.type}`, 1, options.bind));
    const { status, command, ms } = await timed(line.answer(1));
    found.bindMs = ms;
    // A response of another command counts as a refusal without a status.
    found.status = status === 0 && !command.startsWith('bind_') ? commandStatus.ESME_RUNKNOWNERR : status;
    if (found.status !== 0) found.end = 'bind_refused';
    else {
      step = 'enquire';
      line.link.sendBare(commandId.enquire_link, 0, 2);
      found.enquireMs = (await timed(line.answer(2))).ms;
    }
  } catch (error) {
    found.end = endOf(step, error);
    found.error = { code: codeOf(error), text: messageOf(error) };
    found.tls ??= tlsRefused(error);
  }
  if (found.status === 0 && line !== null) {
    line.link.sendBare(commandId.unbind, 0, 3);
    await withDeadline('the answer to unbind', options.stepMs, line.answer(3), clock).catch((error: unknown) =>
      ignoring(error, 'the peer sent no unbind_resp and is disconnected all the same'),
    );
  }
  if (line !== null) line.link.end();
  else socket?.destroy();
  return found;
}

type Line = { readonly link: Link; readonly answer: (sequence: number) => Promise<Pdu> };

/** The open connection, and the responses awaited on it. */
function openLine(socket: Socket, found: Finding, clock: Clock): Line {
  const answers = new Map<number, (pdu: Pdu) => void>();
  const gone = Promise.withResolvers<never>();
  // There may be no waiter at the moment it ends.
  gone.promise.catch((error: unknown) => ignoring(error, 'the tried connection ended'));
  const onPdu = (pdu: Pdu): void => {
    if (pdu.command === 'enquire_link') return link.sendBare(commandId.enquire_link_resp, 0, pdu.sequence);
    if (pdu.command === 'deliver_sm' || pdu.command === 'data_sm') {
      found.deferred += 1;
      return link.sendMessageId(`${pdu.command}_resp`, commandStatus.ESME_RX_T_APPN, pdu.sequence, '');
    }
    if (pdu.command === 'unbind') return link.sendBare(commandId.unbind_resp, 0, pdu.sequence);
    answers.get(pdu.sequence)?.(pdu);
  };
  const link = new Link(
    socket,
    {
      onPdu,
      onBroken: (error) => gone.reject(new Gone(error.message, true)),
      onGone: (why) => gone.reject(new Gone(why, false)),
    },
    clock,
  );
  const answer = (sequence: number) =>
    Promise.race([new Promise<Pdu>((resolve) => answers.set(sequence, resolve)), gone.promise]);
  return { link, answer };
}

async function addressesOf(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function endOf(step: Step, error: unknown): ProbeEnd {
  const late = error instanceof DeadlineExceeded;
  switch (step) {
    case 'resolve':
      return 'no_such_name';
    case 'connect':
      if (late) return 'connection_timeout';
      return /ECONNREFUSED/.test(messageOf(error)) ? 'connection_refused' : 'no_connection';
    case 'tls':
      return late ? 'tls_timeout' : 'tls_failed';
    case 'bind':
      if (late) return 'no_answer_to_bind';
      return error instanceof Gone && error.broken ? 'not_smpp' : 'closed_before_answer';
    case 'enquire':
      return late ? 'no_answer_to_enquire_link' : 'closed_after_bind';
  }
}

function tlsOf(socket: Socket): TlsFound | null {
  if (!(socket instanceof TLSSocket)) return null;
  // Without a certificate the object is empty.
  const certificate: Partial<PeerCertificate> = socket.getPeerCertificate();
  const { subject, issuer, subjectaltname: names = '', valid_to: validTo = '' } = certificate;
  return { protocol: socket.getProtocol() ?? '', subject: nameIn(subject), issuer: nameIn(issuer), names, validTo };
}

/** The error about a certificate for another name contains that certificate. */
function tlsRefused(error: unknown): TlsFound | null {
  const names = (error as { cert?: { subjectaltname?: string } } | null)?.cert?.subjectaltname;
  return names === undefined ? null : { protocol: '', subject: '', issuer: '', names, validTo: '' };
}

function nameIn(of: { CN?: string | string[]; O?: string | string[] } | undefined): string {
  return [of?.CN ?? of?.O ?? ''].flat().join(', ');
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : error instanceof DeadlineExceeded ? 'timeout' : '';
}
