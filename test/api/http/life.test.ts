// The ingress process from start to stop: drains without losing a request, reports the metrics of all threads, detects
// that its port is taken, and ends as a whole when a thread does.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { ignoring } from '../../../platform/errors.ts';
import { accountQueueMaxDefault } from '../../../platform/limits-lanes.ts';
import { type Share, defaultShares } from '../../../platform/limits-shares.ts';
import { limits } from '../../../platform/limits.ts';
import { type Harness, type Tenant, goodBody, openHarness, post } from './harness.ts';
import { serverProcess, suspend } from '../../support/processes.ts';
import { within } from '../../support/running-clock.ts';

let harness: Harness;
let tenant: Tenant;
let bystander: Tenant;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  bystander = await harness.tenant();
});
afterAll(async () => harness.stop());

test('a drain under load answers or refuses every request, and every 202 is in the queue with its event', async () => {
  const ingress = await harness.ingress({}, 2);
  const ids: string[] = [];
  const refusals = new Set([503]);
  let refused = 0;
  let drained = false;
  const clients = Array.from({ length: 20 }, async () => {
    while (!drained) {
      try {
        const { status, body } = await post(ingress, tenant.live, goodBody);
        if (status === 202) ids.push(body['id'] as string);
        else refusals.add(status);
      } catch (error) {
        ignoring(error, 'a refused connection is what a load balancer turns away from');
        refused += 1;
        await systemClock.sleep(1);
      }
    }
  });
  await until('some traffic', () => ids.length > 200);
  expect(await ingress.drain()).toBe(0);
  drained = true;
  await Promise.all(clients);
  expect(refused).toBeGreaterThan(0);
  expect([...refusals]).toEqual([503]);
  const queued = new Set((await harness.messages()).map((message) => message.messageId as string));
  expect(ids.filter((id) => !queued.has(id))).toEqual([]);
});

test('/health is ready, and the metrics count over all threads', async () => {
  const ingress = await harness.ingress({}, 2);
  for (const path of ['/health/live', '/health/ready']) expect((await fetch(ingress.url(path))).status).toBe(200);
  for (let at = 0; at < 20; at += 1) {
    await post(ingress, tenant.live, goodBody, { connection: 'close' });
    await post(ingress, tenant.live, { ...goodBody, to: 'x' });
  }
  type Metrics = Awaited<ReturnType<typeof ingress.ask>>['metrics'];
  const totalIn = (metrics: Metrics, name: string, labels: Record<string, string>) =>
    metrics
      .flat()
      .filter((metric) => metric.name === name)
      .flatMap((metric) => metric.values as { value: number; labels: Record<string, string> }[])
      .filter((each) => Object.entries(labels).every(([label, value]) => each.labels[label] === value))
      .reduce((sum, each) => sum + each.value, 0);
  // A thread that is too busy to report its own in time is left out.
  const published = await until('the metrics of both threads', async () => {
    const { metrics } = await ingress.ask();
    const taken = totalIn(metrics, 'heliograph_http_requests_total', { route: 'POST /v1/sms', status: '202' });
    const refused = totalIn(metrics, 'heliograph_refused_total', { code: 'invalid_recipient' });
    return taken >= 20 && refused >= 20 && metrics;
  });
  const total = (name: string, labels: Record<string, string>) => totalIn(published, name, labels);
  expect(total('heliograph_http_requests_total', { route: 'POST /v1/sms', status: '202' })).toBe(20);
  expect(total('heliograph_refused_total', { code: 'invalid_recipient' })).toBe(20);
  expect(total('heliograph_accepted_total', { category: 'transactional', carrier: 'alpha' })).toBe(20);
  expect(await ingress.drain()).toBe(0);
});

test.each([1, 2])('a port that is taken stops the start with a sentence (%i threads)', async (threads) => {
  const first = await harness.ingress({}, threads);
  const second = harness.ingress({ HELIOGRAPH_HTTP_PORT: String(first.port), HELIOGRAPH_LOG: 'silent' }, threads);
  await expect(second).rejects.toThrow(/port \d+ on 127\.0\.0\.1 is taken .*HELIOGRAPH_HTTP_PORT/);
  await first.kill9();
});

test('a revoked key stops working within a second', async () => {
  const ingress = await harness.ingress();
  const revoked = await harness.tenant();
  await until('the new key', async () => (await post(ingress, revoked.live, goodBody)).status === 202);
  const publicId = revoked.live.slice('hk_live_'.length).split('_')[0] ?? '';
  await (await openBucket(harness.bus, 'directory')).delete(`key.${publicId}`);
  const isRefused = async () => (await post(ingress, revoked.live, goodBody)).status === 401;
  await until('the revocation', isRefused, within(1_000));
  await ingress.kill9();
});

