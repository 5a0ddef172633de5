// One SMPP session as a client (ESME): connect, bind, submit within the window, respond to deliveries, keep alive,
// unbind. Its hot path is synchronous: no promise and no timer per PDU. It never queues: it refuses a submit that is
// not possible now, and onWindowOpen reports when one is. It never reconnects; bind-keeper.ts does.
import type { Socket } from 'node:net';
import type { Clock, Cancel } from '../platform/clock.ts';
import { assert } from '../platform/assert.ts';
import { ignoring } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { encodeBind, encodeCancel, encodeQuery } from './codec.ts';
import { commandStatus, nameOfStatus } from '../model/command-status.ts';
import { connectSocket } from './connect.ts';
import { Link } from './link.ts';
import {
  type CancelFields,
  commandId,
  type MessageIdPdu,
  type Pdu,
  type QueryFields,
  type QueryRespPdu,
  type ShortMessage,
  type ShortMessagePdu,
} from './pdu.ts';
import { type CancelDone, type QueryAnswer, type QueryDone, RequestWindow } from './request-window.ts';
import { receiptStateOf } from './receipt.ts';
import { refusePdu } from './refusal.ts';
import type { CloseCause, SessionHandlers, SessionOptions } from './session-contract.ts';
import { become, canTransmit, isBound, mayReceive, type SessionState } from './state.ts';
import { Window } from './window.ts';

/** Starts to connect and bind; all results come through the handlers, never before this returns. */
export function openSession<T>(options: SessionOptions, handlers: SessionHandlers<T>): Session<T> {
  return new Session(options, handlers);
}

export class Session<T> {
  readonly #options: SessionOptions;
  readonly #handlers: SessionHandlers<T>;
  readonly #clock: Clock;
  readonly #window: Window<T>;
  readonly #queries: RequestWindow<Extract<QueryAnswer, { ok: true }>>;
  readonly #cancels: RequestWindow<unknown>;
  readonly #keepalive: Keepalive;
  readonly #link: Link;
  readonly #timers: Cancel[] = [];
  #cancelTimer: Cancel;
  #state: SessionState = 'connecting';
  #bindSequence = 0;
  #timeoutsInARow = 0;
  #wantsWindow = false;
  #draining = false;
  #closed: Promise<void> | undefined;
  #onClosed: (() => void) | undefined;
  #closeWhy = '';

