// Management writes under an idempotency key: done once and answered the same again, also when it holds a secret.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, runApi } from './support/running-api.ts';

let running: RunningApi;
beforeAll(async () => {
  running = await runApi();
});
afterAll(async () => running.stop());

const keyed = (method: string, path: string, key: string, json?: unknown, by?: string) =>
  running.call(method, path, {
    ...(json === undefined ? {} : { json }),
    ...(by === undefined ? {} : { key: by }),
    headers: { 'idempotency-key': key },
  });

test('a new API key is created once, and its secret is shown once: a repeat has none', async () => {
  const body = { livemode: true, scopes: ['sms:send'] };
  const countOf = async () => ((await running.call('GET', '/v1/api-keys?limit=100')).body.data as unknown[]).length;
  const before = await countOf();
  const first = await keyed('POST', '/v1/api-keys', 'make-key', body);
  expect(first.status).toBe(201);
  const second = await keyed('POST', '/v1/api-keys', 'make-key', body);
  expect(first.body.key).toMatch(/^hk_live_/);
  expect(second.body).toEqual({ ...first.body, key: null });
  expect(first.headers.get('idempotent-replayed')).toBeNull();
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect(await countOf()).toBe(before + 1);
});

test('another body under the same key is refused, on another route it is another key', async () => {
  expect((await keyed('POST', '/v1/senders', 'one', { name: 'ONCE' })).status).toBe(201);
  expect((await keyed('POST', '/v1/senders', 'one', { name: 'TWICE' })).body.code).toBe('idempotency_key_reused');
  expect((await keyed('POST', '/v1/suppressions', 'one', { number: '+8801712345678' })).status).toBeLessThan(300);
  expect((await keyed('POST', '/v1/senders', 'one', { name: 'ONCE' }, running.other)).status).toBe(201);
});

test('of many at once one is done, and the others wait for its answer', async () => {
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => keyed('POST', '/v1/senders', 'crowd', { name: 'CROWD' })),
  );
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201));
  expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1);
});

test('a deletion is repeated with its answer; after a refusal the key is free', async () => {
  const { body: sender } = await running.call('POST', '/v1/senders', { json: { name: 'GONE' } });
  const first = await keyed('DELETE', `/v1/senders/${sender.id}`, 'gone');
  expect(first.status).toBe(200);
  expect((await keyed('DELETE', `/v1/senders/${sender.id}`, 'gone')).body).toEqual(first.body);
  expect((await running.call('DELETE', `/v1/senders/${sender.id}`)).status).toBe(404);
  expect((await keyed('POST', '/v1/senders', 'twice', { name: 'ONCE' })).status).toBe(409);
  expect((await keyed('POST', '/v1/senders', 'twice', { name: 'FRESH' })).status).toBe(201);
});
