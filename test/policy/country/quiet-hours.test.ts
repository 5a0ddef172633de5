// Quiet hours against a second implementation that queries Intl for every minute, over clock changes of several zones.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { QuietRule } from '../../../policy/country/contract.ts';
import { quietHours } from '../../../policy/country/quiet-hours.ts';
import { quietForPromotions } from '../rules.ts';

const everyDay = [0, 1, 2, 3, 4, 5, 6];
const rule = (over: Partial<QuietRule>): QuietRule => ({ ...quietForPromotions(20 * 60, 8 * 60), ...over });
const until = (rules: QuietRule[], at: string) => {
  const answer = quietHours(rules).quietUntil('promotional', Date.parse(at));
  return answer === null || answer === Infinity ? answer : new Date(answer).toISOString();
};

describe('a night', () => {
  test.each([
    ['2026-11-20T19:59:59.999+06:00', null],
    ['2026-11-20T20:00:00+06:00', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21T03:00:00+06:00', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21T07:59:59.999+06:00', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21T08:00:00+06:00', null],
  ])('%s', (at, expected) => expect(until([rule({})], at)).toBe(expected));

  test('is no night for other categories', () => {
    const quiet = quietHours([rule({})]);
    const midnight = Date.parse('2026-11-21T00:00:00+06:00');
    expect(quiet.quietUntil('otp', midnight)).toBeNull();
    expect(quiet.quietUntil('transactional', midnight)).toBeNull();
    expect(quiet.quietUntil('promotional', midnight)).not.toBeNull();
  });
});

describe('dates', () => {
  test('a rule applies from its first day and until before its last', () => {
    const rules = [rule({ from: '2026-12-01', until: '2026-12-03' })];
    expect(until(rules, '2026-11-30T23:00:00+06:00')).toBeNull();
    expect(until(rules, '2026-12-01T23:00:00+06:00')).toBe('2026-12-02T02:00:00.000Z');
    // The third of December is free from its first minute.
    expect(until(rules, '2026-12-02T23:00:00+06:00')).toBe('2026-12-02T18:00:00.000Z');
  });

  test('a rule that begins tomorrow applies tomorrow', () => {
    const rules = [
      rule({ until: '2026-12-01' }),
      rule({ from: '2026-12-01', closed: [{ startMinute: 0, endMinute: 600 }] }),
    ];
    expect(until(rules, '2026-11-30T23:00:00+06:00')).toBe('2026-12-01T04:00:00.000Z');
  });

  test('a holiday after a night after a Sunday is waited for as a whole', () => {
    const rules = [
      rule({}),
      rule({ days: [0], closed: [{ startMinute: 0, endMinute: 1_440 }] }),
      rule({ dates: ['2026-12-21'], closed: [{ startMinute: 0, endMinute: 1_440 }] }),
    ];
    // Saturday evening to Tuesday morning.
    expect(until(rules, '2026-12-19T21:00:00+06:00')).toBe('2026-12-22T02:00:00.000Z');
  });

  test('hours that never open are reported as such', () => {
    expect(until([rule({ closed: [{ startMinute: 0, endMinute: 1_440 }] })], '2026-12-19T21:00:00+06:00')).toBe(
      Infinity,
    );
  });
});

describe('clock changes', () => {
  const berlin = (startMinute: number, endMinute: number) => [
    rule({ timeZone: 'Europe/Berlin', closed: [{ startMinute, endMinute }] }),
  ];
  test('an end that the clock skips is the moment of the change', () =>
    // 29 March 2026: 02:00 becomes 03:00.
    expect(until(berlin(60, 150), '2026-03-29T01:30:00+01:00')).toBe('2026-03-29T01:00:00.000Z'));
  test('an end before the change stays', () =>
    expect(until(berlin(0, 90), '2026-03-29T00:30:00+01:00')).toBe('2026-03-29T00:30:00.000Z'));
  test('a night with 23 hours in its day is an hour shorter', () =>
    expect(until(berlin(20 * 60, 8 * 60), '2026-03-28T23:00:00+01:00')).toBe('2026-03-29T06:00:00.000Z'));
  test('a night with 25 hours in its day is an hour longer', () =>
    expect(until(berlin(20 * 60, 8 * 60), '2026-10-24T23:00:00+02:00')).toBe('2026-10-25T07:00:00.000Z'));
});

/** The wall clock by Intl, for every minute: slow and plain. */
function plainIsQuiet(rules: readonly QuietRule[], atMs: number): boolean {
  return rules.some((each) => {
    const format = formatOf(each.timeZone);
    const part = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
    const date = `${part['year']}-${part['month']}-${part['day']}`;
    if (each.from !== null && date < each.from) return false;
    if (each.until !== null && date >= each.until) return false;
    const minute = Number(part['hour']) * 60 + Number(part['minute']);
    const today = new Date(`${date}T00:00:00Z`);
    const yesterday = new Date(today.getTime() - 86_400_000);
    const isDay = (day: Date) =>
      each.dates.length > 0 ? each.dates.includes(day.toJSON().slice(0, 10)) : each.days.includes(day.getUTCDay());
    return each.closed.some(({ startMinute, endMinute }) =>
      startMinute < endMinute
        ? isDay(today) && minute >= startMinute && minute < endMinute
        : (isDay(today) && minute >= startMinute) || (isDay(yesterday) && minute < endMinute),
    );
  });
}
const formats = new Map<string, Intl.DateTimeFormat>();
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const options = {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  } as const;
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('en-US', options);
  formats.set(timeZone, format);
  return format;
}

