// Reports by hour where clocks change, by half an hour on Lord Howe Island and by an hour elsewhere: every message is in one
// row, whose name no other has and is the moment at which its hour of the wall clock begins.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { throughput } from '../../analytics/reports/messages.ts';
import { timeZone } from '../../policy/country/time-zone.ts';
import { reportRows } from '../support/report-rows.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';

const accountId = 'acc_1';
const halfHourMs = 1_800_000;
const [april, october] = [Date.UTC(2026, 3, 3), Date.UTC(2026, 9, 2)];
const lastsMs = 4 * 48 * halfHourMs;

let events: EventStore;

beforeAll(async () => {
  events = await startEventStore();
  // A message each half hour.
  const rows = [april, october].flatMap((beginMs) =>
    Array.from(
      { length: lastsMs / halfHourMs },
      (_, at) => `${accountId}\t1\t${(beginMs + at * halfHourMs) / 1_000}\t1`,
    ),
  );
  const into = 'message_counts (account_id, livemode, slot, messages)';
  await events.engine.insert(into, Buffer.from(`${rows.join('\n')}\n`));
});
afterAll(() => events?.stop());

const hoursOf = async (zone: string, fromMs: number, toMs: number) => {
  const asked = { accountId, fromMs, toMs, timeZone: zone, groupBy: ['hour'] } as const;
  return (await reportRows(events.engine, throughput, asked)).map(({ hour, messages, seconds }) => {
    return [String(hour), Number(messages), Number(seconds)] as const;
  });
};
const islands = 'Australia/Lord_Howe';
const at = (moment: string) => Date.parse(moment);

test('an hour in which clocks go back by half an hour is followed by another half hour of its own', async () => {
  const hours = await hoursOf(islands, at('2026-04-05T00:00+11:00'), at('2026-04-06T00:00+10:30'));
  expect(hours.slice(0, 5)).toEqual([
    ['2026-04-05T00:00:00+11:00', 2, 3_600],
    ['2026-04-05T01:00:00+11:00', 2, 3_600],
    ['2026-04-05T01:30:00+10:30', 1, 1_800],
    ['2026-04-05T02:00:00+10:30', 2, 3_600],
    ['2026-04-05T03:00:00+10:30', 2, 3_600],
  ]);
  expect(hours.at(-1)).toEqual(['2026-04-05T23:00:00+10:30', 2, 3_600]);
  expect(hours).toHaveLength(25);
});

test('an hour in which clocks go forward by half an hour is half as long', async () => {
  const hours = await hoursOf(islands, at('2026-10-04T00:00+10:30'), at('2026-10-05T00:00+11:00'));
  expect(hours.slice(0, 5)).toEqual([
    ['2026-10-04T00:00:00+10:30', 2, 3_600],
    ['2026-10-04T01:00:00+10:30', 2, 3_600],
    ['2026-10-04T02:30:00+11:00', 1, 1_800],
    ['2026-10-04T03:00:00+11:00', 2, 3_600],
    ['2026-10-04T04:00:00+11:00', 2, 3_600],
  ]);
  expect(hours.at(-1)).toEqual(['2026-10-04T23:00:00+11:00', 2, 3_600]);
  expect(hours).toHaveLength(24);
});

test('a time that begins after the change on its day, or within an hour, has whole hours of the wall clock', async () => {
  const [fromMs, toMs] = [at('2026-10-04T12:30+11:00'), at('2026-10-04T14:30+11:00')];
  expect(await hoursOf(islands, fromMs, toMs)).toEqual([
    ['2026-10-04T12:00:00+11:00', 1, 1_800],
    ['2026-10-04T13:00:00+11:00', 2, 3_600],
    ['2026-10-04T14:00:00+11:00', 1, 1_800],
  ]);
});

test.each([islands, 'Europe/Berlin', 'America/St_Johns', 'Australia/Adelaide', 'Asia/Kolkata', 'UTC'])(
  'in %s the rows add up to the whole, and each begins its hour',
  async (name) => {
    const zone = timeZone(name);
    for (const beginMs of [april, october]) {
      const hours = await hoursOf(name, beginMs, beginMs + lastsMs);
      expect(hours.reduce((sum, [, messages]) => sum + messages, 0)).toBe(lastsMs / halfHourMs);
      expect(hours.reduce((sum, [, , seconds]) => sum + seconds, 0)).toBe(lastsMs / 1_000);
      expect(new Set(hours.map(([hour]) => hour)).size).toBe(hours.length);
      expect(new Set(hours.map(([hour]) => at(hour))).size).toBe(hours.length);
      for (const [hour, messages, seconds] of hours) {
        const atMs = at(hour);
        const isAtChange = zone.offsetAt(atMs) !== zone.offsetAt(atMs - halfHourMs);
        const beginsHour = (atMs + zone.offsetAt(atMs)) % (2 * halfHourMs) === 0;
        expect([hour, isAtChange || beginsHour, seconds]).toEqual([hour, true, messages * 1_800]);
      }
    }
  },
);
