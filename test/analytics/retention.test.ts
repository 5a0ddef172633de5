// How long ClickHouse keeps what, on both sides of each limit, and that a changed setting also applies to rows that are
// there already. The days are made up of rows that were accepted so long ago.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dropTestRows, keepRowsFor } from '../../analytics/store/retention.ts';
import { trimRows } from '../../analytics/store/trim.ts';
import { BadConfiguration } from '../../config/bad-configuration.ts';
import { parseConfiguration } from '../../config/parse.ts';
import { retentionDefault } from '../../config/retention-schema.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { until } from '../support/until.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';

let events: EventStore;
beforeAll(async () => {
  events = await startEventStore();
  await keepRowsFor(events.engine, retentionDefault);
});
afterAll(() => events.stop());

const dayMs = 86_400_000;

type Row = {
  readonly id: string;
  readonly daysAgo: number;
  readonly livemode?: boolean;
  readonly recipient?: string;
  readonly inbound?: string;
  readonly scheduledDaysAgo?: number;
};

/** Each row in a part of its own. */
async function record(rows: readonly Row[]): Promise<void> {
  const ago = (days: number) => ((systemClock.nowMs() - days * dayMs) / 1_000).toFixed(3);
  for (const { id, daysAgo, livemode = true, recipient = '+8801712345678', inbound = '', scheduledDaysAgo } of rows) {
    const at = ago(daysAgo);
    const due = scheduledDaysAgo === undefined ? '1970-01-01 00:00:00' : ago(scheduledDaysAgo);
    await events.engine.insert(
      'sms_events (event_id, kind, account_id, message_id, at, accepted_at, recorded_at, scheduled_at, livemode, recipient, inbound)',
      Buffer.from(
        `${id.padStart(26, '0')}\taccepted\tacc\t${id}\t${at}\t${at}\t${at}\t${due}\t${livemode ? 1 : 0}\t${recipient}\t${inbound}\n`,
      ),
    );
  }
}

const idsIn = async (table: string, like: string) =>
  (
    await events.engine.rows(
      `SELECT message_id FROM ${table} WHERE message_id LIKE {like:String} ORDER BY message_id`,
      {
        like,
      },
    )
  ).map(([id]) => id);
const cell = async (id: string, column: string) =>
  (await events.engine.rows(`SELECT ${column} FROM sms_events WHERE message_id = {id:String}`, { id }))[0]?.[0];

test('live and test messages go after their own days, and none before', async () => {
  await record([
    { id: 'a_live_young', daysAgo: 399, recipient: '16247' },
    { id: 'a_live_old', daysAgo: 401 },
    { id: 'a_test_young', daysAgo: 29, livemode: false },
    { id: 'a_test_old', daysAgo: 31, livemode: false },
  ]);
  await until('the old ones are gone', async () => (await idsIn('sms_events', 'a\\_%')).length === 2);
  expect(await idsIn('sms_events', 'a\\_%')).toEqual(['a_live_young', 'a_test_young']);
});

test('clicks go after theirs, with the messages of their codes', async () => {
  for (const table of ['link_codes', 'link_clicks']) {
    for (const days of [399, 401]) {
      const at = ((systemClock.nowMs() - days * dayMs) / 1_000).toFixed(3);
      await events.engine.insert(
        `${table} (code, message_id, account_id, livemode, accepted_at)`,
        Buffer.from(`${days}\tc_${days}\tacc\t1\t${at}\n`),
      );
    }
    await until('the old one is gone', async () => (await idsIn(table, 'c\\_%')).length === 1);
    expect(await idsIn(table, 'c\\_%')).toEqual(['c_399']);
  }
});

