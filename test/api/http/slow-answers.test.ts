// An answer that is forwarded: it may take as long as it goes on, and is cut off when nothing of it comes any more.
import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientAddress } from '../../../api/http/client-address.ts';
import { type HttpServer, answerThrown } from '../../../api/http/exchange.ts';
import { forwarder } from '../../../api/http/forward.ts';
import { openHttpServer } from '../../../api/http/http-server.ts';
import { placesOf } from '../../../api/http/places.ts';
import { SliceTurns } from '../../../api/http/slice-turns.ts';
import { RateLimits } from '../../../acceptance/principal-limits.ts';
import { Tenants } from '../../../directory/tenants.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { limits } from '../../../platform/limits.ts';
import { newRateMemory } from '../../../platform/rate-table.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { until } from '../../support/until.ts';

const clock = new ManualClock();
let answering: ServerResponse | null = null;
const control = createServer((_request, response) => {
  response.writeHead(200);
  response.write('a');
  answering = response;
});
let ingress: Awaited<ReturnType<typeof openHttpServer>>;

beforeAll(async () => {
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve));
  const access = {
    directory: { authenticate: (token: string | undefined) => new Tenants().authenticate(token, 0) },
    addressOf: clientAddress({ trustedProxies: [], proxyHeader: 'x-forwarded-for' }),
    rates: new RateLimits(newRateMemory(64)),
    places: placesOf(defaultShares),
    used: { note: () => {} },
  };
  const { port: controlPort } = control.address() as AddressInfo;
  const none: never = undefined as never;
  const routes = {
    ...{
      sendSms: none,
      listSms: none,
      getSms: none,
      sendBatch: none,
      cancelSms: none,
      startOtp: none,
      verifyOtp: none,
    },
    ...{ resendOtp: none, cancelOtp: none, getOtp: none, redirect: none, live: none, ready: none },
    forwarder: forwarder({ controlPort, controlSecret: '' }, access, answerThrown, new SliceTurns(), clock),
  };
  const state: HttpServer = { open: new Set(), draining: false };
  ingress = await openHttpServer(state, routes, { host: '127.0.0.1', port: 0, shared: false }, answerThrown);
});
afterAll(async () => {
  await ingress?.stopTaking(1_000);
  ingress?.close();
  control.closeAllConnections();
  control.close();
});

const opened = async () => {
  answering = null;
  const reader = (await fetch(`http://127.0.0.1:${ingress.port}/openapi.json`)).body!.getReader();
  const next = async () => {
    const { done, value } = await reader.read();
    return done ? null : Buffer.from(value as Uint8Array).toString();
  };
  expect(await next()).toBe('a');
  return { next, from: await until('the control role answers', () => answering) };
};

test('an answer that goes on takes as long as it takes', async () => {
  const { next, from } = await opened();
  for (const part of ['b', 'c']) {
    clock.advance(limits.http.forwardStalledMs - 1);
    from.write(part);
    expect(await next()).toBe(part);
  }
  from.end();
  expect(await next()).toBe(null);
});

test('an answer that does not go on is cut off', async () => {
  const { next } = await opened();
  clock.advance(limits.http.forwardStalledMs);
  await expect(next()).rejects.toThrow('terminated');
});