const limitsWith = (requests: Share) => ({
  queueMessagesMax: 5_000_000,
  accountQueueMax: accountQueueMaxDefault,
  shares: { ...defaultShares, requests_at_work: requests },
  linkDays: 90,
  streamReplicas: 1,
});

test('more requests than a thread may hold are refused at once, each account at its own share, and the held ones settle', async () => {
  const requests = { total: 100, perAccount: 5, perAccountUrgent: 20, reserve: 60, reserveOtp: 10 };
  const ingress = await harness.ingress({}, 1, { limits: limitsWith(requests) });
  expect((await post(ingress, tenant.live, goodBody)).status).toBe(202);
  await harness.nats.kill9();
  const count = requests.perAccountUrgent + 20;
  // The held ones are given up later.
  const atOnceMs = limits.bus.publishTimeoutMs * limits.bus.publishAttemptsMax - 500;
  let refusedAtOnce = 0;
  const codes = new Set<string>();
  const startedMs = systemClock.monotonicMs();
  const answers = Array.from({ length: count }, async () => {
    const { status, body } = await post(ingress, tenant.live, goodBody);
    if (status !== 202 && systemClock.monotonicMs() - startedMs < atOnceMs) {
      refusedAtOnce += 1;
      codes.add(`${status} ${body['code']}`);
    }
    return status === 202 ? (body['id'] as string) : String(status);
  });
  await until('the refusals', () => refusedAtOnce >= 20, { limitMs: atOnceMs });
  expect([...codes]).toEqual(['429 account_busy']);
  // Another account has its own places: it waits for NATS as the first one's do.
  const other = post(ingress, bystander.live, goodBody);
  expect(refusedAtOnce).toBe(20);
  await harness.nats.restart();
  const settled = await Promise.all(answers);
  expect((await other).body['code']).not.toBe('account_busy');
  const messages = await until('the queues are read', () =>
    harness.messages().catch((error: unknown) => {
      ignoring(error, 'the connection of this test may not be back yet');
      return null;
    }),
  );
  const queued = new Set(messages.map((message) => message.messageId as string));
  expect(settled.filter((each) => each.startsWith('sms_') && !queued.has(each))).toEqual([]);
  await ingress.kill9();
});

test('accounts that fill a thread with single messages leave room for the OTP of another one', async () => {
  const requests = { total: 6, perAccount: 1, perAccountUrgent: 3, reserve: 5, reserveOtp: 2 };
  const ingress = await harness.ingress({}, 1, { limits: limitsWith(requests) });
  const third = await harness.tenant();
  const otp = { ...goodBody, category: 'otp' };
  const notice = { ...goodBody, category: 'transactional' };
  await until('the new key', async () => (await post(ingress, third.live, otp)).status === 202);
  // Not killed: its restart may take longer than the requests wait.
  const { pid } = await serverProcess(harness.nats.dataDir, 'nats-server');
  await suspend(pid);
  const refused: string[] = [];
  const notices = [tenant, tenant, tenant, bystander, bystander, bystander].map(async ({ live }) => {
    const { status, body } = await post(ingress, live, notice);
    if (status !== 202) refused.push(`${status} ${body['code']}`);
    return status;
  });
  await until('the notices beyond the reserve are refused', () => refused.length === 2);
  const code = post(ingress, third.live, otp);
  process.kill(pid, 'SIGCONT');
  expect((await code).status).toBe(202);
  expect((await Promise.all(notices)).filter((status) => status === 202)).toHaveLength(4);
  expect(refused).toEqual(['503 overloaded', '503 overloaded']);
  await ingress.kill9();
});

test('while NATS is down requests get 503 or wait, readiness reports it, and it recovers by itself', async () => {
  const ingress = await harness.ingress();
  await harness.nats.kill9();
  await until('readiness to fall', async () => (await fetch(ingress.url('/health/ready'))).status === 503);
  const waiting = post(ingress, tenant.live, goodBody);
  await harness.nats.restart();
  expect([202, 503]).toContain((await waiting).status);
  await until('readiness', async () => (await fetch(ingress.url('/health/ready'))).status === 200);
  await until('acceptance', async () => (await post(ingress, tenant.live, goodBody)).status === 202);
  await ingress.kill9();
});
