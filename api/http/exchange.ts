// One request and its one answer. It exists because of four rules of uWebSockets.js: onAborted is registered
// before anything else, `req` is dead after the handler returned, an answer after an await is corked, and a
// response that was aborted or answered must never be touched again (that would kill the process).
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { type Problem, problemBody, problemContentType } from '../problem.ts';
import { requestIdOf } from '../request-id.ts';
import { countAborted, countAnswered } from './exchange-metrics.ts';
import { type HeaderTimes, headerTimes } from './header-times.ts';

export type Headers = readonly (readonly [name: string, value: string])[];

/** What the exchanges of one thread share. */
export type Door = {
  /** Requests that have no answer yet; swept for those whose body never comes. */
  readonly open: Set<Exchange>;
  /** While it drains, every answer closes its connection and new requests get 503. */
  draining: boolean;
};

const statusTexts: Record<number, string> = {
  200: '200 OK',
  202: '202 Accepted',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  408: '408 Request Timeout',
  409: '409 Conflict',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
};

export class Exchange {
  readonly res: HttpResponse;
  readonly route: string;
  readonly requestId: string;
  readonly startedMs: number;
  readonly times: HeaderTimes;
  /** The body is still coming: such a request may be given up. */
  receiving = false;
  #state: 'open' | 'streaming' | 'answered' | 'aborted' = 'open';
  readonly #door: Door;
  readonly #clock: Clock;
  readonly #isHead: boolean;
  #onAborted: (() => void) | null = null;
  #carried: Headers = [];

  constructor(door: Door, route: string, res: HttpResponse, req: HttpRequest, clock: Clock = systemClock) {
    res.onAborted(() => this.#abort());
    this.res = res;
    this.route = route;
    this.#door = door;
    this.#clock = clock;
    this.#isHead = !route.startsWith('POST') && req.getMethod() === 'head';
    this.startedMs = clock.monotonicMs();
    this.requestId = requestIdOf(req.getHeader('x-request-id'));
    this.times = headerTimes(req);
    door.open.add(this);
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get elapsedMs(): number {
    return this.#clock.monotonicMs() - this.startedMs;
  }

  /** Headers that go out with the answer, whatever it will be. */
  carry(headers: Headers): void {
    if (headers.length > 0) this.#carried = [...this.#carried, ...headers];
  }

  get carried(): Headers {
    return this.#carried;
  }

  /** For work that should end with the request, such as a forwarded one. */
  whenAborted(run: () => void): void {
    this.#onAborted = run;
  }

  json(status: number, body: string, headers: Headers = []): void {
    this.#answer(status, 'application/json', body, headers, false);
  }

  /** `close`: the rest of the request is not wanted, so the connection cannot be used again. */
  refuse(problem: Problem, headers: Headers = [], close = false): void {
    const extra: Headers = [...headers, ...problemHeaders(problem)];
    this.#answer(problem.status, problemContentType, problemBody(problem, this.requestId), extra, close);
  }

  /** Begins an answer that is written piece by piece with `write`. False when there is nobody to answer. */
  stream(status: number): boolean {
    if (this.#state !== 'open') return false;
    this.#state = 'streaming';
    countAnswered(this.route, status, this.elapsedMs);
    return true;
  }

  /** One piece of a streamed answer, corked; nothing when the client went away. `last` ends the exchange. */
  write(piece: () => void, last = false): void {
    if (this.#state !== 'streaming') return;
    if (last) this.#leave('answered');
    this.res.cork(piece);
  }

  /** Cuts the connection without an answer, and reads nothing more of it. */
  cut(): void {
    if (this.#state !== 'open') return;
    countAborted(this.route);
    this.#leave('aborted');
    this.res.close();
  }

  /** Cuts the connection: a streamed answer cannot be completed. */
  breakOff(): void {
    if (this.#state !== 'streaming') return;
    this.#leave('answered');
    this.res.close();
  }

  #answer(status: number, contentType: string, body: string, headers: Headers, close: boolean): void {
    if (this.#state !== 'open') return;
    this.#leave('answered');
    const { res } = this;
    res.cork(() => {
      res.writeStatus(statusTexts[status] ?? String(status));
      res.writeHeader('content-type', contentType);
      res.writeHeader('x-request-id', this.requestId);
      for (const [name, value] of this.#carried) res.writeHeader(name, value);
      for (const [name, value] of headers) res.writeHeader(name, value);
      if (this.#isHead) return endHead(res, String(Buffer.byteLength(body)));
      if (close || this.#door.draining) res.writeHeader('connection', 'close').end(body, true);
      else res.end(body);
    });
    countAnswered(this.route, status, this.elapsedMs);
  }

  #abort(): void {
    if (this.#state === 'open') countAborted(this.route);
    this.#leave('aborted');
    this.#onAborted?.();
  }

  #leave(state: 'answered' | 'aborted'): void {
    this.#state = state;
    this.receiving = false;
    this.#door.open.delete(this);
  }
}

/**
 * The end of an answer to HEAD, which has no body (RFC 9110 section 9.3.2): its octets would be read as the next answer.
 * uWebSockets.js closes the connection at the next request when it is given the length itself (20.51, measured).
 */
export function endHead(res: HttpResponse, length: string | undefined): void {
  if (length !== undefined) res.writeHeader('content-length', length);
  res.endWithoutBody();
}

function problemHeaders(problem: Problem): Headers {
  const headers: [string, string][] = [];
  if (problem.retryAfterS !== null) headers.push(['retry-after', String(problem.retryAfterS)]);
  if (problem.status === 401) headers.push(['www-authenticate', 'Bearer']);
  return headers;
}
