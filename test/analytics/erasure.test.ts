// An erasure in the event store: nothing of the person is in the tables or in the files of the folder, all others
// are; events that come later are left out, and codes and clicks that come later go with the second run; a store that lacks
// an erasure, because it was restored, carries it out.
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AnalyticsNode, startAnalytics } from '../../analytics/analytics-node.ts';
import { type EraseRowsReply, querySubjects } from '../../analytics/contract.ts';
import { type Engine, clickhouseDir, openEngine } from '../../analytics/store/engine.ts';
import { applySchema } from '../../analytics/store/schema.ts';
import { type Erasure, erasureJobs, newErasure, orderErasure } from '../../cluster/bus/erasures.ts';
import { numberKey } from '../../cluster/bus/installation-secret.ts';
import { clicksSubject, issuedLinksSubject } from '../../cluster/bus/subjects.ts';
import type { EventContext } from '../../model/delivery-event.ts';
import { newAccountId, newClickId } from '../../model/ids.ts';
import { NumberHashes } from '../../model/number-hash.ts';
import { encodeClicks, encodeIssued } from '../../model/records/click-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { patienceMs, until } from '../support/until.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { contextOf, lifeOf } from './support/events.ts';

const person = '+8801999000111';
const neighbour = '+8801999000112';
const clicker = '+8801999000113';
const other = newAccountId(1_700_000_000_001);

let events: EventBus;
let numbers: NumberHashes;
let engine: Engine;
let node: AnalyticsNode;
const open = async () => {
  engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(events.dataDir) });
  await applySchema(engine);
  node = await startAnalytics(events.bus, engine);
};
const close = async () => {
  await node.stop(5_000);
  await engine.close();
};
beforeAll(async () => {
  events = await startEventBus();
  numbers = new NumberHashes(await numberKey(events.bus));
  await open();
});
afterAll(async () => {
  await close();
  await events.stop();
});

const erasureOf = (number: string, more: Partial<Erasure> = {}): Erasure => ({
  ...newErasure(systemClock.nowMs(), {
    ...numbers.markOf(number),
    accountId: null,
    atMs: systemClock.nowMs(),
    by: { name: 'operator', from: 'test' },
  }),
  ...more,
});

async function done(erasure: Erasure, notBeforeMs = 0) {
  return until('the erasure is done', async () => {
    const asked = JSON.stringify({ erasure, notBeforeMs });
    const reply = await events.bus.connection.request(querySubjects.eraseRows, asked, { timeout: 10_000 });
    const said = reply.json<EraseRowsReply>();
    return said.result === 'done' ? said.removed : null;
  });
}

/** As long as a busy machine needs. */
const rows: Engine['rows'] = (sql, params = {}) => engine.rows(sql, params, patienceMs);
const rowsOf = async (number: string) =>
  Number(
    (await rows(`SELECT toUInt32(count()) FROM sms_events WHERE recipient = {number:String}`, { number }))[0]?.[0],
  );
const recorded = (number: string, rows: number) => until(`${rows} rows`, async () => (await rowsOf(number)) === rows);

