// Whether a click is of a burst does not depend on which clicks are recorded together, nor on a recorder that is killed
// between them or before their insert. The codes of these clicks were never sent: each stands for a message of its own.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { streamNames } from '../../cluster/bus/streams.ts';
import { clicksSubject } from '../../cluster/bus/subjects.ts';
import type { ClickFact } from '../../model/fact.ts';
import { newClickId } from '../../model/ids.ts';
import { type Click, encodeClicks } from '../../model/records/click-record.ts';
import { decodeFacts } from '../../model/records/fact-record.ts';
import { linkTarget } from '../../model/records/link-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { recordsOf } from '../support/bus.ts';
import { until } from '../support/until.ts';
import { type TestClickHouse, startClickHouse } from './support/clickhouse-server.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { account } from './support/events.ts';
import { type RunningRole, startRole } from './support/role.ts';

let events: EventBus;
let clickhouse: TestClickHouse;
let role: RunningRole | null = null;

beforeEach(async () => {
  [events, clickhouse] = await Promise.all([startEventBus(), startClickHouse()]);
  await start();
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
const startAgain = async () => {
  await role?.end('SIGKILL');
  clickhouse.weather = 'fine';
  await start();
};

const target = linkTarget(account, true, 'https://shop.example.org/sale');
const human = 'Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36';
let codes = 0;

function clickAt(atMs: number, addressHash: string): Click {
  return {
    ...{ clickId: newClickId(atMs), series: 9, index: (codes += 1), accountId: account, livemode: true, atMs },
    ...{ linkId: target.linkId, url: target.url, isHead: false, isPrefetch: false, hasLanguage: true },
    ...{ userAgent: human, addressHash, address: null },
  };
}
const put = (clicks: readonly Click[]) => events.bus.jetstream.publish(clicksSubject, encodeClicks(clicks));

async function recorded(): Promise<ReadonlyMap<string, string>> {
  const rows = await clickhouse.rows("SELECT click_id, arrayStringConcat(reasons, ',') FROM link_clicks");
  return new Map(rows.map(([id, reasons]) => [String(id), String(reasons)]));
}
const untilRecorded = (count: number) => until(`${count} clicks`, async () => (await recorded()).size >= count);
/** The counts of clicks are the last insert of a batch. */
const untilCounted = (count: number) =>
  until(`${count} counted clicks`, async () => {
    const [row] = await clickhouse.rows("SELECT toUInt32(sum(counts)) FROM click_counts WHERE what = 'clicks'");
    return Number(row?.[0]) === count;
  });

/** One an hour before, eight within a second, and one a minute later. */
const times = [-3_600_000, ...Array.from({ length: 8 }, (_, at) => at * 100), 60_000];
const alone = 'not_sent';
const expected = times.map((_, at) => (at > limits.clicks.burstMessagesMax && at < 9 ? `${alone},burst` : alone));

const cases: [how: string, sizes: readonly number[], killedAfter: readonly number[]][] = [
  ['all at once', [10], []],
  ['one by one', Array.from({ length: 10 }, () => 1), []],
  ['in three pieces', [4, 3, 3], []],
  ['in three pieces, with a kill after each', [4, 3, 3], [4, 7]],
];
test.each(cases)('clicks that are recorded %s', async (_, sizes, killedAfter) => {
  const nowMs = systemClock.nowMs();
  const clicks = times.map((ms) => clickAt(nowMs + ms, 'one address'));
  let sent = 0;
  for (const size of sizes) {
    await put(clicks.slice(sent, sent + size));
    sent += size;
    await untilRecorded(sent);
    if (killedAfter.includes(sent)) await startAgain();
  }
  const found = await recorded();
  expect(clicks.map(({ clickId }) => found.get(clickId))).toEqual(expected);
});

test('clicks that are published and not yet inserted when the recorder is killed', async () => {
  const { burstMessagesMax } = limits.clicks;
  const nowMs = systemClock.nowMs();
  const clicks = Array.from({ length: burstMessagesMax + 3 }, (_, at) => clickAt(nowMs + at, 'one address'));
  await put(clicks.slice(0, burstMessagesMax));
  // Else the counts of this batch may be the insert that is refused, and the next batch waits for it.
  await untilCounted(burstMessagesMax);
  clickhouse.weather = 'read-only';
  const before = clickhouse.refused;
  await put(clicks.slice(burstMessagesMax));
  await until('inserts are refused', () => clickhouse.refused > before);
  const facts = async () =>
    (await recordsOf(events.bus, streamNames.facts)).flatMap(({ data }) => decodeFacts(data) as readonly ClickFact[]);
  await until('all are published', async () => (await facts()).length === clicks.length);
  await startAgain();
  await untilRecorded(clicks.length);
  const reasons = clicks.map((_, at) => (at < burstMessagesMax ? alone : `${alone},burst`));
  const [rows, published] = [await recorded(), await facts()];
  expect(clicks.map(({ clickId }) => rows.get(clickId))).toEqual(reasons);
  const said = clicks.map(({ clickId }) => published.find((fact) => fact.clickId === clickId)?.reasons.join());
  expect(said).toEqual(reasons);
});
