// Two analytics roles on one NATS and one ClickHouse (fault 50): one of them records, and NATS chooses which one is
// queried. What was accepted a moment ago is read and canceled through either, or 503, and never 404.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { type TestClickHouse, startClickHouse } from '../../analytics/support/clickhouse-server.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from './harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
let clickhouse: TestClickHouse;

beforeAll(async () => {
  [harness, clickhouse] = await Promise.all([openHarness(), startClickHouse()]);
  tenant = await harness.tenant();
  ingress = await harness.ingress();
  for (let nodes = 0; nodes < 2; nodes += 1) await harness.analytics({ CLICKHOUSE_URL: clickhouse.url });
  // Its next insert shows the first that the second has taken over.
  for (let rounds = 1; rounds <= 2; rounds += 1) {
    await until('the key is known', async () => (await post(ingress, tenant.live, goodBody)).status === 202);
    const recorded = async () => (await clickhouse.rows('SELECT uniqExact(message_id) FROM sms_events'))[0]?.[0];
    await until('it is recorded', async () => Number(await recorded()) >= rounds);
  }
});
afterAll(async () => {
  await harness.stop();
  await clickhouse.stop();
});

/** Repeats until it is answered; 503 is allowed, 404 is not. */
async function never404(method: string, id: string): Promise<Record<string, unknown>> {
  return until(`${method} of ${id}`, async () => {
    const { status, body } = await call(ingress, method, `/v1/sms/${id}`, tenant.live);
    expect(status).not.toBe(404);
    return status === 200 && body;
  });
}

test('a message is read right after its 202, whichever node is queried', async () => {
  for (let times = 0; times < 20; times += 1) {
    const sent = await post(ingress, tenant.live, goodBody);
    expect(sent.status).toBe(202);
    expect(await never404('GET', sent.body['id'])).toMatchObject({ id: sent.body['id'], status: 'accepted' });
  }
});

test('a message that was scheduled a moment ago is canceled, whichever node is queried', async () => {
  for (let times = 0; times < 10; times += 1) {
    const send_at = new Date(systemClock.nowMs() + 86_400_000).toISOString();
    const sent = await post(ingress, tenant.live, { ...goodBody, send_at });
    expect(sent.body).toMatchObject({ status: 'scheduled' });
    expect(await never404('DELETE', sent.body['id'])).toMatchObject({ id: sent.body['id'], status: 'canceled' });
  }
});
