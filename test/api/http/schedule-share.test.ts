// One account schedules as much as it can: it is refused at its share, over all threads, nodes and restarts; other
// accounts' scheduled messages and the system's own deferrals have their own capacity.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publishLater } from '../../../cluster/bus/later.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { systemClock } from '../../../platform/clock.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { limits } from '../../../platform/limits.ts';
import { accountQueueMaxDefault } from '../../../platform/limits-lanes.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from './harness.ts';

const share = 60;
let harness: Harness;
let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  other = await harness.tenant();
});
afterAll(() => harness.stop());

const ingressWithShare = () =>
  harness.ingress({}, 2, {
    limits: {
      queueMessagesMax: 5_000_000,
      accountQueueMax: accountQueueMaxDefault,
      streamReplicas: 1,
      streamStoreMbMax: 28_672,
      drainMsMax: 90_000,
      shares: { ...defaultShares, scheduled_messages: { total: 1_000, perAccount: share, reserve: 0 } },
    },
  });
const inDays = (days: number) => new Date(systemClock.nowMs() + days * 86_400_000).toISOString();
const schedule = (ingress: Ingress, token: string, days: number) =>
  post(ingress, token, { ...goodBody, send_at: inDays(days) });
const scheduled = () => harness.count('SCHEDULED');

test('an account is answered 429 at its share, also after kill -9, and no other is', async () => {
  const first = await ingressWithShare();
  const second = await ingressWithShare();
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => schedule(index % 2 === 0 ? first : second, tenant.live, 2 + (index % 30))),
  );
  const counts = (all: typeof answers) => ({
    taken: all.filter(({ status }) => status === 202).length,
    // Lost every race with the others for 900 ms: it may retry.
    busy: all.filter(({ status }) => status === 503).length,
  });
  const { taken, busy } = counts(answers);
  expect(taken + busy).toBe(50);
  await first.kill9();
  // A batch too: each of its messages by itself.
  const { body } = await call(second, 'POST', '/v1/sms/batch', tenant.live, {
    messages: Array.from({ length: 100 }, () => ({ ...goodBody, send_at: inDays(34) })),
  });
  const codes = (body['results'] as { error?: { code: string } }[]).map(({ error }) => error?.code ?? 'accepted');
  const accepted = codes.filter((each) => each === 'accepted').length;
  expect(new Set(codes)).toEqual(new Set(['accepted', 'account_schedule_full']));
  expect(taken + accepted).toBe(share);
  expect(await scheduled()).toBe(share);

  const third = await ingressWithShare();
  for (const each of [second, third]) {
    const refused = await schedule(each, tenant.live, 2);
    expect(refused.body).toMatchObject({ status: 429, code: 'account_schedule_full' });
    // The first of them is due in two days, and Retry-After says a day at most.
    expect(refused.headers.get('retry-after')).toBe('86400');
    expect(refused.body['detail']).toContain(`${share} of ${share}`);
    expect((await schedule(each, other.live, 2)).status).toBe(202);
    // A message sent at once does not count.
    expect((await post(each, tenant.live, goodBody)).status).toBe(202);
  }
  expect(await scheduled()).toBe(share + 2);
});

test('all that accounts may schedule is used: the system can still defer its own records', async () => {
  const ingress = await ingressWithShare();
  const { config } = await harness.bus.manager.streams.info('SCHEDULED');
  expect(config.max_bytes).toBe(1_000 * limits.scheduled.unitBytes);
  await harness.bus.manager.streams.update('SCHEDULED', { ...config, max_bytes: 1 });
  expect((await schedule(ingress, other.live, 3)).body).toMatchObject({ status: 503, code: 'queue_full' });
  const publisher = new Publisher(harness.bus);
  const nowMs = systemClock.nowMs();
  for (const dueAtMs of [nowMs + 5_000, nowMs + 8 * 3_600_000]) {
    const record = {
      subject: 'mt.txn.alpha.0',
      payload: Buffer.alloc(500),
      dueAtMs,
      id: `own.${dueAtMs}`,
      shardKey: 'own',
    };
    const result = await new Promise((resolve) => publishLater(publisher, record, nowMs, resolve));
    expect(result).toMatchObject({ ok: true });
  }
  publisher.close();
});
