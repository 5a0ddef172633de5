// Messages that wait: sent when they are due and not before, held for quiet hours, canceled or sent and never both.
// Counted in the queues of the carriers, with the real ingress, the real event store and the real releaser.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Message } from '../../../model/message.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { rules as policyRules, quietForPromotions } from '../../policy/rules.ts';
import { type TestReleaser, startReleaser } from '../../support/releaser.ts';
import { within } from '../../support/running-clock.ts';
import {
  type Harness,
  type Ingress,
  type Tenant,
  answeredByStore,
  bodyKey,
  call,
  goodBody,
  openHarness,
  post,
} from './harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
let releaser: TestReleaser | null = null;

/** Quiet at every hour of every day but for the minute before midnight. */
const nearlyAlwaysQuiet = quietForPromotions(0, 1_439);

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  const country = { ...policyRules.country, name: 'Bangladesh', quietHours: [nearlyAlwaysQuiet] };
  ingress = await harness.ingress({}, 2, { country });
  await harness.analytics();
  await until('the directory', async () => (await post(ingress, tenant.live, '{')).status === 400);
});
afterAll(async () => {
  await releaser?.stop();
  await harness.stop();
});

const inMs = (ms: number) => new Date(systemClock.nowMs() + ms).toISOString();
const schedule = (ms: number, more: object = {}) =>
  post(ingress, tenant.live, { ...goodBody, send_at: inMs(ms), ...more });
const cancel = (id: string, token = tenant.live, headers = {}) =>
  answeredByStore(() => call(ingress, 'DELETE', `/v1/sms/${id}`, token, undefined, headers));
const read = async (id: string) =>
  (await answeredByStore(() => call(ingress, 'GET', `/v1/sms/${id}`, tenant.live))).body;
const withReleaser = async () => {
  releaser ??= await startReleaser(harness.bus, bodyKey, policyRules);
};
const day = 86_400_000;
/** Longer than a stall of the machine. */
const aheadMs = 7_000;

test('send_at: 35 days ahead is accepted; more, the past and a time without a zone are not', async () => {
  expect((await schedule(35 * day - 1_000)).status).toBe(202);
  for (const send_at of [inMs(35 * day + 60_000), inMs(-1_000), '2030-01-01T00:00:00', '2030-02-30T00:00:00Z', 7]) {
    const { status, body } = await post(ingress, tenant.live, { ...goodBody, send_at });
    expect([status, body['code'], body['errors'][0].field]).toEqual([422, 'invalid_field', 'send_at']);
  }
});

test('a scheduled message waits, has that status, and is sent when due with its validity counted from then', async () => {
  await withReleaser();
  const dueAtMs = systemClock.nowMs() + aheadMs;
  const sent = await post(ingress, tenant.live, {
    ...goodBody,
    client_reference: 'waits',
    send_at: new Date(dueAtMs).toISOString(),
    validity_seconds: 60,
  });
  expect(sent.body).toMatchObject({ status: 'scheduled', scheduled_at: new Date(dueAtMs).toISOString() });
  expect(await read(sent.body['id'])).toMatchObject({ status: 'scheduled', history: [{ status: 'scheduled' }] });
  expect(await harness.count()).toBe(0);
  const releasedMs = dueAtMs - systemClock.nowMs() + 1_000;
  await until('the release', async () => (await harness.count()) === 1, within(releasedMs));
  expect(systemClock.nowMs() - dueAtMs).toBeGreaterThanOrEqual(-2);
  const [message] = (await harness.messages()) as [Message];
  expect(message).toMatchObject({ messageId: sent.body['id'], carrier: 'alpha', validUntilMs: dueAtMs + 60_000 });
  expect((await cancel(sent.body['id'])).body).toMatchObject({ status: 409, code: 'not_cancelable' });
  await harness.bus.manager.streams.purge('MT_TXN');
});

