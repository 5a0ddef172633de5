// A replay of a time that is not recorded yet: it waits a moment, and then says by how much recording is behind, instead
// of leaving out what is not in the event store.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Busy, type ReplayAnswer, webhookSubjects } from '../../../actors/webhook/contract.ts';
import { clicksSubject } from '../../../cluster/bus/subjects.ts';
import { newClickId } from '../../../model/ids.ts';
import { encodeClicks } from '../../../model/records/click-record.ts';
import { linkTarget } from '../../../model/records/link-record.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestClickHouse, startClickHouse } from '../../analytics/support/clickhouse-server.ts';
import { type EventBus, startEventBus } from '../../analytics/support/event-bus.ts';
import { contextOf, lifeOf } from '../../analytics/support/events.ts';
import { type RunningRole, startRole } from '../../analytics/support/role.ts';
import { until } from '../../support/until.ts';
import {
  type Receiver,
  type RunningWebhooks,
  putAccount,
  putEndpoint,
  runWebhooks,
  startReceiver,
} from '../../support/webhooks.ts';

let events: EventBus;
let clickhouse: TestClickHouse;
let role: RunningRole;
let running: RunningWebhooks;
const receivers: Receiver[] = [];

beforeAll(async () => {
  [events, clickhouse] = await Promise.all([startEventBus(), startClickHouse()]);
  role = await startRole(events.nats.url, events.dataDir, { CLICKHOUSE_URL: clickhouse.url });
  running = await runWebhooks(events.bus);
  await until('it delivers', () => running.node.state === 'delivers');
});
afterEach(async () => {
  clickhouse.weather = 'fine';
  for (const each of receivers.splice(0)) await each.close();
});
afterAll(async () => {
  await running?.stop();
  await role?.end('SIGKILL');
  await events.stop();
  await clickhouse.stop();
});

async function hook(types: readonly string[] = ['*']) {
  const receiver = await startReceiver();
  receivers.push(receiver);
  const accountId = await putAccount(events.bus);
  // The events themselves are those of before it.
  const createdAtMs = systemClock.nowMs();
  const { entry } = await putEndpoint(events.bus, { accountId, url: receiver.url, createdAtMs, events: types });
  await until('it is known', () => running.directory.webhookEndpoint(entry.id) !== undefined);
  return { receiver, accountId, endpointId: entry.id, endpoint: entry };
}
type Hook = Awaited<ReturnType<typeof hook>>;

async function replay({ accountId, endpointId, endpoint }: Hook, what: object): Promise<ReplayAnswer | Busy> {
  const nowMs = systemClock.nowMs();
  const asked = JSON.stringify({ accountId, endpointId, endpoint, eventId: null, sinceMs: 0, untilMs: nowMs, ...what });
  const options = { timeout: limits.webhooks.askMs };
  return (await events.bus.connection.request(webhookSubjects.replay, asked, options)).json();
}
const settled = (of: Hook, what: object) =>
  until('an answer that is not of a busy machine', async () => {
    const said = await replay(of, what);
    return 'ok' in said && (said.ok || (said.why !== 'event_store_away' && said.why !== 'running')) ? said : null;
  });

test('messages of its time that are not recorded', async () => {
  const of = await hook();
  const sinceMs = systemClock.nowMs() - 60_000;
  clickhouse.weather = 'read-only';
  const before = clickhouse.refused;
  const life = lifeOf(contextOf({ accountId: of.accountId }));
  await events.publish(life);
  await until('inserts are refused', () => clickhouse.refused > before);
  const said = await settled(of, { sinceMs });
  expect(said).toEqual({ ok: false, why: 'behind', behindMs: expect.any(Number) });
  expect(said).toMatchObject({ behindMs: expect.toSatisfy((ms: number) => ms >= limits.delivery.replayWaitMs) });
  // One event of it, too; what was before it is all there.
  const event = life.at(-1);
  expect(await settled(of, { eventId: event?.eventId, sinceMs })).toMatchObject({ ok: false, why: 'behind' });
  expect(await settled(of, { sinceMs: 0, untilMs: sinceMs })).toMatchObject({ ok: true, events: 0 });
  const { received } = of.receiver;
  await until('the events themselves came', () => received.length === 2);
  clickhouse.weather = 'fine';
  const again = await until('it is recorded', async () => {
    const answer = await settled(of, { sinceMs });
    return answer.ok ? answer : null;
  });
  expect(again.events).toBe(2);
  await until('they come again', () => received.length === 4);
  expect(new Set(received.map(({ id }) => id)).size).toBe(2);
});

test('waits for what is recorded a moment later', async () => {
  const of = await hook();
  clickhouse.weather = 'read-only';
  const before = clickhouse.refused;
  await events.publish(lifeOf(contextOf({ accountId: of.accountId })));
  await until('inserts are refused', () => clickhouse.refused > before);
  const asked = settled(of, { sinceMs: systemClock.nowMs() - 60_000 });
  clickhouse.weather = 'fine';
  expect(await asked).toMatchObject({ ok: true, events: expect.toSatisfy((events: number) => events > 0) });
});

test('clicks that are not recorded hold up an endpoint that gets clicks, and no other', async () => {
  const of = await hook(['link.clicked']);
  const other = await hook(['sms.delivered']);
  const nowMs = systemClock.nowMs();
  const target = linkTarget(of.accountId, true, 'https://shop.example.org/sale');
  clickhouse.weather = 'read-only';
  const before = clickhouse.refused;
  const click = {
    ...{ clickId: newClickId(nowMs), series: 9, index: 1, accountId: of.accountId, livemode: true, atMs: nowMs },
    ...{ linkId: target.linkId, url: target.url, isHead: false, isPrefetch: false, hasLanguage: true },
    ...{ userAgent: 'Mozilla/5.0', addressHash: 'one', address: null },
  };
  await events.bus.jetstream.publish(clicksSubject, encodeClicks([click]));
  await until('inserts are refused', () => clickhouse.refused > before);
  expect(await settled(of, { sinceMs: nowMs - 1_000 })).toMatchObject({ ok: false, why: 'behind' });
  expect(await settled(other, { sinceMs: nowMs - 1_000 })).toMatchObject({ ok: true });
});
