// Processes that are killed around an upgrade: a recorder before it, whose last batch is repeated after it and feeds the new
// views once more, and the upgrading process itself. The tables that were filled add up to their counts afterwards.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ClickRecording, recordClicks } from '../../analytics/clicks/record-clicks.ts';
import { startRecorder } from '../../analytics/recorder/recorder.ts';
import { type Engine, clickhouseDir, openEngine } from '../../analytics/store/engine.ts';
import { type SchemaFile, applySchema, schemaFiles } from '../../analytics/store/schema.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { clicksSubject, issuedLinksSubject } from '../../cluster/bus/subjects.ts';
import { newClickId } from '../../model/ids.ts';
import { encodeClicks, encodeIssued } from '../../model/records/click-record.ts';
import { linkTarget } from '../../model/records/link-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { expectExactClicks } from '../support/recount-clicks.ts';
import { patienceMs, until } from '../support/until.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { account, contextOf, lifeOf } from './support/events.ts';
import { newerVersions } from './support/older-store.ts';

let events: EventBus;
let publisher: Publisher;
let engine: Engine | null = null;

beforeEach(async () => {
  events = await startEventBus();
  publisher = new Publisher(events.bus);
});
afterEach(async () => {
  publisher.close();
  await engine?.close();
  engine = null;
  await events.stop();
});

/** Resolves when it was killed. */
async function killed(script: string, ...words: string[]): Promise<void> {
  const path = new URL(`support/${script}`, import.meta.url).pathname;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', path, ...words], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
}

const open = () => (engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(events.dataDir) }));
const rows = (sql: string) => (engine as Engine).rows(sql, {}, patienceMs);
const checked = () =>
  until('what was filled is compared', async () => {
    const [left] = await rows('SELECT toUInt32(count()) FROM schema_fills FINAL WHERE is_checked = 0');
    return left?.[0] === 0;
  });

/** Messages with a link each, of two months, and clicks on them. */
async function publishClicks(messages: number): Promise<void> {
  const { linkId, url } = linkTarget(account, true, 'https://shop.example.org/');
  for (let index = 1; index <= messages; index += 1) {
    const acceptedAtMs = systemClock.nowMs() - 10_000 - (index % 2) * 40 * 86_400_000;
    const campaign = index % 3 === 0 ? { campaignId: 'cmp_1', variantId: 'a' } : {};
    const { messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId } = contextOf({
      ...{ acceptedAtMs, category: 'promotional' },
      ...campaign,
    });
    const facts = { messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId };
    const link = { series: 9, index, linkId, url };
    const issued = encodeIssued({ ...facts, acceptedAtMs, dueAtMs: acceptedAtMs, links: [link] });
    const click = (atMs: number, isHead: boolean) => ({
      ...{
        ...link,
        accountId,
        livemode,
        atMs,
        isHead,
        clickId: newClickId(atMs),
        isPrefetch: false,
        hasLanguage: true,
      },
      ...{ userAgent: 'Mozilla/5.0', address: null, addressHash: String(index) },
    });
    const clicks = [click(acceptedAtMs + 5_000, false), click(acceptedAtMs + 6_000, true)];
    await events.bus.jetstream.publish(issuedLinksSubject, issued);
    await events.bus.jetstream.publish(clicksSubject, encodeClicks(clicks));
  }
}

function startClicks(): ClickRecording {
  const parts = { bus: events.bus, engine: engine as Engine, publisher, clock: systemClock };
  return recordClicks({ ...parts, receipts: async () => new Map() });
}

test('a recorder of clicks before the upgrade: the batch that it left is in every tier once', async () => {
  await publishClicks(30);
  await killed('click-recorder-child.ts', events.nats.url, events.dataDir);
  expect(await applySchema(open())).toEqual(newerVersions);
  const counted = await rows('SELECT toInt32(sum(counts)) FROM click_counts');
  expect(Number(counted[0]?.[0])).toBeGreaterThan(0);
  const recording = startClicks();
  await checked();
  await recording.stop(5_000);
  expect(await rows('SELECT toInt32(sum(counts)) FROM click_counts')).toEqual(counted);
  expect(await expectExactClicks(rows)).toMatchObject({ messages: 30, clicks: 60 });
});

/** A later version, which fills a table from what the recorder of events counts. */
const later: SchemaFile = {
  version: schemaFiles().length + 1,
  name: 'later.sql',
  statements: [
    `CREATE TABLE IF NOT EXISTS sender_counts (account_id LowCardinality(String), slot DateTime('UTC'), sender LowCardinality(String), messages Int64)
      ENGINE = SummingMergeTree(messages) PARTITION BY toYYYYMM(slot) ORDER BY (account_id, slot, sender)
      SETTINGS non_replicated_deduplication_window = 1000`,
    `CREATE MATERIALIZED VIEW IF NOT EXISTS sender_counts_feed TO sender_counts AS
      SELECT account_id, slot, sender, sum(messages) AS messages FROM message_counts GROUP BY account_id, slot, sender`,
    'FILL sender_counts_feed',
  ],
};

test('a recorder of events before a later one that fills: the same', async () => {
  const lives = Array.from({ length: 40 }, (_, at) => {
    const context = contextOf({ sender: `S${String(at % 3)}` });
    return lifeOf({ ...context, acceptedAtMs: context.acceptedAtMs - (at % 2) * 40 * 86_400_000 });
  });
  await events.publish(lives.flat());
  await killed('recorder-child.ts', events.nats.url, events.dataDir, 'message_counts');
  expect(await applySchema(open(), { files: [...schemaFiles(), later] })).toEqual([later.version]);
  const recorder = await startRecorder({ bus: events.bus, engine: engine as Engine, publisher });
  try {
    const sums = (table: string) =>
      rows(
        `SELECT toUnixTimestamp(slot), sender, toInt32(sum(messages)) AS n FROM ${table} GROUP BY slot, sender HAVING n != 0 ORDER BY ALL`,
      );
    await until('the batch is repeated', () => recorder.recordedTo === 1);
    const ofClicks = "view IN ('click_tiers_feed', 'campaign_click_tiers_feed')";
    await until('what was filled is compared', async () => {
      const [left] = await rows(
        `SELECT toUInt32(count()) FROM schema_fills FINAL WHERE is_checked = 0 AND NOT ${ofClicks}`,
      );
      return left?.[0] === 0;
    });
    expect(await sums('sender_counts')).toEqual(await sums('message_counts'));
    expect((await sums('message_counts')).length).toBeGreaterThan(5);
    // It goes on recording, and the view counts what is new.
    await events.publish(lifeOf(contextOf({ sender: 'S9' })));
    await until('the next is recorded', () => recorder.recordedTo === 2);
    expect(await sums('sender_counts')).toEqual(await sums('message_counts'));
  } finally {
    await recorder.stop(5_000);
  }
});

test.each([
  'CREATE MATERIALIZED VIEW IF NOT EXISTS click_tiers_feed',
  'schema_fills',
  'click_tiers (',
  'campaign_click_tiers (',
])('the upgrading process itself, after "%s": the next one makes it whole', async (last) => {
  await publishClicks(10);
  await killed('click-recorder-child.ts', events.nats.url, events.dataDir);
  await killed('upgrade-child.ts', events.dataDir, last);
  await applySchema(open());
  const recording = startClicks();
  await checked();
  await recording.stop(5_000);
  expect(await expectExactClicks(rows)).toMatchObject({ messages: 10, clicks: 20 });
});