/** Of tables with partitions of a month: the columns of its time, of a name for the row, and one that may not be 0. */
const ofBothModes: Readonly<Record<string, readonly [time: string, id: string, count?: string]>> = {
  otps: ['started_at', 'otp_id'],
  otp_messages: ['accepted_at', 'message_id'],
  otp_guard_decisions: ['at', 'rule'],
  otp_summaries: ['ten_minutes', 'account_id'],
  otp_late_changes: ['ten_minutes', 'account_id', 'changes'],
  link_clicks: ['accepted_at', 'click_id'],
  link_codes: ['accepted_at', 'message_id'],
};

async function insertRows(table: string, rows: readonly (readonly [id: string, live: boolean, daysAgo: number])[]) {
  const [time = '', id = '', count] = ofBothModes[table] ?? [];
  const lines = rows.map(([of, live, daysAgo]) => {
    const at = Math.floor((systemClock.nowMs() - daysAgo * dayMs) / 1_000);
    return [of, live ? 1 : 0, at, ...(count === undefined ? [] : [1])].join('\t');
  });
  const columns = [id, 'livemode', time, ...(count === undefined ? [] : [count])].join(', ');
  await events.engine.insert(`${table} (${columns})`, Buffer.from(`${lines.join('\n')}\n`));
}

test('parts with test rows alone are dropped after test_history_days', async () => {
  for (const [table, [, id]] of Object.entries(ofBothModes)) {
    if (table === 'link_codes') continue;
    await insertRows(table, [['alone', false, 31]]);
    const rows = `SELECT toUInt32(count()) FROM ${table} WHERE ${id} = 'alone'`;
    await until(`the row of ${table} is gone`, async () => (await events.engine.rows(rows))[0]?.[0] === 0);
  }
});

test.each(Object.entries(ofBothModes))(
  'test rows of %s go after test_history_days, live ones stay',
  async (table, [, id]) => {
    const linkDays = 1;
    const kept = { ...retentionDefault, testHistoryDays: 60 };
    await keepRowsFor(events.engine, kept, linkDays);
    // Of another month each, whatever day it is, and both modes in one part.
    for (const days of [200, 59])
      await insertRows(table, [
        [`live_${days}`, true, days],
        [`test_${days}`, false, days],
      ]);
    const sql = `SELECT ${id} FROM ${table} WHERE match(${id}, '^(live|test)_') ORDER BY 1`;
    const left = async () => (await events.engine.rows(sql)).flat();
    expect(await left()).toEqual(['live_200', 'live_59', 'test_200', 'test_59']);
    const drop = () => dropTestRows(events.engine, kept, linkDays, { clock: systemClock });
    expect(await drop()).toHaveLength(1);
    expect(await left()).toEqual(['live_200', 'live_59', 'test_59']);
    expect(await drop()).toEqual([]);
    await keepRowsFor(events.engine, retentionDefault);
  },
);

test('with fewer days for clicks than links lead on, the messages of codes are kept for as long as the links', async () => {
  // A message may be sent 36 days after it was accepted, and a series of codes is shared by the messages of a day.
  const keptDays = 90 + 36 + 2;
  await keepRowsFor(events.engine, { ...retentionDefault, clicksDays: 1 }, 90);
  for (const table of ['link_codes', 'link_clicks']) {
    // Of another month: a part that is dropped has rows of one month, and is dropped when all of them are old.
    for (const days of [keptDays - 1, keptDays + 32]) {
      const at = ((systemClock.nowMs() - days * dayMs) / 1_000).toFixed(3);
      await events.engine.insert(
        `${table} (code, message_id, account_id, livemode, accepted_at)`,
        Buffer.from(`${days}\tl_${days}\tacc\t1\t${at}\n`),
      );
    }
  }
  const left = async () => (await Promise.all([idsIn('link_codes', 'l\\_%'), idsIn('link_clicks', 'l\\_%')])).flat();
  await until('the others are gone', async () => (await left()).length <= 1);
  expect(await left()).toEqual([`l_${keptDays - 1}`]);
  await keepRowsFor(events.engine, retentionDefault);
});

