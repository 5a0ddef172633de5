// The catch-all of the ingress: a route that throws, at once, later or while it reads a body, costs its own request
// a 500 and nothing else. Without it the thread and with it the process would be gone.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientAddress } from '../../../api/http/client-address.ts';
import { openHttpServer } from '../../../api/http/http-server.ts';
import { SliceTurns } from '../../../api/http/slice-turns.ts';
import { forwarder } from '../../../api/http/forward.ts';
import { type HttpServer, answerThrown } from '../../../api/http/exchange.ts';
import { placesOf } from '../../../api/http/places.ts';
import { RateLimits } from '../../../acceptance/principal-limits.ts';
import { newRateMemory } from '../../../platform/rate-table.ts';
import { readBody } from '../../../api/http/read-body.ts';
import { Tenants } from '../../../directory/tenants.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { log } from '../../../platform/log.ts';

const access = {
  directory: { authenticate: (token: string | undefined) => new Tenants().authenticate(token, 0) },
  addressOf: clientAddress({ trustedProxies: [], proxyHeader: 'x-forwarded-for' }),
  rates: new RateLimits(newRateMemory(64)),
  places: placesOf(defaultShares),
  used: { note: () => {} },
};
let httpServer: Awaited<ReturnType<typeof openHttpServer>>;
const state: HttpServer = { open: new Set(), draining: false };
const level = log.level;

beforeAll(async () => {
  log.level = 'silent'; // these failures are intended
  const routes = {
    sendSms: () => {
      throw new Error('at once');
    },
    listSms: (exchange) => answerThrown(exchange, () => Promise.reject(new Error('later'))),
    getSms: (exchange) => exchange.json(200, '{}'),
    sendBatch: (exchange) => exchange.json(200, '{}'),
    cancelSms: (exchange) => exchange.json(200, '{}'),
    startOtp: (exchange) => exchange.json(200, '{}'),
    verifyOtp: (exchange) => exchange.json(200, '{}'),
    resendOtp: (exchange) => exchange.json(200, '{}'),
    cancelOtp: (exchange) => exchange.json(200, '{}'),
    getOtp: (exchange) => exchange.json(200, '{}'),
    redirect: (exchange) => exchange.json(200, '{}'),
    live: (exchange) => exchange.json(200, '{}'),
    ready: (exchange) =>
      readBody(exchange, '', access.places.bodies, { account: 'a' }, () =>
        answerThrown(exchange, () => {
          throw new Error('while reading');
        }),
      ),
    forwarder: forwarder({ controlPort: 0, controlSecret: '' }, access, answerThrown, new SliceTurns()),
  } satisfies Parameters<typeof openHttpServer>[1];
  httpServer = await openHttpServer(state, routes, { host: '127.0.0.1', port: 0, shared: false }, answerThrown);
});
afterAll(async () => {
  log.level = level;
  await httpServer.stopTaking(1_000);
  httpServer.close();
});

test.each([
  ['at once', 'POST', '/v1/sms'],
  ['later', 'GET', '/v1/sms'],
  ['while it reads the body', 'GET', '/health/ready'],
])('a route that throws %s answers 500 and the ingress stays open', async (_name, method, path) => {
  const response = await fetch(`http://127.0.0.1:${httpServer.port}${path}`, { method });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ code: 'internal_error', request_id: expect.stringMatching(/^req_/) });
  expect((await fetch(`http://127.0.0.1:${httpServer.port}/health/live`)).status).toBe(200);
  expect(state.open.size).toBe(0);
});

test.each(['/v1/sms/sms_1', '/health/live'])('HEAD %s has the head of GET and no body', async (path) => {
  const address = `http://127.0.0.1:${httpServer.port}${path}`;
  const response = await fetch(address, { method: 'HEAD' });
  expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([200, '2', '']);
  // On the same connection: octets of a body would have been read as this answer.
  expect(await (await fetch(address)).text()).toBe('{}');
});

test.each([
  ['POST', '/v1/sms'],
  ['POST', '/v1/sms/batch'],
  ['GET', '/v1/sms/sms_1'],
  ['DELETE', '/v1/sms/sms_1'],
])('%s %s refuses query parameters by name, because dropped ones could change what is meant', async (method, path) => {
  const address = `http://127.0.0.1:${httpServer.port}${path}`;
  const response = await fetch(`${address}?dry_run=explain&b`, { method });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({
    code: 'unknown_field',
    errors: [{ field: 'dry_run' }, { field: 'b' }],
  });
  expect((await fetch(`${address}?`, { method })).status).not.toBe(422);
});