test('cancel: never sent, shown as canceled, a repeat gets the same answer', async () => {
  await withReleaser();
  const { body } = await schedule(aheadMs, { client_reference: 'canceled' });
  const first = await cancel(body['id']);
  expect(first.status).toBe(200);
  expect(first.body).toMatchObject({ id: body['id'], status: 'canceled' });
  // The event is durable; the event store has it a moment later.
  await until('it is shown as canceled', async () => (await read(body['id']))['status'] === 'canceled');
  expect((await cancel(body['id'])).body).toEqual(first.body);
  await until('SCHEDULED is empty', async () => {
    const info = await harness.bus.manager.streams.info('SCHEDULED', { subjects_filter: '>' });
    return Object.keys(info.state.subjects ?? {}).every(
      (each) => Number(each.split('.')[2]) * 1_000 > systemClock.nowMs() + day,
    );
  });
  expect(await harness.count()).toBe(0);
  expect(await read(body['id'])).toMatchObject({
    status: 'canceled',
    history: [{ status: 'scheduled' }, { status: 'canceled' }],
  });
});

test('a cancel with an idempotency key is replayed; unknown ids, other accounts and the other mode are not found', async () => {
  const { body } = await schedule(day);
  const other = await harness.tenant();
  await until('the directory', async () => (await post(ingress, other.live, '{')).status === 400);
  for (const [id, token] of [
    [body['id'], other.live],
    [body['id'], tenant.test],
    ['sms_00000000000000000000000000', tenant.live],
    ['nonsense', tenant.live],
  ] as const) {
    expect((await cancel(id, token)).body).toMatchObject({ status: 404, code: 'not_found' });
  }
  const key = { 'idempotency-key': 'cancel-once' };
  const first = await cancel(body['id'], tenant.live, key);
  const second = await cancel(body['id'], tenant.live, key);
  expect(first.status).toBe(200);
  expect(second.body).toEqual(first.body);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
});

test('a message that was sent at once cannot be canceled', async () => {
  const { body } = await post(ingress, tenant.live, goodBody);
  expect((await cancel(body['id'])).body).toMatchObject({ status: 409, code: 'not_cancelable' });
  await harness.bus.manager.streams.purge('MT_TXN');
});

test('in a race of cancels with the release every message is canceled or sent, and none both', async () => {
  await withReleaser();
  const count = 300;
  const dueAtMs = Math.ceil((systemClock.nowMs() + aheadMs) / 1_000) * 1_000;
  const send_at = new Date(dueAtMs).toISOString();
  const messages = Array.from({ length: count }, () => ({ ...goodBody, send_at }));
  const batch = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, { messages });
  const ids = (batch.body['results'] as { id: string }[]).map(({ id }) => id);
  expect(batch.body['accepted']).toBe(count);

  const canceled = new Set<string>();
  const refused = new Set<string>();
  // Spread over the moment at which the second's cancels end; the first at once, however slow the machine is then.
  const spreadMs = Math.max(0, dueAtMs - 700 - systemClock.nowMs());
  await Promise.all(
    ids.map(async (id, index) => {
      await systemClock.sleep(index === 0 ? 0 : spreadMs + index * 3);
      // 503: too many at once for this second; 429: of this account. Both mean retry.
      const status = await until('an answer', async () => {
        const answer = await cancel(id);
        return answer.status !== 503 && answer.status !== 429 && answer.status;
      });
      if (status === 200) canceled.add(id);
      else if (status === 409) refused.add(id);
    }),
  );
  expect(canceled.size + refused.size).toBe(count);
  await until('the others are sent', async () => (await harness.count()) >= refused.size);
  await until('nothing of the second waits', async () => {
    const second = Math.floor(dueAtMs / 1_000);
    const filter = `scheduled.${Math.floor(second / 3_600)}.${second}.>`;
    return (
      Object.keys(
        (await harness.bus.manager.streams.info('SCHEDULED', { subjects_filter: filter })).state.subjects ?? {},
      ).length === 0
    );
  });
  const sent = (await harness.messages()).map(({ messageId }) => messageId as string);
  expect(new Set(sent)).toEqual(refused);
  expect(sent).toHaveLength(refused.size);
  expect(canceled.size).toBeGreaterThan(0);
  expect(refused.size).toBeGreaterThan(0);
  await harness.bus.manager.streams.purge('MT_TXN');
});

