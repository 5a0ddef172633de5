// The ingress passes every route that is not its own to the port of the control role, and the answer back. The control
// role here is a bare HTTP server, because the subject is the forwarding and not the routes.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { type Harness, type Ingress, type Tenant, openHarness } from './harness.ts';

type Answer = (req: IncomingMessage, res: ServerResponse, body: string) => void;

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
/** With a key: without one the ingress answers itself. */
const asked = (path: string, init: RequestInit = {}) =>
  fetch(ingress.url(path), { ...init, headers: { authorization: `Bearer ${tenant.live}`, ...init.headers } });
let server: Server;
let port: number;
let answer: Answer;

function listen(onPort: number): Server {
  return createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('error', (error) => ignoring(error, 'the ingress gave the request up'));
    req.on('end', () => answer(req, res, Buffer.concat(chunks).toString()));
  }).listen(onPort, '127.0.0.1');
}

beforeAll(async () => {
  server = listen(0);
  await once(server, 'listening');
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress({ HELIOGRAPH_CONTROL_PORT: String(port) });
});
beforeEach(() => {
  answer = (_req, res) => void res.end('{}');
});
afterEach(() => server.closeAllConnections());
afterAll(async () => {
  server.close();
  await harness.stop();
});

test('method, path, query, headers and body arrive, hop-by-hop headers do not, and the request id is passed on', async () => {
  let seen: unknown;
  answer = (req, res, body) => {
    seen = [req.method, req.url, req.headers['authorization'], req.headers['x-request-id'], req.headers['te'], body];
    res
      .writeHead(201, { 'content-type': 'application/json', location: '/x', 'set-cookie': ['a=1', 'b=2'] })
      .end('{"a":1}');
  };
  const response = await asked('/v1/api-keys?limit=2&x=%20', {
    method: 'POST',
    headers: { 'x-request-id': 'mine', te: 'trailers' },
    body: '{"name":"ü"}',
  });
  expect(seen).toEqual([
    'POST',
    '/v1/api-keys?limit=2&x=%20',
    `Bearer ${tenant.live}`,
    'mine',
    undefined,
    '{"name":"ü"}',
  ]);
  expect(response.status).toBe(201);
  expect(await response.text()).toBe('{"a":1}');
  expect(response.headers.get('location')).toBe('/x');
  expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  expect(response.headers.get('x-request-id')).toBe('mine');
});

test('of a repeated header the first arrives, and the address is ours, not what the client wrote', async () => {
  let seen: unknown;
  answer = (req, res) => {
    seen = [req.headers['x-thing'], req.headers['x-forwarded-for']];
    res.end('{}');
  };
  const lines = [
    'GET /v1/account HTTP/1.1',
    'host: x',
    `authorization: Bearer ${tenant.live}`,
    'x-thing: one',
    'x-thing: two',
  ];
  const socket = connect(ingress.port, '127.0.0.1');
  socket.write(`${[...lines, 'x-forwarded-for: 203.0.113.9', 'connection: close'].join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  socket.destroy();
  expect(seen).toEqual(['one', '127.0.0.1']);
});

test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])(
  '%s on a hot path that is not hot is forwarded',
  async (method) => {
    let seen = '';
    answer = (req, res) => {
      seen = req.method ?? '';
      res.writeHead(405, { allow: 'GET', 'content-length': '2' }).end(method === 'HEAD' ? undefined : '{}');
    };
    const response = await asked(method === 'GET' || method === 'HEAD' ? '/docs' : '/v1/sms', { method });
    expect([response.status, response.headers.get('allow'), seen]).toEqual([405, 'GET', method]);
  },
);

test('a body of 256 KiB is forwarded, one byte more is refused here', async () => {
  answer = (_req, res, body) => void res.end(String(body.length));
  const send = (bytes: number) => asked('/v1/senders', { method: 'POST', body: 'x'.repeat(bytes) });
  expect(await (await send(limits.http.bodyBytesMax)).text()).toBe(String(limits.http.bodyBytesMax));
  expect((await send(limits.http.bodyBytesMax + 1)).status).toBe(413);
});

test('an answer of 20 MB arrives whole, also at a client that reads slowly', async () => {
  const part = Buffer.alloc(1_000_000, 'y');
  answer = (_req, res) => {
    for (let at = 0; at < 20; at += 1) res.write(part);
    res.end();
  };
  const fast = await (await fetch(ingress.url('/openapi.json'))).arrayBuffer();
  expect(fast.byteLength).toBe(20_000_000);

  const socket = connect(ingress.port, '127.0.0.1');
  let bytes = 0;
  let paused = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (paused < 5) {
      paused += 1;
      socket.pause();
      setImmediate(() => socket.resume());
    }
  });
  socket.write('GET /openapi.json HTTP/1.1\r\nhost: here\r\n\r\n');
  await until('the whole answer', () => bytes > 20_000_000);
  socket.destroy();
});

test('a client that disconnects ends the forwarded request', async () => {
  let state = 'nothing came';
  answer = (_req, res) => {
    state = 'asked';
    res.on('close', () => (state = 'ended'));
  };
  const controller = new AbortController();
  const given = asked('/v1/account', { signal: controller.signal }).catch((error: unknown) => String(error));
  await until('the request', () => state === 'asked');
  controller.abort();
  await given;
  await until('its end', () => state === 'ended');
});

test('an answer that the control role cuts off is cut off here, not completed', async () => {
  answer = (_req, res) => {
    res.writeHead(200, { 'content-length': '1000' });
    res.write('half', () => res.destroy());
  };
  await expect(asked('/v1/account').then((response) => response.text())).rejects.toThrow();
});

test('a control role that is down is reported as such, and found again within a second of its return', async () => {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  const away = await asked('/v1/account');
  expect([away.status, ((await away.json()) as { code: string }).code]).toEqual([503, 'control_plane_unavailable']);
  expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0);
  server = listen(port);
  await once(server, 'listening');
  expect((await asked('/v1/account')).status).toBe(200);
});

test('a control role that hangs costs its caller 10 s and no other client anything', async () => {
  answer = () => {};
  const hanging = asked('/v1/account');
  expect((await fetch(ingress.url('/health/live'))).status).toBe(200);
  const response = await hanging;
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
    503,
    'control_plane_unavailable',
  ]);
});
