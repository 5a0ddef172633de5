// Requests of which only half arrives (fault 56): one without a key is refused at its headers, one of an account takes
// places of that account's share, and an account that sends OTPs meanwhile is affected by neither.
import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isTooSlow } from '../../../api/http/read-body.ts';
import { systemClock } from '../../../platform/clock.ts';
import { within } from '../../support/running-clock.ts';
import { until } from '../../support/until.ts';
import { sharedBounds } from '../../../platform/limits-shares.ts';
import { limits } from '../../../platform/limits.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from './harness.ts';
import { type RawClient, rawClient, requestHead, statusOf } from './raw-client.ts';
import { type Victim, startVictim } from './victim.ts';

let harness: Harness;
let ingress: Ingress;
let hostile: Tenant;
let other: Tenant;
let control: Server;
let victim: Victim;
let clients: RawClient[] = [];

beforeAll(async () => {
  // A control role that answers what it has received whole; a page is larger than the buffers of a connection.
  const page = Buffer.alloc(8_000_000, 'x');
  control = createServer((req, res) => {
    req.resume();
    req.on('end', () => res.end(req.url === '/docs' ? page : '{}'));
  }).listen(0, '127.0.0.1');
  await once(control, 'listening');
  const address = control.address();
  harness = await openHarness();
  hostile = await harness.tenant();
  other = await harness.tenant();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  ingress = await harness.ingress({ HELIOGRAPH_CONTROL_PORT: String(port) });
});
afterAll(async () => {
  control.closeAllConnections();
  control.close();
  await harness.stop();
});
beforeEach(() => {
  clients = [];
  victim = startVictim(ingress, other.live);
});
afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  const { accepted, others } = await victim.stop();
  expect(others).toEqual([]);
  expect(accepted).toBe(victim.sent);
});

const open = (count: number, head: string, ...rest: string[]) => {
  const opened = Array.from({ length: count }, () => rawClient(ingress.port, head + rest.join('')));
  clients.push(...opened);
  return opened;
};
const bearer = (token: string) => `authorization: Bearer ${token}`;
const json = 'content-type: application/json';
const half = ['content-length: 100', ''];
const statuses = (of: readonly RawClient[]) => {
  const counts: Record<string, number> = {};
  for (const client of of) counts[String(statusOf(client))] = (counts[String(statusOf(client))] ?? 0) + 1;
  return counts;
};
/** All have an answer, or none more will come before bodies are given up. */
const answered = (of: readonly RawClient[], count: number) =>
  until('the refusals', () => of.filter((each) => statusOf(each) !== null).length >= count, within(7_000));
const someOtp = () => {
  const before = victim.sent;
  return until('more of the victim', () => victim.sent > before + 25);
};

describe.each([
  ['nobody', () => []],
  ['a key that does not exist', () => [bearer(`hk_live_${'a'.repeat(50)}`)]],
])('1,100 half-sent requests of %s', (_name, headers) => {
  test.each(['/x', '/v1/api-keys', '/v1/sms', '/v1/sms/batch', '/docs'])(
    'POST %s: 401 at the headers, and the connection is closed',
    async (path) => {
      const foreigners = open(1_100, requestHead('POST', path, [...headers(), json, half[0] ?? '']), 'x');
      await answered(foreigners, foreigners.length);
      expect(statuses(foreigners)).toEqual({ 401: 1_100 });
      await until('all closed', () => foreigners.every(({ isClosed }) => isClosed));
      await someOtp();
    },
  );
});

