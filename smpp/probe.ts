// Tries one bind and reports the result of each step: name, connection, TLS, bind, enquire_link, unbind. It submits
// nothing and takes no message: it answers deliveries with a temporary error, so that the carrier keeps them.
import { lookup } from 'node:dns/promises';
import { type Socket, isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type Clock, systemClock } from '../platform/clock.ts';
import { DeadlineExceeded, withDeadline } from '../platform/deadline.ts';
import { ignoring, messageOf } from '../platform/errors.ts';
import { encodeBind } from './codec.ts';
import { commandStatus } from './command-status.ts';
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

/** The connection ended, on either side. */
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
  let line: Line | null = null;
  const within = <T>(work: Promise<T>) => withDeadline(step, options.stepMs, work, clock);
  try {
    found.addresses = await within(addressesOf(options.host));
    step = 'connect';
    const opened = new Line(options, found, clock);
    line = opened;
    await within(opened.tcp);
    if (options.tls) step = 'tls';
    await within(opened.ready);
    found.tls = tlsOf(opened.socket);
    step = 'bind';
    const { type } = options.bind;
    const sentAtMs = clock.monotonicMs();
    opened.link.sendBytes(encodeBind(`bind_${type}`, 1, options.bind));
    const answer = await within(opened.answer(1));
    found.bindMs = Math.round(clock.monotonicMs() - sentAtMs);
    // A response of another command counts as a refusal without a status.
    found.status =
      answer.status === 0 && !answer.command.startsWith('bind_') ? commandStatus.ESME_RUNKNOWNERR : answer.status;
    if (found.status !== 0) found.end = 'bind_refused';
    else {
      step = 'enquire';
      const askedAtMs = clock.monotonicMs();
      opened.link.sendBare(commandId.enquire_link, 0, 2);
      await within(opened.answer(2));
      found.enquireMs = Math.round(clock.monotonicMs() - askedAtMs);
    }
  } catch (error) {
    found.end = endOf(step, error);
    found.error = line?.error ?? { code: codeOf(error), text: messageOf(error) };
  }
  if (found.status === 0 && line !== null) await line.unbind(options.stepMs);
  line?.close();
  return found;
}

/** One connection and the responses awaited on it. */
class Line {
  readonly socket: Socket;
  readonly link: Link;
  readonly tcp: Promise<void>;
  readonly ready: Promise<void>;
  error: ProbeFound['error'] = null;
  readonly #clock: Clock;
  readonly #gone = Promise.withResolvers<never>();
  readonly #answers = new Map<number, (pdu: Pdu) => void>();

  constructor(options: ProbeOptions, found: Finding, clock: Clock) {
    this.#clock = clock;
    // There may be no waiter at the moment it ends.
    this.#gone.promise.catch((error: unknown) => ignoring(error, 'the tried connection ended'));
    const ready = Promise.withResolvers<void>();
    const tcp = Promise.withResolvers<void>();
    this.socket = connectSocket(options, () => ready.resolve());
    this.socket.once('connect', () => tcp.resolve());
    this.socket.on('error', (error: NodeJS.ErrnoException) => {
      this.error = { code: codeOf(error), text: error.message };
      namesShown(error, found);
    });
    this.link = new Link(
      this.socket,
      {
        onPdu: (pdu) => this.#onPdu(pdu, found),
        onBroken: (error) => {
          this.error ??= { code: 'not_smpp', text: error.message };
          this.#gone.reject(new Gone(error.message, true));
        },
        onGone: (why) => this.#gone.reject(new Gone(why, false)),
      },
      clock,
    );
    this.tcp = Promise.race([tcp.promise, this.#gone.promise]);
    this.ready = Promise.race([ready.promise, this.#gone.promise]);
    // Awaited after `tcp`, and may reject before that.
    this.ready.catch((error: unknown) => ignoring(error, 'the tried connection ended before it was ready'));
  }

  answer(sequence: number): Promise<Pdu> {
    const answer = new Promise<Pdu>((resolve) => this.#answers.set(sequence, resolve));
    return Promise.race([answer, this.#gone.promise]);
  }

  /** Unbinds; a peer without unbind_resp is disconnected all the same. */
  async unbind(limitMs: number): Promise<void> {
    this.link.sendBare(commandId.unbind, 0, unbindSequence);
    await withDeadline('the answer to unbind', limitMs, this.answer(unbindSequence), this.#clock).catch(
      (error: unknown) => ignoring(error, 'the peer sent no unbind_resp'),
    );
  }

  close(): void {
    this.link.end();
  }

  #onPdu(pdu: Pdu, found: Finding): void {
    if (pdu.command === 'enquire_link') return this.link.sendBare(commandId.enquire_link_resp, 0, pdu.sequence);
    if (pdu.command === 'deliver_sm' || pdu.command === 'data_sm') {
      found.deferred += 1;
      const response = pdu.command === 'data_sm' ? 'data_sm_resp' : 'deliver_sm_resp';
      return this.link.sendMessageId(response, commandStatus.ESME_RX_T_APPN, pdu.sequence, '');
    }
    if (pdu.command === 'unbind') return this.link.sendBare(commandId.unbind_resp, 0, pdu.sequence);
    this.#answers.get(pdu.sequence)?.(pdu);
  }
}

const unbindSequence = 3;

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
  const { subject, issuer, subjectaltname, valid_to: validTo } = socket.getPeerCertificate();
  return {
    protocol: socket.getProtocol() ?? '',
    subject: nameIn(subject),
    issuer: nameIn(issuer),
    names: subjectaltname ?? '',
    validTo: validTo ?? '',
  };
}

/** The error about a certificate for another name contains that certificate. */
function namesShown(error: NodeJS.ErrnoException & { cert?: { subjectaltname?: string } }, found: Finding): void {
  const names = error.cert?.subjectaltname;
  if (names !== undefined) found.tls = { protocol: '', subject: '', issuer: '', names, validTo: '' };
}

function nameIn(of: { CN?: string | string[]; O?: string | string[] } | undefined): string {
  return [of?.CN ?? of?.O ?? ''].flat().join(', ');
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : error instanceof DeadlineExceeded ? 'timeout' : '';
}