  constructor(options: SessionOptions, handlers: SessionHandlers<T>) {
    this.#options = options;
    this.#handlers = handlers;
    this.#clock = options.clock;
    this.#window = new Window(options.windowPdusMax, options.responseTimerMs);
    this.#queries = new RequestWindow(limits.smpp.queriesMax, options.responseTimerMs);
    this.#cancels = new RequestWindow(limits.smpp.cancelsMax, options.responseTimerMs);
    this.#keepalive = new Keepalive(options.enquireLinkMs);
    const socket = connectSocket(options, () => this.#onConnected());
    this.#link = new Link(
      socket,
      {
        onPdu: (pdu) => this.#onPdu(pdu),
        onBatchEnd: () => this.#offerWindow(),
        onWritable: () => this.#offerWindow(),
        onBroken: (error) => this.#finish({ kind: 'protocol', why: error.message }),
        onGone: (why) => this.#finish({ kind: this.#state === 'connecting' ? 'connect_failed' : 'peer_closed', why }),
      },
      options.clock,
      options.mayWrite === undefined ? undefined : (to, bytes) => this.#writeIfAllowed(to, bytes),
      options.tap,
    );
    const connectTimerMs = options.connectTimerMs ?? limits.smpp.connectTimerMs;
    this.#cancelTimer = this.#clock.after(connectTimerMs, () =>
      this.#finish({ kind: 'connect_failed', why: `no connection within ${connectTimerMs} ms` }),
    );
  }

  get state(): SessionState {
    return this.#state;
  }

  get windowFree(): number {
    return this.#draining || !canTransmit(this.#state) ? 0 : this.#window.free;
  }

  get windowUsed(): number {
    return this.#window.size;
  }

  /**
   * Sends a submit_sm. False when it is not possible now: not bound to transmit, no permission to write, window full,
   * or too much unread by the peer; only in the last two cases onWindowOpen follows. A sent token comes back exactly
   * once: with the response, the timeout, or the close.
   */
  submit(message: ShortMessage, token: T): boolean {
    if (this.#draining || !canTransmit(this.#state) || this.#options.mayWrite?.() === false) return false;
    if (this.#window.free === 0 || !this.#link.writable) {
      this.#wantsWindow = true;
      return false;
    }
    const sequence = this.#window.take(token, this.#clock.monotonicMs());
    assert(sequence > 0, 'the window had room a moment ago');
    this.#link.sendShortMessage('submit_sm', sequence, message);
    return true;
  }

  /**
   * Sends a query_sm about a submitted message. False when it is not possible now: not bound to transmit, or too many
   * queries pending. Otherwise `done` is called exactly once, never before this returns.
   */
  query(fields: QueryFields, done: QueryDone): boolean {
    if (this.#draining || !canTransmit(this.#state) || this.#queries.free === 0 || !this.#link.writable) return false;
    const sequence = this.#window.nextSequence();
    this.#queries.add(sequence, done, this.#clock.monotonicMs());
    this.#link.sendBytes(encodeQuery(sequence, fields));
    return true;
  }

  /**
   * Sends a cancel_sm about a submitted message, as `query` does. Not while the window is full: a carrier that counts it
   * in its window would refuse the next submit.
   */
  cancel(fields: CancelFields, done: CancelDone): boolean {
    if (this.windowFree === 0 || this.#cancels.free === 0 || !this.#link.writable) return false;
    const sequence = this.#window.nextSequence();
    this.#cancels.add(sequence, done, this.#clock.monotonicMs());
    this.#link.sendBytes(encodeCancel(sequence, fields));
    return true;
  }

  /** Ends the session at once without unbind and resets the connection: buffered octets must not be sent. */
  cut(why: string): void {
    this.#finish({ kind: 'fenced', why });
  }

  /** Takes no more submits, waits up to `drainMs` for responses, unbinds and closes. Resolves when closed. */
  close(why: string, drainMs: number): Promise<void> {
    if (this.#closed) return this.#closed;
    if (this.#state === 'closed') return Promise.resolve();
    this.#closed = new Promise((resolve) => (this.#onClosed = resolve));
    this.#closeWhy = why;
    if (!isBound(this.#state)) {
      if (this.#state !== 'unbinding') this.#finish({ kind: 'asked', why });
      return this.#closed;
    }
    this.#draining = true;
    if (this.#window.size === 0) this.#unbind();
    else this.#cancelTimer = this.#clock.after(drainMs, () => this.#unbind());
    return this.#closed;
  }

  #onConnected(): void {
    if (this.#state !== 'connecting') return;
    this.#cancelTimer();
    const { bind } = this.#options;
    this.#options.tap?.opened(this.#link.ends);
    const bindTimerMs = this.#options.bindTimerMs ?? limits.smpp.bindTimerMs;
    this.#become('open', 'connected');
    this.#become('binding', 'bind sent');
    this.#bindSequence = this.#window.nextSequence();
    this.#link.sendBytes(encodeBind(`bind_${bind.type}`, this.#bindSequence, bind));
    this.#cancelTimer = this.#clock.after(bindTimerMs, () =>
      this.#finish({ kind: 'bind_timeout', why: `no answer to the bind within ${bindTimerMs} ms` }),
    );
  }

  #onPdu(pdu: Pdu): void {
    if (!mayReceive('esme', this.#state, pdu.command)) return refusePdu(this.#link, pdu);
    switch (pdu.command) {
      case 'submit_sm_resp':
        return this.#onSubmitResponse(pdu.sequence, pdu.status, pdu.messageId);
      case 'deliver_sm':
      case 'data_sm':
        return this.#onDeliver(pdu);
      case 'query_sm_resp':
        return this.#onQueryResponse(pdu);
      case 'cancel_sm_resp':
        return void this.#cancels.settle(pdu.sequence, pdu.status === 0 ? { ok: true } : refusedWith(pdu.status));
      case 'generic_nack':
        return this.#onNack(pdu.sequence, pdu.status);
      case 'enquire_link':
        return this.#link.sendBare(commandId.enquire_link_resp, 0, pdu.sequence);
      case 'enquire_link_resp':
        return this.#keepalive.answered();
      case 'bind_transmitter_resp':
      case 'bind_receiver_resp':
      case 'bind_transceiver_resp':
        return this.#onBindResponse(pdu.status);
      case 'unbind':
        this.#link.sendBare(commandId.unbind_resp, 0, pdu.sequence);
        return this.#finish({ kind: 'peer_unbind', why: 'the peer sent unbind' });
      case 'unbind_resp':
        return this.#finish({ kind: 'asked', why: this.#closeWhy });
    }
  }

  #onBindResponse(status: number): void {
    this.#cancelTimer();
    if (status !== 0)
      return this.#finish({ kind: 'bind_refused', status, why: `the bind was refused with ${nameOfStatus(status)}` });
    const states = { transmitter: 'bound_tx', receiver: 'bound_rx', transceiver: 'bound_trx' } as const;
    this.#become(states[this.#options.bind.type], 'bind accepted');
    const sweepMs = Math.min(500, Math.max(5, this.#options.responseTimerMs / 10));
    this.#timers.push(
      this.#clock.every(sweepMs, () => this.#sweep()),
      this.#clock.every(this.#options.enquireLinkMs, () => this.#tickKeepalive()),
    );
    this.#handlers.onBound();
  }

  #onSubmitResponse(sequence: number, status: number, carrierMessageId: string): void {
    const entry = this.#window.settle(sequence);
    if (!entry) {
      const late = this.#window.settleLate(sequence);
      if (late === undefined) return ignoring(undefined, 'a response nobody waits for');
      return this.#handlers.onLateResponse?.(late, { status, carrierMessageId });
    }
    this.#timeoutsInARow = 0;
    this.#handlers.onSubmitResponse(entry.token, { status, carrierMessageId });
    if (this.#draining && this.#window.size === 0) this.#unbind();
  }

  #onNack(sequence: number, status: number): void {
    const error = status === 0 ? commandStatus.ESME_RUNKNOWNERR : status;
    if (this.#state === 'binding' && sequence === this.#bindSequence) return this.#onBindResponse(error);
    if (this.#queries.settle(sequence, refusedWith(error))) return;
    if (this.#cancels.settle(sequence, refusedWith(error))) return;
    this.#onSubmitResponse(sequence, error, '');
  }

  #onQueryResponse(pdu: QueryRespPdu): void {
    const { sequence, status, messageState, errorCode } = pdu;
    if (status !== 0) return void this.#queries.settle(sequence, refusedWith(status));
    this.#queries.settle(sequence, { ok: true, state: receiptStateOf(messageState), errorCode });
  }

  #onDeliver(pdu: ShortMessagePdu): void {
    const command: MessageIdPdu['command'] = pdu.command === 'data_sm' ? 'data_sm_resp' : 'deliver_sm_resp';
    const { sequence } = pdu;
    this.#handlers.onDeliver(pdu, (status) => this.#link.sendMessageId(command, status, sequence, ''));
  }

  #sweep(): void {
    this.#queries.expire(this.#clock.monotonicMs());
    this.#cancels.expire(this.#clock.monotonicMs());
    this.#window.expire(this.#clock.monotonicMs(), (token) => {
      this.#timeoutsInARow += 1;
      this.#handlers.onSubmitTimeout(token);
    });
    if (this.#timeoutsInARow >= limits.smpp.responseTimeoutsInARowMax) {
      return this.#finish({ kind: 'response_timeouts', why: `${this.#timeoutsInARow} submits in a row unanswered` });
    }
    if (this.#draining && this.#window.size === 0) this.#unbind();
    this.#offerWindow();
  }

  #tickKeepalive(): void {
    const verdict = this.#keepalive.tick(this.#clock.monotonicMs());
    if (verdict === 'dead') return this.#finish({ kind: 'keepalive', why: 'enquire_link was not answered' });
    if (verdict === 'ask') this.#link.sendBare(commandId.enquire_link, 0, this.#window.nextSequence());
  }

  #offerWindow(): void {
    if (!this.#wantsWindow || this.windowFree === 0 || !this.#link.writable) return;
    this.#wantsWindow = false;
    this.#handlers.onWindowOpen();
  }

  #unbind(): void {
    if (!isBound(this.#state)) return;
    this.#cancelTimer();
    this.#become('unbinding', this.#closeWhy);
    this.#link.sendBare(commandId.unbind, 0, this.#window.nextSequence());
    this.#cancelTimer = this.#clock.after(unbindTimerMs, () => this.#finish({ kind: 'asked', why: this.#closeWhy }));
  }

  #finish(cause: CloseCause): void {
    if (this.#state === 'closed') return;
    this.#become('closed', cause.why);
    this.#cancelTimer();
    for (const cancel of this.#timers) cancel();
    // An unresponsive peer would never read the rest of the output.
    const unresponsive =
      cause.kind === 'keepalive' || cause.kind === 'response_timeouts' || cause.kind === 'connect_failed';
    if (cause.kind === 'fenced') this.#link.reset();
    else if (unresponsive) this.#link.destroy();
    else this.#link.end();
    this.#options.tap?.closed(`${cause.kind}: ${cause.why}`, cause.kind.startsWith('peer_') ? 'peer' : 'us');
    this.#queries.failAll();
    this.#cancels.failAll();
    this.#handlers.onClosed(cause, this.#window.failAll());
    this.#onClosed?.();
  }

  /** The last check before the system has the octets: the event loop may have stalled since the submit. */
  #writeIfAllowed(to: Socket, bytes: Buffer): void {
    if (this.#options.mayWrite?.() === false) return this.cut('it may not write any more');
    to.write(bytes);
  }

  #become(next: SessionState, why: string): void {
    this.#state = become(this.#state, next, why);
  }
}

const unbindTimerMs = 1_000;
const refusedWith = (status: number) => ({ ok: false, why: 'refused', status }) as const;

/**
 * Decides about enquire_link (SMPP 3.4, 4.11): one is sent every interval, and a peer that has not answered it when the
 * next is due is dead. So a dead peer is detected within two intervals. It does no I/O.
 */
export class Keepalive {
  readonly #intervalMs: number;
  #unanswered = false;
  #lastTickMs = Number.NaN;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Call it every interval. */
  tick(nowMs: number): 'ask' | 'wait' | 'dead' {
    // Our own event loop was blocked: the response may be unread in the socket. Wait one more interval.
    const stalled = nowMs - this.#lastTickMs > this.#intervalMs * 1.5;
    this.#lastTickMs = nowMs;
    if (this.#unanswered) return stalled ? 'wait' : 'dead';
    this.#unanswered = true;
    return 'ask';
  }

  answered(): void {
    this.#unanswered = false;
  }
}
