// Requests that wait for another process: they take neither the turns nor the places of those that need the database only,
// and what does not answer is called by its name.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type ReplayAnswer, webhookSubjects } from '../../../actors/webhook/contract.ts';
import { problemOfError } from '../../../api/management/serve.ts';
import { systemClock } from '../../../platform/clock.ts';
import { DeadlineExceeded } from '../../../platform/deadline.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { limits } from '../../../platform/limits.ts';
import { serverProcess, suspend } from '../../support/processes.ts';
import { until } from '../../support/until.ts';
import { type Reply, type RunningApi, refusal, runApi } from './support/running-api.ts';

let running: RunningApi;
const ends: (() => void)[] = [];
beforeAll(async () => {
  running = await runApi([], defaultShares);
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
});
afterAll(() => running?.stop());

const url = 'https://example.com/hooks';

async function newEndpoint(): Promise<{ readonly key: string; readonly path: string }> {
  const key = await running.newKey(await running.newAccount(), true);
  const { body } = await running.call('POST', '/v1/webhooks', { key, json: { url } });
  return { key, path: `/v1/webhooks/${body.id}` };
}

/** In place of the delivery process: it takes what it is asked, and answers with this; null: not yet. */
function standIn(subject: string, answer: () => object | null) {
  const asked: { respond(of: object): void }[] = [];
  const subscription = running.bus.connection.subscribe(subject, {
    callback: (_error, msg) => {
      const respond = (of: object) => void msg.respond(JSON.stringify(of));
      asked.push({ respond });
      const now = answer();
      if (now !== null) respond(now);
    },
  });
  ends.push(() => subscription.unsubscribe());
  return asked;
}

test('while receivers hang in as many tests as an account may have, it writes and revokes keys', async () => {
  const { key, path } = await newEndpoint();
  const asked = standIn(webhookSubjects.test, () => null);
  const { perAccount } = defaultShares.management_waits;
  const hanging: Promise<Reply>[] = [];
  for (let at = 0; at < perAccount; at += 1) hanging.push(running.call('POST', `${path}/test`, { key }));
  await until('all hang', () => asked.length === perAccount);

  const beganMs = systemClock.monotonicMs();
  const made = await running.call('POST', '/v1/api-keys', { key, json: { scopes: ['sms:send'] } });
  expect(made.status).toBe(201);
  expect((await running.call('DELETE', `/v1/api-keys/${made.body.id}`, { key })).status).toBe(200);
  expect((await running.call('POST', '/v1/webhooks', { key, json: { url } })).status).toBe(201);
  expect((await running.call('GET', '/v1/api-keys', { key })).status).toBe(200);
  const tookMs = systemClock.monotonicMs() - beganMs;
  const next = await running.call('POST', `${path}/test`, { key });
  expect(refusal(next)).toMatchObject({ status: 429, code: 'account_busy' });
  expect(next.body.detail).toContain('wait for another process');
  // Another account has places of its own.
  const other = await newEndpoint();
  const otherTest = running.call('POST', `${other.path}/test`, { key: other.key });
  await until('it is asked', () => asked.length === perAccount + 1);

  for (const { respond } of asked) respond({ busy: 'full' });
  for (const reply of await Promise.all([...hanging, otherTest])) {
    // Those of a machine that was too busy to come here in time have waited their whole time.
    const late = tookMs > limits.webhooks.askMs / 2 ? ['webhooks_unavailable'] : [];
    expect(['webhooks_busy', ...late]).toContain(refusal(reply).code);
  }
});

test('a process that is silent is named, and so are one that is not there and an event store that is away', async () => {
  const { key, path } = await newEndpoint();
  const since = new Date(systemClock.nowMs() - 60_000).toISOString();
  const replay = () => running.call('POST', `${path}/replay`, { key, json: { since } });
  const detailOf = async (reply: Reply) => {
    expect(refusal(reply)).toMatchObject({ status: 503, code: 'webhooks_unavailable' });
    return reply.body.detail as string;
  };
  expect(await detailOf(await replay())).toBe('no process delivers webhooks at the moment: it may be starting');
  let answer: ReplayAnswer | null = null;
  standIn(webhookSubjects.replay, () => answer);
  expect(await detailOf(await replay())).toBe('the delivery process did not answer in time');
  answer = { ok: false, why: 'event_store_away' };
  expect(await detailOf(await replay())).toContain('the event store');
  answer = { ok: false, why: 'not_taken' };
  expect(await detailOf(await replay())).toContain('the delivery process cannot take the event now');
});

test('a NATS that is silent is named, and what needs only the database goes on', async () => {
  const { key, path } = await newEndpoint();
  const since = new Date(systemClock.nowMs() - 60_000).toISOString();
  const { pid } = await serverProcess(running.nats.dataDir, 'nats-server');
  await suspend(pid);
  try {
    const [deliveries, replayed, changed, made] = await Promise.all([
      running.call('GET', `${path}/deliveries`, { key }),
      running.call('POST', `${path}/replay`, { key, json: { since } }),
      running.call('PATCH', path, { key, json: { description: 'shop' } }),
      running.call('POST', '/v1/api-keys', { key, json: { scopes: ['sms:send'] } }),
    ]);
    expect([changed.status, made.status]).toEqual([200, 201]);
    for (const reply of [deliveries, replayed]) {
      expect(refusal(reply)).toMatchObject({ status: 503, code: 'webhooks_unavailable' });
      expect(reply.body.detail).toBe('NATS did not answer in time');
    }
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});

test('a request that took too long says what it waited for; only the store’s own errors are the database’s', () => {
  const late = new DeadlineExceeded('the request', limits.management.requestDeadlineMs);
  const detailOf = (...of: Parameters<typeof problemOfError>) => problemOfError(...of).detail;
  expect(detailOf(late, 'req_1', { waitsForOthers: true })).toContain('another process, or NATS, did not answer');
  expect(detailOf(late, 'req_1')).toContain('the database is slow');
  const gone = Object.assign(new Error('terminating connection'), { code: '57P01' });
  for (const waits of [{}, { waitsForOthers: true } as const])
    expect(detailOf(gone, 'req_1', waits)).toBe('the database of the management API is away');
});
