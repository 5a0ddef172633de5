// Sends one HTTP request to a webhook and says how it ended; never throws. undici, because it takes the connection from
// us (connect.ts), follows no redirect, knows no proxy variable, and costs half of node:http per request. Everything a
// hostile receiver can do ends at a bound: the headers' size, the octets of the body and of all that are read (bounded-client.ts),
// three deadlines.
import { type Dispatcher, Pool } from 'undici';
import { assert } from '../../../platform/assert.ts';
import { type Cancel, type Clock, systemClock } from '../../../platform/clock.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import type { TargetRules } from '../../../model/webhook-target.ts';
import { BoundedClient, type BoundedHandler } from './bounded-client.ts';
import { type Resolve, connectTo, nameServers } from './connect.ts';
import { ConnectFailed, type SendError, errorOfStatus } from './send-error.ts';

export type SendRequest = {
  /** Connections are an account's own: another one's endpoint on the same host may have all of its requests hanging. */
  readonly accountId: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** All of it ends within this; totalMs when it is absent. */
  readonly withinMs?: number | undefined;
};

export type SendResult = {
  /** Null: a 2xx. */
  readonly error: SendError | null;
  /** For people: what the socket or the parser said; '' without anything to say. */
  readonly detail: string;
  readonly status: number | null;
  /** Those of the response. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The first characters of the response's body. */
  readonly response: string;
  /** What a 429 or 503 asks for; null: nothing. */
  readonly retryAfterMs: number | null;
  readonly latencyMs: number;
};

type SenderOptions = {
  readonly rules: () => TargetRules;
  readonly resolve?: Resolve;
  readonly clock?: Clock;
};

const { delivery: bounds } = limits;

export class HttpSender {
  readonly #options: Required<SenderOptions>;
  /** Connections by account and origin. `lastUse`: the number of the sender's request that used them last. */
  readonly #pools = new Map<string, { readonly pool: Pool; lastUse: number }>();
  #requests = 0;

  constructor({ rules, resolve = nameServers(), clock = systemClock }: SenderOptions) {
    this.#options = { rules, resolve, clock };
  }

  /** POSTs a body. Ends within totalMs; `done` is called exactly once. Returns what ends it early. */
  send(request: SendRequest, done: (result: SendResult) => void): Cancel {
    const { url } = request;
    const exchange = new SendExchange(this.#options.clock, request.withinMs ?? bounds.totalMs, done);
    this.#poolOf(request.accountId, url).dispatch(
      {
        path: `${url.pathname}${url.search}`,
        method: 'POST',
        headers: request.headers,
        body: request.body,
      },
      exchange,
    );
    return () => exchange.finish('aborted', 'ended by the sender');
  }

  /** Ends every request and connection. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map(({ pool }) => pool.destroy()));
  }

  #poolOf(accountId: string, url: URL): Pool {
    const key = `${accountId} ${url.origin}`;
    this.#requests += 1;
    const known = this.#pools.get(key);
    if (known !== undefined) {
      known.lastUse = this.#requests;
      return known.pool;
    }
    const pool = this.#open(new URL(url.origin));
    this.#pools.set(key, { pool, lastUse: this.#requests });
    if (this.#pools.size > bounds.originsMax) this.#forgetLeastRecentlyUsed();
    return pool;
  }

  #open(origin: URL): Pool {
    return new Pool(origin, {
      factory: (_origin, options) => new BoundedClient(origin, options, () => connectTo(origin, this.#options)),
      // As many as the account has requests: its share bounds them, and none waits here while its deadline runs.
      connections: null,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: bounds.responseHeadBytesMax,
      headersTimeout: bounds.firstByteMs,
      bodyTimeout: bounds.totalMs,
      // Most servers close an idle connection after five seconds, and some do not say so.
      keepAliveTimeout: bounds.idleConnectionMs,
      keepAliveMaxTimeout: bounds.connectionMs,
      clientTtl: bounds.connectionMs,
    });
  }

  /** Searches all of them when an origin is added: keeping a Map in the order of use fills V8's old generation (decision 242). */
  #forgetLeastRecentlyUsed(): void {
    const [first, ...others] = this.#pools;
    assert(first !== undefined, 'there are more connections than may be');
    const [key, { pool }] = others.reduce((least, each) => (each[1].lastUse < least[1].lastUse ? each : least), first);
    this.#pools.delete(key);
    // Its requests end first.
    pool.close().catch((error: unknown) => ignoring(error, 'connections to a webhook were closed already'));
  }
}

