// Clients that violate HTTP or overload the server (fault 45): each gets a 4xx or a closed connection, while another
// client's permanent requests are answered as usual.
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { type Harness, type Ingress, type Tenant, goodBody, openHarness, post } from './harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
const bystander = { stopped: false, answered: 0, failed: [] as string[], slowestMs: 0, done: Promise.resolve() };

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress();
  bystander.done = (async () => {
    while (!bystander.stopped) {
      const startedMs = systemClock.monotonicMs();
      const status = await post(ingress, tenant.live, goodBody).then(
        (answer) => answer.status,
        (error: unknown) => String(error),
      );
      if (status === 202) bystander.answered += 1;
      else bystander.failed.push(String(status));
      bystander.slowestMs = Math.max(bystander.slowestMs, systemClock.monotonicMs() - startedMs);
      await systemClock.sleep(10);
    }
  })();
});
afterAll(async () => {
  bystander.stopped = true;
  await bystander.done;
  await harness.stop();
  expect(bystander.failed).toEqual([]);
  expect(bystander.answered).toBeGreaterThan(100);
  expect(bystander.slowestMs).toBeLessThan(atOnceMs);
});

/** Before any request's deadline, and with room for a stall of the machine. */
const atOnceMs = limits.http.bodyMs - 3_000;

type RawAnswer = { text: string; closedAfterMs: number };

/** Writes the pieces on one connection and returns what came back until it was closed or `answers` had begun. */
function raw(pieces: readonly (string | Buffer)[], { answers = Number.POSITIVE_INFINITY } = {}): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const startedMs = systemClock.monotonicMs();
    let text = '';
    const socket = connect(ingress.port, '127.0.0.1');
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.split('HTTP/1.1 ').length > answers) socket.destroy();
    });
    socket.on('error', (error) => ignoring(error, 'the server cut a hostile connection'));
    socket.on('close', () => resolve({ text, closedAfterMs: systemClock.monotonicMs() - startedMs }));
    for (const piece of pieces) socket.write(piece);
  });
}

const head = (extra: string[] = []) =>
  [
    'POST /v1/sms HTTP/1.1',
    'host: here',
    `authorization: Bearer ${tenant.live}`,
    'content-type: application/json',
    ...extra,
    '',
    '',
  ].join('\r\n');
const body = JSON.stringify(goodBody);
/** host, authorization, content-type */
const ownHeaders = 3;
const manyHeaders = (count: number) => Array.from({ length: count }, (_, at) => `x-${at}: y`);

describe('headers', () => {
  test.each([
    ['101 headers', () => head(manyHeaders(101)), 431],
    ['16 KB of headers', () => head([`x-big: ${'z'.repeat(limits.http.headerBytesMax)}`]), 431],
    ['one header too many', () => head(manyHeaders(limits.http.headersMax - ownHeaders + 1)), 431],
    ['a header of 64 KB', () => head([`x-big: ${'z'.repeat(65_536)}`]), 431],
    ['garbage', () => '\u0000\u0001\u0002\r\n\r\n', 505],
    ['HTTP/1.0', () => 'GET /health/live HTTP/1.0\r\nhost: here\r\n\r\n', 505],
    ['no host', () => 'GET /health/live HTTP/1.1\r\n\r\n', 400],
    ['a length and chunks at once', () => head(['content-length: 5', 'transfer-encoding: chunked']), 400],
    ['two hosts', () => 'GET /health/live HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n', 400],
    ['a length that is no number', () => head(['content-length: five']), 400],
  ])('%s: refused and closed at once', async (_name, request, status) => {
    const { text, closedAfterMs } = await raw([request()]);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(closedAfterMs).toBeLessThan(atOnceMs);
  });

  test.each([
    ['/v1/sms', 'two lengths', 2, 40],
    ['/v1/sms', 'the same length twice', 2, 2],
    ['/v1/senders', 'two lengths, for the control role', 2, 40],
  ])('%s with %s: the connection is cut, and what comes after it is not read', async (path, _name, first, second) => {
    const lengths = [`content-length: ${first}`, `content-length: ${second}`];
    const smuggled = 'GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n';
    const { text, closedAfterMs } = await raw([`${head(lengths).replace('/v1/sms', path)}{}${smuggled}`]);
    expect(text).toBe('');
    expect(closedAfterMs).toBeLessThan(atOnceMs);
  });

  test('as many headers as are allowed, and one of 8 KB, are accepted', async () => {
    const request = head([
      ...manyHeaders(limits.http.headersMax - ownHeaders - 2),
      `x-big: ${'z'.repeat(8_000)}`,
      `content-length: ${body.length}`,
    ]);
    expect((await raw([request, body], { answers: 1 })).text).toMatch(/^HTTP\/1.1 202 /);
  });
});

