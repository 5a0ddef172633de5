// POST /v1/sms/batch with partial success and safe retries: counted in the queues, with ingress processes killed in the
// middle and streams that are full (faults 1, 7, 8, 41).
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { StreamConfig } from '@nats-io/jetstream';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { ignoring } from '../../../platform/errors.ts';
import { cutProxy } from '../../support/cut-proxy.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from './harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress({}, 2);
  await harness.analytics();
  await until('the directory', async () => (await post(ingress, tenant.live, '{')).status === 400);
});
afterAll(async () => harness.stop());
afterEach(async () => {
  await until('the bus', () => harness.bus.manager.streams.purge('MT_TXN').catch(away));
});

const away = (error: unknown) => {
  ignoring(error, 'it comes back');
  return null;
};

type Result = {
  index: number;
  id?: string;
  status?: string;
  error?: { code: string; detail: string; errors: { field: string; detail: string }[] };
};
const resultsOf = (body: Record<string, any>) => body['results'] as Result[];
const items = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => ({ ...goodBody, message: `n ${index}`, ...more }));
const send = (messages: unknown, key?: string, to = ingress) =>
  call(to, 'POST', '/v1/sms/batch', tenant.live, { messages }, key === undefined ? {} : { 'idempotency-key': key });

test('each item is decided by itself and answered in its place', async () => {
  const { status, body } = await send([
    goodBody,
    { ...goodBody, to: '01712' },
    { ...goodBody, from: 'NOBODY' },
    'text',
    { ...goodBody, message: 'two', send_at: new Date(systemClock.nowMs() + 3_600_000).toISOString() },
    { ...goodBody, dry_run: 'explain' },
    { ...goodBody, colour: 'red' },
  ]);
  expect(status).toBe(202);
  expect(body).toMatchObject({ accepted: 2, rejected: 5 });
  expect(resultsOf(body).map((each) => each.status ?? each.error?.code)).toEqual([
    'accepted',
    'invalid_recipient',
    'sender_not_registered',
    'invalid_field',
    'scheduled',
    'invalid_field',
    'unknown_field',
  ]);
  expect(resultsOf(body).map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  const [message] = await harness.messages();
  expect(message?.messageId).toBe(resultsOf(body)[0]?.id);
  expect(await harness.count()).toBe(1);
});

test('1 and 1,000 messages are accepted; none, 1,001, no list and unknown fields are refused', async () => {
  expect((await send(items(1))).body).toMatchObject({ accepted: 1 });
  const { body } = await send(items(1_000));
  expect(body).toMatchObject({ accepted: 1_000, rejected: 0 });
  expect(new Set(resultsOf(body).map(({ id }) => id)).size).toBe(1_000);
  expect(await harness.count()).toBe(1_001);
  for (const messages of [[], items(1_001), { 0: goodBody }, null]) {
    expect((await send(messages)).body).toMatchObject({ status: 422, code: 'invalid_field' });
  }
  expect((await send(undefined)).body).toMatchObject({ status: 422, code: 'missing_field' });
  const strange = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, { messages: items(1), dry_run: 'explain' });
  expect(strange.body).toMatchObject({ status: 422, code: 'unknown_field' });
  const several = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, { messages: items(1), a: 1, b: 2 });
  expect(several.body['errors']).toMatchObject([{ field: 'a' }, { field: 'b' }]);
});

test('an item that is no message is reported by its place, with what was found', async () => {
  const { body } = await send([null, [], 'x', 5]);
  expect(
    resultsOf(body).map(({ error }) => [error?.errors[0]?.field, error?.errors[0]?.detail.split(', ')[1]]),
  ).toEqual([
    ['messages[0]', 'found null'],
    ['messages[1]', 'found an array'],
    ['messages[2]', 'found a string'],
    ['messages[3]', 'found a number'],
  ]);
});

test('the body cap applies to the whole: 256 KiB are accepted, one octet more is not', async () => {
  const fill = (bytes: number) => {
    const empty = JSON.stringify({ messages: [{ ...goodBody, client_reference: '' }], x: '' }).length;
    return { messages: [{ ...goodBody, client_reference: '' }], x: 'x'.repeat(bytes - empty) };
  };
  const at = (bytes: number) => call(ingress, 'POST', '/v1/sms/batch', tenant.live, fill(bytes));
  expect((await at(256 * 1024)).body['code']).toBe('unknown_field');
  expect((await at(256 * 1024 + 1)).body).toMatchObject({ status: 413, code: 'body_too_large' });
});

test('a key without the scope and a suspended account are refused as a whole', async () => {
  const reader = await harness.tenant({ scopes: ['sms:read'] });
  const suspended = await harness.tenant({ status: 'suspended' });
  await until('the directory', async () => (await post(ingress, suspended.live, '{')).status === 400);
  for (const [token, code] of [
    [reader.live, 'scope_missing'],
    [suspended.live, 'account_suspended'],
  ] as const) {
    const { status, body } = await call(ingress, 'POST', '/v1/sms/batch', token, { messages: items(3) });
    expect([status, body['code']]).toEqual([403, code]);
  }
});