describe('of an account', () => {
  test.each([
    ['/v1/sms', sharedBounds.bodies_received.perAccountUrgent],
    ['/v1/sms/batch', sharedBounds.bodies_received.perAccount],
    ['/v1/senders', sharedBounds.requests_forwarded.perAccount],
  ])(
    'half-sent POST %s: %i wait for their bodies, the next is answered 429 and closed; another account is served',
    async (path, share = 0) => {
      // As many octets as keep a body from being given up as too slow for bodyMs.
      const begun = '{'.padEnd((limits.http.bodyMs * limits.http.bodyBytesPerS) / 1_000);
      const own = [bearer(hostile.live), json, `content-length: ${begun.length + 100}`];
      const waiting = open(share, requestHead('POST', path, own), begun);
      await until('they wait', async () => (await usedOf('bodies_received')) >= share);
      const more = open(50, requestHead('POST', path, own), '{');
      await answered(more, more.length);
      expect(statuses(more)).toEqual({ 429: 50 });
      expect(more[0]?.text).toMatch(/"code":"account_busy"/);
      expect(more[0]?.text).toMatch(/\r\nretry-after: 1\r\n/);
      expect(statuses(waiting)).toEqual({ null: share });
      expect((await call(ingress, 'POST', '/v1/senders', other.live, {})).status).toBe(200);
      expect((await post(ingress, other.live, goodBody)).status).toBe(202);
      // What was given up, or disconnected, frees its place.
      for (const { socket } of waiting) socket.destroy();
      await until('the places are free', async () => (await usedOf('bodies_received')) === 0);
      const body = path === '/v1/sms/batch' ? { messages: [goodBody] } : goodBody;
      expect((await call(ingress, 'POST', path, hostile.live, body)).status).toBeLessThan(300);
    },
  );

  test('its single messages are accepted beside its own half-sent batches', async () => {
    const own = [bearer(hostile.live), json, 'content-length: 100'];
    const share = sharedBounds.bodies_received.perAccount;
    open(share, requestHead('POST', '/v1/sms/batch', own), '{');
    await until('they wait', async () => (await usedOf('bodies_received')) >= share);
    expect((await post(ingress, hostile.live, goodBody)).status).toBe(202);
  });
});

describe('a body that drips', () => {
  test.each([
    [limits.http.bodyGraceMs - 1, 0, false],
    [limits.http.bodyGraceMs, (limits.http.bodyGraceMs * limits.http.bodyBytesPerS) / 1_000, false],
    [limits.http.bodyGraceMs, (limits.http.bodyGraceMs * limits.http.bodyBytesPerS) / 1_000 - 1, true],
    [limits.http.bodyMs - 1, 200_000, false],
    [limits.http.bodyMs, 200_000, true],
  ])('after %i ms with %i octets: given up %s', (elapsedMs, received, expected) => {
    expect(isTooSlow(elapsedMs, received)).toBe(expected);
  });

  test('is given up long before the deadline of a whole body', async () => {
    const own = [bearer(hostile.live), json, 'content-length: 1000'];
    const startedMs = systemClock.monotonicMs();
    const [client] = open(1, requestHead('POST', '/v1/sms', own)) as [RawClient];
    const stop = systemClock.every(200, () => client.socket.write('x'));
    await until('the answer', () => statusOf(client) !== null, { limitMs: limits.http.bodyMs });
    stop();
    expect(statusOf(client)).toBe(408);
    expect(systemClock.monotonicMs() - startedMs).toBeLessThan(limits.http.bodyMs - 500);
  });
});

test('clients that do not read pages hold no place of the management API, and of pages only their address’s share', async () => {
  const { perAccount } = sharedBounds.pages_read;
  const readers = open(perAccount, requestHead('GET', '/docs'));
  for (const { socket } of readers) socket.pause();
  await until('no client reads them', async () => (await usedOf('pages_read')) === perAccount);
  const more = open(20, requestHead('GET', '/docs'));
  await answered(more, more.length);
  expect(statuses(more)).toEqual({ 429: 20 });
  expect((await call(ingress, 'GET', '/v1/account', other.live)).status).toBe(200);
  for (const { socket } of readers) socket.destroy();
  await until('the places are free', async () => (await usedOf('pages_read')) === 0);
  expect((await fetch(ingress.url('/docs'))).status).toBe(200);
});

describe('behind a header without a name, which hides what follows it', () => {
  test('a key is not seen, by either reader', async () => {
    const [client] = open(1, requestHead('GET', '/v1/account', [': x', bearer(hostile.live)])) as [RawClient];
    await answered([client], 1);
    expect(statusOf(client)).toBe(401);
  });

  test('a body with a hidden length is no second request: the connection ends with the answer to the first', async () => {
    const smuggled = 'GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n';
    for (const path of ['/v1/sms', '/v1/senders']) {
      const hidden = [bearer(hostile.live), json, ': x', `content-length: ${smuggled.length}`];
      const [client] = open(1, requestHead('POST', path, hidden) + smuggled) as [RawClient];
      await until('its end', () => client.isClosed);
      expect(client.text.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThanOrEqual(1);
      expect(client.text).not.toContain('{"status":"ok"}');
    }
  });
});

async function usedOf(bound: string): Promise<number> {
  const { metrics } = await ingress.ask();
  const found = metrics.flat().filter(({ name }) => name === 'heliograph_shared_bound_used');
  const values = found.flatMap((each) => each.values as { value: number; labels: Record<string, string> }[]);
  return values.filter(({ labels }) => labels['bound'] === bound).reduce((sum, { value }) => sum + value, 0);
}