/** The files below a folder whose octets hold the text. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile() && readFileSync(file).includes(text));
}

test('removes a person from every table and from the files, and no other person', async () => {
  const [mine, theirs] = [contextOf({ recipient: person }), contextOf({ recipient: neighbour })];
  const elsewhere = contextOf({ recipient: person, accountId: other });
  await events.publish([...lifeOf(mine), ...lifeOf(theirs), ...lifeOf(elsewhere)]);
  await recorded(person, 6);
  for (const { messageId } of [mine, theirs]) {
    await engine.insert('link_codes (code, message_id, accepted_at)', Buffer.from(`1\t${messageId}\t${now()}\n`));
    await engine.insert('link_clicks (click_id, message_id, accepted_at)', Buffer.from(`c\t${messageId}\t${now()}\n`));
  }
  const folder = clickhouseDir(events.dataDir);
  expect(filesWith(folder, person).length).toBeGreaterThan(0);

  // Of one account first.
  const ofOther = erasureOf(person, { accountId: other });
  await orderErasure(events.bus, ofOther);
  expect(await done(ofOther)).toEqual({ messages: 1, sms_events: 3, sms_submits: 1, link_codes: 0, link_clicks: 0 });
  expect(await rowsOf(person)).toBe(3);

  const ofAll = erasureOf(person);
  await orderErasure(events.bus, ofAll);
  expect(await done(ofAll)).toEqual({ messages: 1, sms_events: 3, sms_submits: 1, link_codes: 1, link_clicks: 1 });
  expect([await rowsOf(person), await rowsOf(neighbour)]).toEqual([0, 3]);
  for (const table of ['sms_submits', 'link_codes', 'link_clicks']) {
    const left = await rows(`SELECT message_id FROM ${table}`);
    expect([table, left.flat()]).toEqual([table, [theirs.messageId]]);
  }
  expect(filesWith(folder, person)).toEqual([]);
  expect(filesWith(folder, neighbour).length).toBeGreaterThan(0);
});

test('what was accepted before it is left out however late it comes, and what is accepted later is recorded', async () => {
  const [late, fresh] = [
    contextOf({ recipient: person, acceptedAtMs: systemClock.nowMs() - 3_600_000 }),
    contextOf({ recipient: person, acceptedAtMs: systemClock.nowMs() + 1 }),
  ];
  await events.publish([...lifeOf(late), ...lifeOf(fresh)]);
  await recorded(person, 3);
  const found = await rows('SELECT DISTINCT message_id FROM sms_events WHERE recipient = {person:String}', {
    person,
  });
  expect(found.flat()).toEqual([fresh.messageId]);
});

const url = 'https://shop.example.org/offer';

/** The code of one link of the message, as an entry point publishes it. */
async function issue(
  { accountId, livemode, messageId, category, sender, carrier, ...more }: EventContext,
  index: number,
) {
  const { campaignId, variantId, templateId, acceptedAtMs } = more;
  const facts = { messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId };
  const links = [{ series: 9, index, linkId: 'lnk_1', url }];
  const octets = encodeIssued({ ...facts, acceptedAtMs, dueAtMs: acceptedAtMs, links });
  await events.bus.jetstream.publish(issuedLinksSubject, octets);
}

async function click({ accountId, livemode }: EventContext, index: number) {
  const atMs = systemClock.nowMs();
  const of = { clickId: newClickId(atMs), accountId, livemode, linkId: 'lnk_1', url, series: 9, index, atMs };
  const request = { isHead: false, isPrefetch: false, hasLanguage: true, userAgent: 'Mozilla/5.0', addressHash: 'a' };
  await events.bus.jetstream.publish(clicksSubject, encodeClicks([{ ...of, ...request, address: null }]));
}

const countOf = async (table: string, { messageId }: EventContext) => {
  const sql = `SELECT toUInt32(count()) FROM ${table} WHERE message_id = {messageId:String}`;
  return Number((await rows(sql, { messageId }))[0]?.[0]);
};
const hasRows = (table: string, context: EventContext) =>
  until(`${table} has it`, async () => (await countOf(table, context)) > 0);

test('codes and clicks are deleted of a message whose events were all left out', async () => {
  // As after an outage of ClickHouse: the recorders read what is before the erasure when they know of it.
  await close();
  const [mine, theirs] = [contextOf({ recipient: clicker }), contextOf({ recipient: neighbour })];
  await issue(mine, 1);
  await click(mine, 1);
  await issue(theirs, 2);
  await click(theirs, 2);
  await events.publish([...lifeOf(mine), ...lifeOf(theirs)]);
  const erasure = erasureOf(clicker);
  await orderErasure(events.bus, erasure);
  await open();
  await done(erasure);
  for (const table of ['link_codes', 'link_clicks']) {
    await hasRows(table, theirs);
    expect([table, await countOf(table, mine)]).toEqual([table, 0]);
  }
});