test('a shorter time also applies to what is there, at the next start; the same settings change nothing', async () => {
  const changes = async () =>
    Number((await events.engine.rows('SELECT toUInt32(count()) FROM system.mutations'))[0]?.[0]);
  // Numbers that are not cut: the next test counts the months in which some are.
  await record([
    { id: 'b_young', daysAgo: 99, recipient: '16247' },
    { id: 'b_old', daysAgo: 101, recipient: '16247' },
  ]);
  const before = await changes();
  await keepRowsFor(events.engine, retentionDefault);
  expect(await changes()).toBe(before);
  expect(await idsIn('sms_events', 'b\\_%')).toEqual(['b_old', 'b_young']);
  await keepRowsFor(events.engine, { ...retentionDefault, historyDays: 100 });
  await until('the old one is gone', async () => (await idsIn('sms_events', 'b\\_%')).length === 1);
  expect(await idsIn('sms_events', 'b\\_%')).toEqual(['b_young']);
  await keepRowsFor(events.engine, retentionDefault);
});

test('numbers are cut to their last four digits after their days, once, and texts are cut out after theirs', async () => {
  const text = (body: string) => JSON.stringify({ parts: 1, receivedId: 'r', ...(body === '' ? {} : { body }) });
  await record([
    { id: 'd_young', daysAgo: 89 },
    { id: 'd_old', daysAgo: 91.1 },
    { id: 'd_waited', daysAgo: 91.1, scheduledDaysAgo: 80 },
    { id: 'd_short', daysAgo: 91.1, recipient: '16247' },
    { id: 'd_refused', daysAgo: 91.1, recipient: '+88017******78' },
    { id: 'd_text_young', daysAgo: 89, inbound: text('c2VhbGVk') },
    { id: 'd_text_old', daysAgo: 91.1, inbound: text('c2VhbGVk') },
  ]);
  const { numbers, texts } = await trimRows(events.engine, retentionDefault, systemClock);
  expect([numbers.length, texts.length]).toEqual([1, 1]);
  expect(await cell('d_young', 'recipient')).toBe('+8801712345678');
  expect(await cell('d_waited', 'recipient')).toBe('+8801712345678');
  expect(await cell('d_old', 'recipient')).toBe('**********5678');
  expect(await cell('d_short', 'recipient')).toBe('16247');
  expect(await cell('d_refused', 'recipient')).toBe('+88017******78');
  expect(JSON.parse((await cell('d_text_young', 'inbound')) as string)).toHaveProperty('body');
  expect(JSON.parse((await cell('d_text_old', 'inbound')) as string)).toEqual({ parts: 1, receivedId: 'r' });
  // Nothing is changed a second time.
  expect(await trimRows(events.engine, retentionDefault, systemClock)).toEqual({ numbers: [], texts: [] });
});

test('days beyond the bounds, and words, stop the start with what was expected', () => {
  const file = (key: string, days: unknown) =>
    parseConfiguration(
      `country: { pack: bd, carriers: { grameenphone: one, banglalink: null, robi: null, teletalk: null } }\ncarriers: [{ name: one, tps: 1, simulate: true }]\nretention: { ${key}: ${String(days)} }\n`,
      'heliograph.yaml',
      {},
    );
  const { clearDaysMin, daysMax, webhookDaysMax } = limits.retention;
  const bounds: Readonly<Record<string, readonly [number, number]>> = {
    history_days: [1, daysMax],
    test_history_days: [1, daysMax],
    clicks_days: [1, daysMax],
    inbound_text_days: [1, daysMax],
    numbers_clear_days: [clearDaysMin, daysMax],
    webhook_days: [1, webhookDaysMax],
  };
  for (const [key, [min, max]] of Object.entries(bounds)) {
    for (const days of [min, max]) expect(() => file(key, days)).not.toThrow();
    for (const days of [min - 1, max + 1, 'many', 1.5]) expect(() => file(key, days)).toThrow(BadConfiguration);
  }
  expect(() => file('history_dayz', 3)).toThrow(BadConfiguration);
});