test('in quiet hours a message is held until they end, or refused when it asks for that', async () => {
  const quiet = { ...goodBody, category: 'promotional' };
  const held = await post(ingress, tenant.live, quiet);
  const openAt = systemClock.nowMs();
  // The one open minute of the day: then it is accepted at once.
  if (held.body['status'] === 'accepted') return;
  expect(held.body).toMatchObject({ status: 'scheduled' });
  const waitMs = Date.parse(held.body['scheduled_at']) - openAt;
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThanOrEqual(day);
  expect((await cancel(held.body['id'])).body).toMatchObject({ status: 'canceled' });
  const refused = await post(ingress, tenant.live, { ...quiet, quiet_hours: 'reject' });
  expect(refused.body).toMatchObject({ status: 422, code: 'quiet_hours' });
  expect((await post(ingress, tenant.test, quiet)).body).toMatchObject({ status: 'accepted' });
});

test('explain: every gate is evaluated, nothing is sent, and a refusal does not end it', async () => {
  const before = await Promise.all(['MT_TXN', 'MT_PROMO', 'SCHEDULED'].map((each) => harness.count(each)));
  const { status, body } = await post(ingress, tenant.live, {
    ...goodBody,
    from: 'NOBODY',
    message: `${'আ'.repeat(71)}😀`,
    dry_run: 'explain',
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({ would_send: false, encoding: 'ucs2', ucs2_because: { character: 'আ', index: 0 } });
  expect(body['segments']).toHaveLength(2);
  expect((body['segments'] as { text: string }[]).map(({ text }) => text).join('')).toBe(body['message']);
  expect(body['costly_characters']).toEqual(['😀']);
  expect(body['routes'][0]).toMatchObject({ carrier: 'alpha' });
  const refused = (body['gates'] as { gate: string; verdict: string; code: string }[]).filter(
    (each) => each.verdict === 'refused',
  );
  expect(refused).toMatchObject([{ gate: 'sender', verdict: 'refused', code: 'sender_not_registered' }]);
  // Every gate of a message is there, also those after the one that refuses.
  const names = (body['gates'] as { gate: string }[]).map(({ gate }) => gate);
  expect(names.slice(0, 5)).toEqual(['scope', 'account', 'send_at', 'callback_url', 'recipient']);
  expect(names.at(-1)).toBe('credit');
  expect(body['national_tables']).toMatchObject({ available: [], used: [] });
  const later = await post(ingress, tenant.live, { ...goodBody, send_at: inMs(day), dry_run: 'explain' });
  expect(later.body).toMatchObject({ would_send: true });
  expect(Date.parse(later.body['earliest_at'])).toBeGreaterThan(systemClock.nowMs() + day / 2);
  expect(await Promise.all(['MT_TXN', 'MT_PROMO', 'SCHEDULED'].map((each) => harness.count(each)))).toEqual(before);
});

test('while events cannot be stored, a message for later and a cancel are answered 503 in time', async () => {
  const { body } = await schedule(3_600_000);
  await harness.bus.manager.streams.update('EVENTS', { max_msg_size: 8 });
  try {
    const [late, canceled] = await Promise.all([schedule(3_600_000), cancel(String(body['id']))]);
    expect([late.status, late.body['code'], late.headers.get('retry-after')]).toEqual([503, 'overloaded', '1']);
    expect([canceled.status, canceled.body['code']]).toEqual([503, 'overloaded']);
  } finally {
    await harness.bus.manager.streams.update('EVENTS', { max_msg_size: -1 });
  }
  await until(
    'it is answered as canceled',
    async () => (await cancel(String(body['id']))).body['status'] === 'canceled',
  );
});
