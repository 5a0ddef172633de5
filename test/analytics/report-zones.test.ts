// Days and hours of time zones in reports, over a message each half hour: they are those of Intl, whatever the event store
// knows of zones, and no statement says the name of one. The seconds of a row end at the present.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reports } from '../../analytics/reports/catalogue.ts';
import { throughput } from '../../analytics/reports/messages.ts';
import { type ReportQuery, nothingSummarized } from '../../analytics/reports/report.ts';
import { sizeOf, statementOf, summarizedStatement } from '../../analytics/reports/statement.ts';
import { reportRows } from '../support/report-rows.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';

const halfHourMs = 1_800_000;
const [fromMs, toMs] = [Date.UTC(2026, 0, 1), Date.UTC(2027, 2, 1)];
const accountId = 'acc_1';

let events: EventStore;

beforeAll(async () => {
  events = await startEventStore();
  const rows: string[] = [];
  for (let at = fromMs; at < toMs; at += halfHourMs) rows.push(`${accountId}\t1\t${at / 1_000}\t1\n`);
  await events.engine.insert('message_counts (account_id, livemode, slot, messages)', Buffer.from(rows.join('')));
});
afterAll(() => events?.stop());

/** Each half hour as a wall clock of the zone shows it. */
function wallClocks(timeZone: string) {
  const fields = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
  const names = { timeZone, hourCycle: 'h23', timeZoneName: 'longOffset', ...fields } as const;
  const format = new Intl.DateTimeFormat('en-US', names);
  const clocks: { readonly day: string; readonly hour: string; readonly minute: string; readonly offset: string }[] =
    [];
  for (let at = fromMs; at < toMs; at += halfHourMs) {
    const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    const { year, month, day, hour = '', minute = '', timeZoneName = '' } = part;
    const offset = timeZoneName.slice('GMT'.length) || '+00:00';
    clocks.push({ day: `${year}-${month}-${day}`, hour, minute, offset });
  }
  return clocks;
}

/** `[name, half hours]` of each row, in order. An hour ends with the hour, and where the clock changes. */
function expectedRows(clocks: ReturnType<typeof wallClocks>, by: 'day' | 'hour') {
  const rows: [string, number][] = [];
  let before: ReturnType<typeof wallClocks>[number] | undefined;
  for (const clock of clocks) {
    const { day, hour, minute, offset } = clock;
    const hasChanged = before !== undefined && before.offset !== offset;
    const isSame = by === 'day' ? before?.day === day : before?.hour === hour && !hasChanged && minute !== '00';
    const last = rows.at(-1);
    if (isSame && last !== undefined) last[1] += 1;
    // The first hour of the time may have begun before it.
    else rows.push([by === 'day' ? day : `${day}T${hour}:${hasChanged ? minute : '00'}:00${offset}`, 1]);
    before = clock;
  }
  return rows;
}

test.each([
  ...['UTC', 'Asia/Kolkata', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Australia/Adelaide'],
  // ClickHouse has other rules for some of these, or an offset that is a day off.
  ...['America/Vancouver', 'Africa/Casablanca', 'Pacific/Apia', 'Pacific/Kiritimati', 'Pacific/Kwajalein'],
  // The midnight that is left out, or comes twice.
  ...['Africa/Cairo', 'America/Santiago', 'Asia/Beirut', 'America/Havana', 'Atlantic/Azores', 'America/Nuuk'],
  ...['Antarctica/Troll', 'Pacific/Norfolk'],
])('in %s days and hours are those of Intl', async (timeZone) => {
  const clocks = wallClocks(timeZone);
  for (const by of ['day', 'hour'] as const) {
    const rows = await reportRows(events.engine, throughput, { accountId, fromMs, toMs, timeZone, groupBy: [by] });
    expect(rows.map((row) => [row[by], row['messages']])).toEqual(expectedRows(clocks, by));
    const isWrong = (row: (typeof rows)[number]) => row['seconds'] !== Number(row['messages']) * (halfHourMs / 1_000);
    expect(rows.filter(isWrong)).toEqual([]);
  }
});

test('no statement of any report has the name of a zone but UTC', () => {
  const zones = Intl.supportedValuesOf('timeZone').filter((_, at) => at % 8 === 0);
  expect(zones.length).toBeGreaterThan(50);
  const time = { fromMs, toMs: fromMs + 90 * 86_400_000 };
  const isZone = new Map<string, boolean>();
  const isName = (text: string) => {
    try {
      new Intl.DateTimeFormat('en-US', { timeZone: text });
      return /^[A-Za-z]/.test(text);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return false;
    }
  };
  for (const [at, timeZone] of zones.entries()) {
    const report = reports[at % reports.length] as (typeof reports)[number];
    for (const groupBy of [[], ['day'], ['hour'], ['hour', 'carrier']] as const) {
      const query: ReportQuery = {
        ...{ report: report.name, accountId, livemode: true, ...time, timeZone, groupBy, filters: {} },
        format: 'json',
      };
      const statements = [
        statementOf(report, query),
        sizeOf(report, query, nothingSummarized),
        summarizedStatement(report, query),
      ];
      for (const statement of statements) {
        for (const [, text = ''] of statement?.sql.matchAll(/'([^']*)'/g) ?? []) {
          if (!isZone.has(text)) isZone.set(text, isName(text));
          if (isZone.get(text)) expect([timeZone, report.name, text]).toEqual([timeZone, report.name, 'UTC']);
        }
      }
    }
  }
  expect(isZone.get('UTC')).toBe(true);
});

test('the seconds of a row end at the present, and are one at least', async () => {
  const begin = Date.UTC(2026, 9, 20, 12);
  const secondsAt = async (nowMs: number, groupBy: ReportQuery['groupBy']) => {
    const time = { fromMs: begin - 2 * 3_600_000, toMs: begin + halfHourMs, nowMs };
    const rows = await reportRows(events.engine, throughput, { accountId, ...time, timeZone: 'Asia/Kolkata', groupBy });
    return rows.map(({ seconds }) => seconds);
  };
  // 17:30 there: half an hour, two whole ones, and the half hour that began 18 s ago.
  expect(await secondsAt(begin + 18_000, ['hour'])).toEqual([1_800, 3_600, 1_818]);
  expect(await secondsAt(begin + 17_001, [])).toEqual([7_218]);
  expect(await secondsAt(begin + 18_000, ['day'])).toEqual([7_218]);
  expect(await secondsAt(begin + 7 * 86_400_000, ['hour'])).toEqual([1_800, 3_600, 3_600]);
  expect(await secondsAt(begin - 1_800_000, ['hour'])).toEqual([1_800, 3_600, 1]);
  const rates = { accountId, fromMs: begin, toMs: begin + halfHourMs, nowMs: begin };
  expect(await reportRows(events.engine, throughput, rates)).toMatchObject([{ seconds: 1, messages_per_second: 1 }]);
});