/** One request from its dispatch to its result. */
class SendExchange implements BoundedHandler {
  readonly #done: (result: SendResult) => void;
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  readonly #cancelDeadline: Cancel;
  #connection: BoundedClient | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #status: number | null = null;
  #headers: SendResult['headers'] = {};
  #retryAfterMs: number | null = null;
  #body = '';
  #octets = 0;
  #isTooLong = false;
  #isOver = false;

  constructor(clock: Clock, withinMs: number, done: (result: SendResult) => void) {
    this.#clock = clock;
    this.#done = done;
    this.#startedAtMs = clock.monotonicMs();
    this.#cancelDeadline = clock.after(withinMs, () => this.finish('timeout', `no status in ${withinMs} ms`));
  }

  usesConnection(connection: BoundedClient): void {
    this.#connection = connection;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) return controller.abort(over);
    this.#connection?.begin(() => {
      this.#isTooLong = true;
      this.finish('protocol_error', `the response was not over after ${bounds.responseOctetsMax} octets`);
    });
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: SendResult['headers']): void {
    if (status < 200) return; // 1xx; endless ones end at the deadline, or with the octets of a response
    this.#status = status;
    this.#headers = headers;
    const { 'retry-after': retryAfter } = headers;
    if (typeof retryAfter === 'string') this.#retryAfterMs = retryAfterMs(retryAfter, this.#clock.nowMs());
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#octets += chunk.length;
    const left = bounds.responseKeptChars - this.#body.length;
    if (left > 0) this.#body += chunk.toString('utf8', 0, left);
    // The status has decided already: what is left of a long body is not read.
    if (this.#octets > bounds.responseBodyBytesMax) this.finish(null, '');
  }

  onResponseEnd(): void {
    this.finish(null, '');
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (error instanceof ConnectFailed) return this.finish(error.error, error.message);
    const { code } = error as { code?: string };
    // The body broke off, but the receiver had said how it went.
    if (this.#status !== null) return this.finish(null, '');
    if (code === 'UND_ERR_HEADERS_TIMEOUT') return this.finish('timeout', `no response in ${bounds.firstByteMs} ms`);
    this.finish('protocol_error', messageOf(error));
  }

  /** Ends the request. A status that has arrived counts, but a response that is too long is no success. */
  finish(error: SendError | null, detail: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelDeadline();
    const status = this.#status;
    const isDecided = status !== null && !this.#isTooLong;
    this.#done({
      error: (status === null ? null : errorOfStatus(status)) ?? (isDecided ? null : (error ?? 'protocol_error')),
      detail: isDecided ? '' : detail,
      status,
      headers: this.#headers,
      response: this.#body,
      retryAfterMs: this.#retryAfterMs,
      latencyMs: this.#clock.monotonicMs() - this.#startedAtMs,
    });
    // Closes the connection of a response that has not ended; of one that has, nothing.
    this.#controller?.abort(over);
  }
}

const over = new Error('the request is over');

/** Seconds or a date (RFC 9110, 10.2.3); null when it is neither: `Date.parse` would find a date in 1.5 as well. */
export function retryAfterMs(text: string, nowMs: number): number | null {
  const isSeconds = /^\d{1,9}$/.test(text);
  if (!isSeconds && !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(text)) return null;
  // The form of asctime has no zone, and means GMT.
  const ms = isSeconds ? Number(text) * 1_000 : Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`) - nowMs;
  return Number.isFinite(ms) ? Math.min(bounds.retryAfterMsMax, Math.max(0, ms)) : null;
}
