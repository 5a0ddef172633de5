// One request and its answer, by four rules of uWebSockets.js: onAborted is registered first; `req` is not used after
// the handler returned; an answer after an await is corked; a response that was aborted or answered is never touched
// again (that would end the process). All code of a request runs in `answerThrown`.
import { STATUS_CODES } from 'node:http';
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { type Clock, nextTurn, systemClock } from '../../platform/clock.ts';
import type { SharedBound, Use } from '../../platform/shared-bound.ts';
import { type Problem, problem, problemBody, problemContentType, problemHeaders } from '../problem.ts';
import { requestIdOf } from '../request-headers.ts';
import { countAnswered } from './exchange-metrics.ts';
import { refuseTaken } from './places.ts';
import { messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';

export type Headers = readonly (readonly [name: string, value: string])[];

/** State that the exchanges of one thread share. */
export type HttpServer = {
  /** Requests without an answer; swept for bodies that come too slowly. */
  readonly open: Set<Exchange>;
  /** While it drains, every answer closes its connection and new requests get 503. */
  draining: boolean;
};

/** The status line as uWebSockets.js takes it: `202 Accepted`. */
const statusTexts: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([status, text]) => [status, `${status} ${text}`]),
);

type Held = { readonly bound: SharedBound; readonly account: string; readonly use: Use };

export class Exchange {
  readonly res: HttpResponse;
  readonly route: string;
  readonly requestId: string;
  readonly startedMs: number;
  readonly headerCounts: ReturnType<typeof headerCountsOf>;
  /** True while the body is arriving: a slow request may be given up. */
  receiving = false;
  /** Octets of the body so far. */
  received = 0;
  /** Close the connection with the answer, unless streamed: what follows cannot be trusted as a request. */
  closes = false;
  #state: 'open' | 'deferred' | 'streaming' | 'answered' | 'aborted' = 'open';
  readonly #httpServer: HttpServer;
  readonly #clock: Clock;
  readonly #isHead: boolean;
  #onAborted: (() => void) | null = null;
  #held: readonly Held[] = [];
  #addedHeaders: Headers = [];

