// Clicks are published: each once under one id with its class, also when the recorder is killed before it had written
// them.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { streamNames } from '../../cluster/bus/streams.ts';
import { clicksSubject, issuedLinksSubject } from '../../cluster/bus/subjects.ts';
import type { ClickFact } from '../../model/fact.ts';
import { newClickId } from '../../model/ids.ts';
import { type Click, encodeClicks, encodeIssued } from '../../model/records/click-record.ts';
import { decodeFacts } from '../../model/records/fact-record.ts';
import { linkTarget } from '../../model/records/link-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { recordsOf } from '../support/bus.ts';
import { until } from '../support/until.ts';
import { type TestClickHouse, startClickHouse } from './support/clickhouse-server.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { account, contextOf, lifeOf } from './support/events.ts';
import { type RunningRole, startRole } from './support/role.ts';

let events: EventBus;
let clickhouse: TestClickHouse;
let role: RunningRole | null = null;

beforeEach(async () => {
  [events, clickhouse] = await Promise.all([startEventBus(), startClickHouse()]);
});
afterEach(async () => {
  await role?.end('SIGKILL');
  role = null;
  await events.stop();
  await clickhouse.stop();
});

const start = async () => {
  role = await startRole(events.nats.url, events.dataDir, { CLICKHOUSE_URL: clickhouse.url });
};
const target = linkTarget(account, true, 'https://shop.example.org/sale');
const human = 'Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36';

function clickOn(more: Partial<Click> = {}): Click {
  const atMs = systemClock.nowMs();
  return {
    ...{ clickId: newClickId(atMs), series: 9, index: 1, accountId: account, livemode: true, linkId: target.linkId },
    ...{ url: target.url, atMs, isHead: false, isPrefetch: false, hasLanguage: true, userAgent: human },
    ...{ addressHash: 'a', address: '192.0.2.7', ...more },
  };
}
const put = (clicks: readonly Click[]) => events.bus.jetstream.publish(clicksSubject, encodeClicks(clicks));
const facts = async () =>
  (await recordsOf(events.bus, streamNames.facts)).flatMap(({ data }) => decodeFacts(data) as readonly ClickFact[]);

test('with its message, its class and the reasons, and never with an address', async () => {
  await start();
  const context = contextOf({ acceptedAtMs: systemClock.nowMs() - 10_000, campaignId: 'cmp_1' });
  const { messageId, accountId, livemode, category, sender, carrier, acceptedAtMs } = context;
  const { campaignId, variantId, templateId } = context;
  const issued = { messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId };
  const links = [{ series: 9, index: 1, linkId: target.linkId, url: target.url }];
  await events.bus.jetstream.publish(
    issuedLinksSubject,
    encodeIssued({ ...issued, acceptedAtMs, dueAtMs: acceptedAtMs, links }),
  );
  await events.publish(lifeOf(context));
  const clicks = [clickOn(), clickOn({ isHead: true }), clickOn({ index: 900_000 })];
  await put(clicks);
  await until('three facts', async () => (await facts()).length === 3);
  const found = await facts();
  const byId = clicks.map(({ clickId }) => found.find((fact) => fact.clickId === clickId));
  expect(byId.map((fact) => [fact?.class, fact?.reasons, fact?.messageId])).toEqual([
    ['human', [], messageId],
    ['scanner', ['head'], messageId],
    ['scanner', ['not_sent'], null],
  ]);
  expect(byId[0]).toMatchObject({ url: target.url, campaignId: 'cmp_1', livemode: true, accountId: account });
  expect(JSON.stringify(found)).not.toContain('192.0.2.7');
});

test('once, when the recorder is killed before ClickHouse had them', async () => {
  await start();
  clickhouse.weather = 'read-only';
  const clicks = Array.from({ length: 20 }, () => clickOn());
  await put(clicks);
  await until('inserts are refused', () => clickhouse.refused > 1);
  await role?.end('SIGKILL');
  clickhouse.weather = 'fine';
  await start();
  await until('all are recorded', async () => {
    const [row] = await clickhouse.rows('SELECT toUInt32(count()) FROM link_clicks');
    return row?.[0] === clicks.length;
  });
  const ids = (await facts()).map(({ eventId }) => eventId);
  expect(new Set(ids).size).toBe(clicks.length);
  expect(ids.length).toBe(clicks.length);
  // They came together, and were published together.
  expect((await recordsOf(events.bus, streamNames.facts)).length).toBe(1);
});
