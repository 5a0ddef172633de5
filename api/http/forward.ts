// Forwards every route that is not hot to the control role on loopback, over kept-alive connections, and streams the
// answer back with backpressure, a large one in slices of bulk work (slice-turns.ts). It knows only which routes are
// public; for all others it authenticates. Body size, requests at a time (with a share per account), the time to an answer and
// its pauses are bounded, so that a control role that hangs does not slow the hot routes.
import { Agent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import type { HttpRequest } from 'uWebSockets.js';
import { formatIp } from '../../platform/ip-address.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { problem } from '../problem.ts';
import { type AccessParts, admitForwarded } from './access.ts';
import { type Exchange, endHead, type AnswerThrown } from './exchange.ts';
import { readBody } from './read-body.ts';
import type { SliceTurns } from './slice-turns.ts';
import { readKey } from './write-request.ts';

/** Proves that the ingress has checked networks, rates and the client's address. */
export const ingressSecretHeader = 'x-heliograph-ingress';

export type Forwarder = ReturnType<typeof forwarder>;

/** Hop-by-hop headers (RFC 9110 section 7.6.1), and those that each side sets itself. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'expect',
  'host',
  'x-request-id',
]);

/** Where the control role listens, and the secret that distinguishes our requests from others on this machine. */
export type ControlPlace = { readonly controlPort: number; readonly controlSecret: string };

export function forwarder(
  { controlPort, controlSecret }: ControlPlace,
  access: AccessParts,
  answerThrown: AnswerThrown,
  turns: Pick<SliceTurns, 'next'>,
  clock: Clock = systemClock,
) {
  // The request slots bound the connections.
  const agent = new Agent({ keepAlive: true, timeout: 60_000 });

  function send(exchange: Exchange, method: string, path: string, headers: Record<string, string>, body: Buffer): void {
    const outgoing = httpRequest({ host: '127.0.0.1', port: controlPort, agent, method, path, headers });
    const endAfter = (ms: number) =>
      clock.after(ms, () => outgoing.destroy(new Error('the control role or the client was too slow')));
    let cancel = endAfter(limits.http.forwardMs);
    outgoing.on('close', () => cancel());
    outgoing.on('error', (error) => {
      ignoring(error, 'a forwarded request failed');
      answerThrown(exchange, () => refuseAway(exchange));
    });
    outgoing.on('response', (incoming) => {
      // An export may take an hour: the time begins again with each chunk.
      const goesOn = () => {
        cancel();
        cancel = endAfter(limits.http.forwardStalledMs);
      };
      goesOn();
      answerThrown(exchange, () => answerWith(exchange, incoming, method, turns));
      incoming.on('data', goesOn);
    });
    exchange.whenAborted(() => outgoing.destroy());
    finish(outgoing, body);
  }

  return {
    forward(exchange: Exchange, req: HttpRequest): void {
      // The control role cannot see the client's address: networks and rates are checked here.
      const method = req.getCaseSensitiveMethod().toUpperCase();
      // Node.js servers reject some methods; a known path answers PUT and OPTIONS with its own methods.
      if (!passedOn.has(method)) return exchange.refuse(unknownMethod, allowed);
      const isPage = (method === 'GET' || method === 'HEAD') && isPagePath(req.getUrl());
      const address = access.addressOf(exchange.res, req);
      const shown = address === null ? 'unknown' : formatIp(address);
      const authenticated = isPage ? null : admitForwarded(access, exchange, req);
      if (authenticated?.ok === false) return exchange.refuse(authenticated.problem);
      // Only one of two would be forwarded.
      if (exchange.headerCounts.idempotencyKey > 1) {
        const key = readKey(exchange, req);
        if (typeof key !== 'string') return exchange.refuse(key);
      }
      if (controlPort === 0) return refuseAway(exchange);
      const account = authenticated?.principal.account.accountId ?? shown;
      const crowded = exchange.hold(isPage ? access.places.pages : access.places.forwards, account);
      if (crowded !== null) return exchange.refuse(crowded);
      const query = req.getQuery() ?? '';
      const path = escaped(query === '' ? req.getUrl() : `${req.getUrl()}?${query}`);
      const headers = headersOf(req, exchange.requestId);
      // A client's own value was dropped above.
      headers[ingressSecretHeader] = controlSecret;
      headers['x-forwarded-for'] = shown;
      // A page takes no body: it is not read.
      if (isPage) return send(exchange, method, path, headers, noBody);
      readBody(exchange, req.getHeader('content-length'), access.places.bodies, { account }, (body) => {
        answerThrown(exchange, () => send(exchange, method, path, headers, Buffer.from(body)));
      });
    },
    close: () => agent.destroy(),
  };
}

/** Public pages: the OpenAPI document, its reader and the list of errors. */
function isPagePath(path: string): boolean {
  return path === '/openapi.json' || path === '/docs' || path === '/docs/errors' || path.startsWith('/docs/assets/');
}

const noBody = Buffer.alloc(0);

function finish(outgoing: ClientRequest, body: Buffer): void {
  if (body.length === 0) return void outgoing.end();
  outgoing.setHeader('content-length', body.length);
  outgoing.end(body);
}

function headersOf(req: HttpRequest, requestId: string): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  headers['x-request-id'] = requestId;
  const host = req.getHeader('host');
  if (host !== '') headers['x-forwarded-host'] = octetsOf(host);
  req.forEach((name, value) => {
    if (hopByHop.has(name) || name.startsWith('x-forwarded-')) return;
    // The first value of a repeated header, as the gates here read it.
    headers[name] ??= octetsOf(value);
  });
  return headers;
}