test('the same key gets the same answer, another body is refused, 100 at once make one set of messages', async () => {
  const messages = items(20);
  const answers = await Promise.all(Array.from({ length: 100 }, () => send(messages, 'hundred')));
  const accepted = answers.filter(({ status }) => status === 202);
  expect(accepted.length).toBeGreaterThan(0);
  // Of one account only a bounded number are at work at once.
  const codes = new Set(answers.map(({ status, body }) => (status === 202 ? '202' : `${status} ${body['code']}`)));
  codes.delete('202');
  codes.delete('409 idempotency_in_progress');
  expect([...codes]).toEqual(['429 account_busy']);
  expect(new Set(accepted.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  expect(await harness.count()).toBe(20);
  const replay = await send(messages, 'hundred');
  expect(replay.headers.get('idempotent-replayed')).toBe('true');
  expect((await send(items(21), 'hundred')).body).toMatchObject({ code: 'idempotency_key_reused' });
  expect(await harness.count()).toBe(20);
});

test('after a restart of NATS the retry of a consumed batch sends nothing', async () => {
  const messages = items(30);
  const first = await send(messages, 'restarted');
  expect(await harness.count()).toBe(30);
  await harness.bus.manager.streams.purge('MT_TXN');
  await harness.nats.kill9();
  await harness.nats.restart();
  const second = await until(
    'the same answer',
    async () => {
      const answer = await send(messages, 'restarted');
      return answer.status === 202 ? answer : false;
    },
    { everyMs: 200 },
  );
  expect(second.body).toEqual(first.body);
  // The test's own connection may take a moment longer to be back.
  const count = await until('the bus', () => harness.count().then(String).catch(away));
  expect(count).toBe('0');
});

test('a full queue refuses what does not fit at the moment, and the same key sends the rest', async () => {
  const { config } = await harness.bus.manager.streams.info('MT_TXN');
  const bounded = (max_msgs: number): Partial<StreamConfig> => ({
    ...config,
    max_msgs,
    max_msgs_per_subject: Math.min(max_msgs, config.max_msgs_per_subject),
  });
  await harness.bus.manager.streams.update('MT_TXN', bounded(40));
  const messages = items(100);
  // On a machine that stalls, items that did not begin within their three seconds are overloaded: the same key
  // continues.
  const sendAll = () =>
    until('every item begins in time', async () => {
      const answer = await send(messages, 'full');
      const isLate = ({ error }: Result) => error?.code === 'overloaded';
      return answer.status === 202 && !resultsOf(answer.body).some(isLate) ? answer : false;
    });
  const first = await sendAll();
  expect(first.body).toMatchObject({ accepted: 40, rejected: 60 });
  const refused = resultsOf(first.body).filter(({ error }) => error !== undefined);
  expect(refused.every(({ error }) => error?.code === 'queue_full' || error?.code === 'account_queue_full')).toBe(true);
  await harness.bus.manager.streams.update('MT_TXN', config);
  const second = await sendAll();
  expect(second.body).toMatchObject({ accepted: 100, rejected: 0 });
  expect(second.headers.get('idempotent-replayed')).toBeNull();
  const ids = (await harness.messages()).map(({ messageId }) => messageId as string);
  expect(ids).toHaveLength(100);
  expect(new Set(ids)).toEqual(new Set(resultsOf(second.body).map(({ id }) => id)));
  for (const { index, id } of resultsOf(first.body))
    if (id !== undefined) expect(resultsOf(second.body)[index]?.id).toBe(id);
  expect((await send(messages, 'full')).headers.get('idempotent-replayed')).toBe('true');
});

test('kill -9 in the middle of a batch: the retry publishes the rest and nothing twice', async () => {
  const messages = items(1_000);
  // Half of them never arrive: the batch is not answered before the kill, in either case.
  const proxy = await cutProxy(harness.nats.url, { when: 'HPUB mt.', times: 500, what: 'requests' });
  const doomed = await harness.ingress({ NATS_URL: proxy.url });
  const lost = send(messages, 'killed', doomed).catch((error: unknown) => {
    ignoring(error, 'its server was killed');
    return null;
  });
  await until('some are published', async () => proxy.isCut() && (await harness.count()) >= 50, { everyMs: 1 });
  await doomed.kill9();
  proxy.close();
  expect(await lost).toBeNull();
  const published = await harness.count();
  expect(published).toBeLessThan(1_000);
  // 409 for the 10 s of the lease. Then each try first asks the event store for the messages of the try before, and on a
  // busy machine items that did not begin within their three seconds are left to the next one.
  const retried = await until(
    'the retry is taken',
    async () => {
      const answer = await send(messages, 'killed');
      return answer.status === 202 && answer.body['rejected'] === 0 ? answer : false;
    },
    { limitMs: 90_000, everyMs: 500 },
  );
  expect(retried.body).toMatchObject({ accepted: 1_000, rejected: 0 });
  const idsOf = async (options: { withRepublished: boolean }) =>
    (await harness.messages('MT_TXN', options)).map(({ messageId }) => messageId as string);
  expect(new Set(await idsOf({ withRepublished: true }))).toEqual(new Set(resultsOf(retried.body).map(({ id }) => id)));
  // A try that comes when the stream may have forgotten the ids marks its records, and carriers look those up.
  const first = await idsOf({ withRepublished: false });
  expect(new Set(first).size).toBe(first.length);
}, 150_000);