  constructor(httpServer: HttpServer, route: string, res: HttpResponse, req: HttpRequest, clock: Clock = systemClock) {
    res.onAborted(() => this.#abort());
    this.res = res;
    this.route = route;
    this.#httpServer = httpServer;
    this.#clock = clock;
    this.#isHead = !route.startsWith('POST') && req.getMethod() === 'head';
    this.startedMs = clock.monotonicMs();
    this.requestId = requestIdOf(req.getHeader('x-request-id'));
    this.headerCounts = headerCountsOf(req);
    httpServer.open.add(this);
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get elapsedMs(): number {
    return this.#clock.monotonicMs() - this.startedMs;
  }

  /** Headers for any answer; a later value replaces an earlier one. */
  addHeaders(headers: Headers): void {
    if (headers.length === 0) return;
    const others = this.#addedHeaders.filter(([name]) => !headers.some(([again]) => again === name));
    this.#addedHeaders = [...others, ...headers];
  }

  get addedHeaders(): Headers {
    return this.#addedHeaders;
  }

  /** Takes a slot of the account until the exchange ends, or returns why there is none. */
  hold(bound: SharedBound, account: string, use: Use = 'ordinary'): Problem | null {
    const refusal = refuseTaken(bound, bound.take(account, use));
    if (refusal === null) this.#held = [...this.#held, { bound, account, use }];
    return refusal;
  }

  /** Gives a slot back before the exchange ends. */
  release(bound: SharedBound): void {
    for (const held of this.#held) if (held.bound === bound) bound.giveBack(held.account, held.use);
    this.#held = this.#held.filter((held) => held.bound !== bound);
  }

  /** Runs when the client disconnects, to end work such as a forwarded request. */
  whenAborted(run: () => void): void {
    this.#onAborted = run;
  }

  json(status: number, body: string, headers: Headers = []): void {
    this.#answer(status, 'application/json', body, headers, false);
  }

  /** An answer for a person. */
  text(status: number, body: string, headers: Headers): void {
    this.#answer(status, 'text/plain; charset=utf-8', body, headers, false);
  }

  /** `close`: the rest of the request stays unread, so the connection cannot be reused. */
  refuse(problem: Problem, headers: Headers = [], close = false): void {
    const extra: Headers = [...headers, ...problemHeaders(problem)];
    // Without authentication the body is not read; it must not be parsed as the next request either.
    const isUnread = problem.status === 401 && this.headerCounts.hasBody;
    this.#answer(problem.status, problemContentType, problemBody(problem, this.requestId), extra, close || isUnread);
  }

  /** Begins an answer written in pieces with `write`. False when the client has disconnected. */
  stream(status: number): boolean {
    if (this.#state !== 'open') return false;
    this.#state = 'streaming';
    countAnswered(this.route, status, this.elapsedMs);
    return true;
  }

  /** Writes one piece of a streamed answer, corked; nothing after a disconnect. `last` ends the exchange. */
  write(piece: () => void, last = false): void {
    if (this.#state !== 'streaming') return;
    if (last) this.#leave('answered');
    this.res.cork(piece);
  }

  /** Closes the connection without an answer and without reading more. */
  abort(): void {
    if (this.#state !== 'open') return;
    metrics.httpAborted.inc({ route: this.route });
    this.#leave('aborted');
    this.res.close();
  }

  /** Closes the connection of a streamed answer that cannot be completed. */
  destroy(): void {
    if (this.#state !== 'streaming') return;
    this.#leave('answered');
    this.res.close();
  }

  #answer(status: number, contentType: string, body: string, headers: Headers, close: boolean): void {
    if (this.#state !== 'open' && this.#state !== 'deferred') return;
    if (this.closes && this.#state === 'open') {
      // Pipelined data behind this request would be answered before the connection closes. While this request is
      // unanswered, uWebSockets.js closes the connection instead.
      this.#state = 'deferred';
      return void nextTurn().then(() => this.#answer(status, contentType, body, headers, close));
    }
    this.#leave('answered');
    const { res } = this;
    res.cork(() => {
      res.writeStatus(statusTexts[status] ?? String(status));
      res.writeHeader('content-type', contentType);
      res.writeHeader('x-request-id', this.requestId);
      // No cache may keep what one key can read, and no browser may guess another type.
      res.writeHeader('cache-control', 'no-store');
      res.writeHeader('x-content-type-options', 'nosniff');
      for (const [name, value] of this.#addedHeaders) res.writeHeader(name, value);
      for (const [name, value] of headers) res.writeHeader(name, value);
      if (this.#isHead) return endHead(res, String(Buffer.byteLength(body)));
      // With `true`, uWebSockets.js writes `Connection: close`.
      res.end(body, close || this.closes || this.#httpServer.draining);
    });
    countAnswered(this.route, status, this.elapsedMs);
  }

  #abort(): void {
    if (this.#state === 'open' || this.#state === 'deferred') metrics.httpAborted.inc({ route: this.route });
    this.#leave('aborted');
    this.#onAborted?.();
  }

  #leave(state: 'answered' | 'aborted'): void {
    this.#state = state;
    this.receiving = false;
    this.#httpServer.open.delete(this);
    const held = this.#held;
    this.#held = [];
    for (const { bound, account, use } of held) bound.giveBack(account, use);
  }
}

/**
 * Ends an answer to HEAD, which has no body (RFC 9110 section 9.3.2). The length is a plain header: given as a number,
 * uWebSockets.js 20.51 closes the connection at the next request (measured).
 */
export function endHead(res: HttpResponse, length: string | undefined): void {
  if (length !== undefined) res.writeHeader('content-length', length);
  res.endWithoutBody();
}

/**
 * Counts headers that must not repeat. Of two, uWebSockets.js uses the first, while a proxy or the client may mean the
 * last: two Content-Lengths allow request smuggling (RFC 9112 section 6.3), two API keys may belong to two accounts.
 * One pass over the headers, because every request pays for it.
 */
function headerCountsOf(req: HttpRequest) {
  // A non-ASCII Idempotency-Key reads as empty but counts. A body has a Content-Length or is chunked.
  const headerCounts = { contentLength: 0, authorization: 0, idempotencyKey: 0, hasBody: false };
  req.forEach((name, value) => {
    if (name === 'content-length') {
      headerCounts.contentLength += 1;
      if (value !== '0') headerCounts.hasBody = true;
    } else if (name === 'transfer-encoding') headerCounts.hasBody = true;
    else if (name === 'authorization') headerCounts.authorization += 1;
    else if (name === 'idempotency-key') headerCounts.idempotencyKey += 1;
  });
  return headerCounts;
}

export type AnswerThrown = (exchange: Exchange, run: () => void | Promise<void>) => void;

/**
 * Catches what a handler throws: answers 500 and logs the cause. Uncaught, it would end the process, because the thread
 * listens with uWebSockets.js.
 */
export const answerThrown: AnswerThrown = (exchange, run) => {
  try {
    const running = run();
    if (running !== undefined) running.catch((error: unknown) => answerFailed(exchange, error));
  } catch (error) {
    answerFailed(exchange, error);
  }
};

function answerFailed(exchange: Exchange, error: unknown): void {
  const { route, requestId } = exchange;
  const stack = error instanceof Error ? error.stack : undefined;
  log.error({ alarm: 'request_failed', route, requestId, error: messageOf(error), stack }, 'a request failed');
  try {
    exchange.refuse(problem(500, 'internal_error', 'an error inside Heliograph; its log has the cause'));
  } catch (again) {
    log.error({ requestId, error: messageOf(again) }, 'a failed request could not be answered');
  }
}