/** Escapes the octets that a URL must not contain, as client libraries would. */
function escaped(path: string): string {
  return path.replaceAll(/[^\x21-\x7e]+/g, (odd) => encodeURIComponent(odd.toWellFormed()));
}

/** Header octets: uWebSockets.js decodes them as UTF-8, node:http writes latin1 and throws at illegal characters. */
function octetsOf(value: string): string {
  if (plainHeader.test(value)) return value;
  return Buffer.from(value, 'utf8')
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?');
}

const plainHeader = /^[\t\x20-\x7e]*$/;

function answerWith(
  exchange: Exchange,
  incoming: IncomingMessage,
  method: string,
  turns: Pick<SliceTurns, 'next'>,
): void {
  const { res } = exchange;
  const status = incoming.statusCode ?? 502;
  incoming.on('error', (error) => {
    ignoring(error, 'the control role closed the connection before the end of an answer');
    exchange.destroy();
  });
  if (!exchange.stream(status)) return void incoming.resume();
  exchange.write(() => {
    res.writeStatus(`${status} ${incoming.statusMessage ?? ''}`.trim());
    res.writeHeader('x-request-id', exchange.requestId);
    for (const [name, value] of exchange.addedHeaders) res.writeHeader(name, value);
    for (const [name, value] of Object.entries(incoming.headers)) {
      if (hopByHop.has(name) || name === 'date' || value === undefined) continue;
      for (const each of Array.isArray(value) ? value : [value]) res.writeHeader(name, each);
    }
  });
  const length = incoming.headers['content-length'];
  if (method === 'HEAD' || status === 204 || status === 304) {
    incoming.resume();
    return exchange.write(() => endHead(res, length), true);
  }
  let octets = 0;
  // A chunk waits for its slice: `end` must not overtake it, and fires although the stream is paused.
  let isWaiting = false;
  let hasEnded = false;
  const end = () => exchange.write(() => void res.end(), true);
  const goOn = () => {
    if (!isWaiting) incoming.resume();
  };
  const pass = (chunk: Buffer) =>
    exchange.write(() => {
      if (res.write(chunk)) return goOn();
      incoming.pause();
      res.onWritable(() => {
        goOn();
        return true;
      });
    });
  incoming.on('data', (chunk: Buffer) => {
    octets += chunk.length;
    if (octets <= limits.http.forwardedAtOnceBytes) return pass(chunk);
    isWaiting = true;
    incoming.pause();
    void turns.next().then(() => {
      isWaiting = false;
      pass(chunk);
      if (hasEnded) end();
    });
  });
  incoming.on('end', () => {
    hasEnded = true;
    if (!isWaiting) end();
  });
}

const passedOn: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const unknownMethod = problem(405, 'method_not_allowed', 'no route has this method');
const allowed = [['allow', 'GET, HEAD, POST, PATCH, DELETE']] as const;

function refuseAway(exchange: Exchange): void {
  exchange.refuse(
    problem(503, 'control_plane_unavailable', 'the management API does not answer; messages are still sent', 2),
  );
}