describe('bodies', () => {
  test('a length above the cap is refused before the body comes, and the connection closed', async () => {
    const { text, closedAfterMs } = await raw([head([`content-length: ${limits.http.bodyBytesMax + 1}`])]);
    expect(text).toMatch(/^HTTP\/1.1 413 /);
    expect(text).toContain('body_too_large');
    expect(closedAfterMs).toBeLessThan(atOnceMs);
  });

  test('chunks without a length are cut off at the cap', async () => {
    const piece = `8000\r\n${'x'.repeat(0x8000)}\r\n`;
    const { text } = await raw([head(['transfer-encoding: chunked']), ...Array.from({ length: 12 }, () => piece)]);
    expect(text).toMatch(/^HTTP\/1.1 413 /);
  });

  test('a body in many pieces is one body', async () => {
    const pieces = [...body].map((each) => `1\r\n${each}\r\n`);
    const request = [head(['transfer-encoding: chunked']), ...pieces, '0\r\n\r\n'];
    expect((await raw(request, { answers: 1 })).text).toMatch(/^HTTP\/1.1 202 /);
  });

  test('a client that disconnects mid-body leaves nothing behind', async () => {
    const before = await openRequests();
    for (let at = 0; at < 50; at += 1) {
      const socket = connect(ingress.port, '127.0.0.1');
      socket.on('error', (error) => ignoring(error, 'aborted on purpose'));
      socket.write(head(['content-length: 1000']) + body, () => socket.resetAndDestroy());
    }
    await until('the aborted requests to be forgotten', async () => (await openRequests()) <= before + 1);
  });

  test('a body that never comes is given up with 408', async () => {
    const { text, closedAfterMs } = await raw([head(['content-length: 100']), 'abc']);
    expect(text).toMatch(/^HTTP\/1.1 408 /);
    expect(closedAfterMs).toBeLessThan(limits.http.bodyMs + 5_000);
  });

  test('a slow body is given up as well, and headers that never end are cut off', async () => {
    const socket = connect(ingress.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', (error) => ignoring(error, 'the server cut a hostile connection'));
    socket.write(head(['content-length: 1000']));
    const stop = systemClock.every(500, () => socket.write('x'));
    const headers = raw(['POST /v1/sms HTTP/1.1\r\nhost: here\r\n']);
    await until('the answer', () => text.startsWith('HTTP/1.1 408 '), { limitMs: 12_000 });
    stop();
    socket.destroy();
    expect((await headers).closedAfterMs).toBeLessThan(18_000);
  });
});

test('pipelined requests are answered in order or the connection is closed, never mixed up', async () => {
  const live = 'GET /health/live HTTP/1.1\r\nhost: here\r\n\r\n';
  const { text: sync } = await raw([live + live + live], { answers: 3 });
  expect(sync.match(/HTTP\/1.1 200 OK/g)).toHaveLength(3);

  const request = head([`content-length: ${body.length}`]) + body;
  const { text } = await raw([request + request + request], { answers: 3 });
  expect((text.match(/HTTP\/1.1 202 /g) ?? []).length).toBeLessThanOrEqual(3);
});

test('a write whose connection a pipelined request closed may have happened: its Idempotency-Key makes the repeat safe', async () => {
  // In a queue of their own: the other client has many by now, and each is read.
  const written = () => harness.count('MT_OTP');
  const own = JSON.stringify({ ...goodBody, category: 'otp' });
  const request = (key: string) => head([`idempotency-key: ${key}`, `content-length: ${own.length}`]) + own;
  expect((await raw([request('first') + request('second')])).text).toBe('');
  await until('the write of the first', async () => (await written()) === 1);

  const headers = { 'idempotency-key': 'first' };
  const again = await until('its answer', async () => {
    const answer = await post(ingress, tenant.live, own, headers);
    return answer.status === 202 ? answer : null;
  });
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect((await post(ingress, tenant.live, own, { 'idempotency-key': 'second' })).status).toBe(202);
  expect(await written()).toBe(2);
});

test.each(['BREW', 'TRACE', 'CONNECT'])('the method %s, which nothing here has, is answered so', async (method) => {
  const { text } = await raw([`${method} /v1/account HTTP/1.1\r\nhost: here\r\n\r\n`], { answers: 1 });
  expect(text).toMatch(/^HTTP\/1.1 405 /);
  expect(text).toContain('\r\nallow: GET, HEAD, POST, PATCH, DELETE\r\n');
  expect(text).toContain('"code":"method_not_allowed"');
});

test('a path of 10 KB and an invalid path are answered', async () => {
  expect((await raw([`GET /${'a'.repeat(10_000)} HTTP/1.1\r\nhost: here\r\n\r\n`], { answers: 1 })).text).toMatch(
    /^HTTP/,
  );
  expect((await raw(['GET /v1/%ff%00 HTTP/1.1\r\nhost: here\r\n\r\n'], { answers: 1 })).text).toMatch(/^HTTP/);
});

async function openRequests(): Promise<number> {
  const { metrics } = await ingress.ask();
  const found = metrics.flat().find((metric) => metric.name === 'heliograph_http_requests_in_flight');
  return Number((found?.values[0] as { value?: number } | undefined)?.value ?? 0);
}