test('the answer is the first minute that is not quiet, for all rules, zones and seasons', () => {
  const zone = fc.constantFrom('Asia/Dhaka', 'Europe/Paris', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo');
  const minute = fc.integer({ min: 0, max: 95 }).map((quarter) => quarter * 15);
  const window = fc.record({ startMinute: minute, endMinute: minute });
  const rules = zone.chain((timeZone) =>
    fc.array(
      fc
        .record({
          closed: fc.array(window, { minLength: 1, maxLength: 2 }),
          days: fc.subarray(everyDay, { minLength: 1 }),
          dates: fc.option(fc.constantFrom(['2026-03-29'], ['2026-03-08', '2026-10-25']), { nil: [] }),
          from: fc.option(fc.constantFrom('2026-03-29', '2026-10-25'), { nil: null }),
        })
        .map((each) => rule({ ...each, timeZone })),
      { minLength: 1, maxLength: 3 },
    ),
  );
  // Around the changes of those zones.
  const start = fc.constantFrom(
    '2026-03-07',
    '2026-03-28',
    '2026-04-04',
    '2026-04-23',
    '2026-10-03',
    '2026-10-24',
    '2026-10-31',
  );
  fc.assert(
    fc.property(rules, start, fc.integer({ min: 0, max: 2 * 1_440 }), (list, day, offset) => {
      const atMs = Date.parse(`${day}T00:00:00Z`) + offset * 60_000;
      const answer = quietHours(list).quietUntil('promotional', atMs);
      expect(plainIsQuiet(list, atMs)).toBe(answer !== null);
      if (answer === null || answer === Infinity) return;
      expect(plainIsQuiet(list, answer)).toBe(false);
      // Quarter hours are all the boundaries these rules have.
      for (let ms = atMs; ms < Math.min(answer, atMs + 3 * 86_400_000); ms += 15 * 60_000) {
        expect(plainIsQuiet(list, ms)).toBe(true);
      }
    }),
    { numRuns: 150 },
  );
});

test('an answer cached for the minute is correct', () => {
  const quiet = quietHours([rule({})]);
  fc.assert(
    fc.property(fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2027-01-01') }), (atMs) => {
      expect(quiet.quietUntil('promotional', atMs)).toBe(quietHours([rule({})]).quietUntil('promotional', atMs));
    }),
  );
});
