// Scheduled messages in the running system: they survive the kill of every part that stores or releases them, and are
// sent once, not before they are due, or never, when they were canceled.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { endSystems } from '../support/system.ts';
import { SmsClient } from '../support/sms-client.ts';
import { type WholeSystem, startWholeSystem } from '../support/whole-system.ts';

let system: WholeSystem;
let client: SmsClient;

beforeAll(async () => {
  system = await startWholeSystem(`country:
  pack: bd
  carriers: { grameenphone: quick, robi: quick, banglalink: quick, teletalk: null }
  quiet_hours: []
carriers:
  - { name: quick, tps: 100, simulate: true }
ingress: { threads: 2 }
`);
  client = new SmsClient(system.httpPort, system.keys.liveKey);
});
afterAll(async () => {
  client?.close();
  await endSystems();
});

it('scheduled messages survive kill -9 of actors, entry point and nats-server; each is delivered once or canceled', async () => {
  const count = 60;
  const beginMs = systemClock.nowMs() + 12_000;
  const dueOf = (index: number) => Math.floor(beginMs + index * 100);
  const messages = Array.from({ length: count }, (_, index) => ({
    to: `+88017000${String(10_000 + index)}`,
    from: 'HELIOGRAPH',
    message: `for later ${index}`,
    send_at: new Date(dueOf(index)).toISOString(),
  }));
  const reply = await client.call('POST', '/v1/sms/batch', { messages }, { 'idempotency-key': 'waiting' });
  expect(reply.json).toMatchObject({ accepted: count, rejected: 0 });
  const ids = (reply.json['results'] as { id: string }[]).map(({ id }) => id);

  const canceled = ids.filter((_, index) => index % 4 === 0);
  for (const id of canceled) {
    const { status } = await until('an answer', async () => {
      const answer = await client.call('DELETE', `/v1/sms/${id}`);
      return answer.status !== 503 && answer;
    });
    expect(status).toBe(200);
  }
  await system.kill9('actors');
  await system.kill9('nats-server');
  await system.kill9('ingress');

  const views = await until(
    'each has its end',
    async () => {
      const all = await Promise.all(ids.map((id) => client.get(id)));
      return all.every(({ status }) => status === 'delivered' || status === 'canceled') && all;
    },
    { everyMs: 500 },
  );
  expect(views.filter(({ status }) => status === 'canceled').map(({ id }) => id)).toEqual(canceled);
  for (const [index, view] of views.entries()) {
    const statuses = view.history.map(({ status }) => status);
    if (view.status === 'canceled') {
      expect(statuses).toEqual(['scheduled', 'canceled']);
    } else {
      expect(statuses).toEqual(['scheduled', 'accepted', 'submitted', 'delivered']);
      expect(Date.parse(view.history[2]?.at ?? '')).toBeGreaterThanOrEqual(dueOf(index));
    }
  }
});