test('codes and clicks that are recorded after the first run are deleted by the second, also after a restart', async () => {
  const [mine, theirs] = [contextOf({ recipient: clicker }), contextOf({ recipient: neighbour })];
  await events.publish([...lifeOf(mine), ...lifeOf(theirs)]);
  await until('it is recorded', async () => (await countOf('sms_events', mine)) === 3);
  const late = contextOf({ recipient: clicker });
  const erasure = erasureOf(clicker);
  await orderErasure(events.bus, erasure);
  const firstRun = await done(erasure);

  await events.publish(lifeOf(late));
  for (const [at, context] of [mine, late, theirs].entries()) {
    await issue(context, at + 3);
    await click(context, at + 3);
  }
  for (const context of [mine, late, theirs]) await hasRows('link_clicks', context);
  await close();
  await open();
  expect(await done(erasure)).toEqual(firstRun);
  const secondRunMs = systemClock.nowMs();
  const secondRun = await done(erasure, secondRunMs);
  expect(await done(erasure, secondRunMs)).toEqual(secondRun);
  for (const table of ['link_codes', 'link_clicks']) {
    const left = await Promise.all([mine, late, theirs].map((context) => countOf(table, context)));
    expect([table, left]).toEqual([table, [0, 0, 1]]);
  }
});

test('a store restored from before it erases again when it starts, and a NATS without it learns of it', async () => {
  const backup = mkdtempSync(join(tmpdir(), 'heliograph-backup-'));
  const folder = clickhouseDir(events.dataDir);
  await close();
  cpSync(folder, backup, { recursive: true });
  await open();
  const erasure = erasureOf(person);
  await orderErasure(events.bus, erasure);
  expect(await done(erasure)).toMatchObject({ messages: 1, sms_events: 3 });
  await close();

  rmSync(folder, { recursive: true });
  cpSync(backup, folder, { recursive: true });
  rmSync(backup, { recursive: true });
  expect(filesWith(folder, person).length).toBeGreaterThan(0);
  await open();
  // Recorded from the moment it began; nothing is answered.
  const why = 'the store was restored and is read when erasures are carried out again (1 left)';
  expect([node.unreadable, node.health()]).toEqual([why, { ok: true, detail: `recording; ${why}` }]);
  const fresh = contextOf({ recipient: neighbour });
  await events.publish(lifeOf(fresh));
  for (const [subject, query] of answeredToAccounts(fresh)) {
    const answer = await events.bus.connection.request(subject, JSON.stringify(query), { timeout: 5_000 });
    expect([subject, answer.json()]).toEqual([subject, { result: 'unavailable', why: 'away', detail: why }]);
  }
  await until('it is read again', () => node.unreadable === null);
  expect([await rowsOf(person), node.health().detail]).toEqual([0, 'recording']);
  await until('it was recorded', async () => (await countOf('sms_events', fresh)) === 3);
  expect(await done(erasure)).toMatchObject({ messages: 1, sms_events: 3 });
  expect(filesWith(folder, person)).toEqual([]);

  await close();
  const before = await erasureJobs(events.bus);
  await events.bus.manager.streams.purge('KV_erasures');
  expect(await erasureJobs(events.bus)).toEqual([]);
  await open();
  const hashes = (jobs: readonly Erasure[]) => jobs.map(({ id, hash }) => [id, hash]);
  await until('NATS has them', async () => (await erasureJobs(events.bus)).length === before.length);
  expect(hashes(await erasureJobs(events.bus))).toEqual(hashes(before));
});

/** A query of each kind. */
function answeredToAccounts({ accountId, messageId }: EventContext): readonly (readonly [string, object])[] {
  const of = { accountId, livemode: true };
  const time = { fromMs: 0, toMs: systemClock.nowMs() };
  return [
    [querySubjects.get, { ...of, messageId }],
    [querySubjects.list, { ...of, limit: 1 }],
    [querySubjects.report, { ...of, ...time, report: 'delivery', groupBy: [], timeZone: 'UTC', format: 'json' }],
    [querySubjects.report, { ...of, ...time, table: 'sms_events', format: 'json' }],
    [querySubjects.replayEvents, { ...of, ...time }],
  ];
}

const now = () => (systemClock.nowMs() / 1_000).toFixed(3);
