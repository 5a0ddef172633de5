// The tables of `heliograph report`: what is shown of rows as the event store answers them.
import { describe, expect, test } from 'vitest';
import { reportOf, reports } from '../../analytics/reports/catalogue.ts';
import type { Report } from '../../analytics/reports/report.ts';
import { type Row, durationOf, isEmpty, sparkline, tableOf } from '../../cli/report-table.ts';

const named = (name: string): Report => reportOf(name) ?? expect.fail(name);
const zeros = ({ measures }: Report): Row => Object.fromEntries(measures.map(({ name }) => [name, 0]));

describe('a report', () => {
  test.each(reports)('$name with one row of zeros is empty, with one count it is not', (report) => {
    const row = zeros(report);
    expect([isEmpty(report, []), isEmpty(report, [row]), isEmpty(report, [row, row])]).toEqual([true, true, true]);
    for (const { name } of report.measures)
      expect([name, isEmpty(report, [row, { ...row, [name]: 1 }])]).toEqual([name, name === 'seconds']);
  });

  test('shows shares of 0 and the counts that they are made of; other counts of zeros are left out', () => {
    const report = named('otp-trust');
    const row = { ...zeros(report), carrier: 'alpha', messages: 200, claimed_delivered: 200, claimed_share: 1 };
    expect(tableOf(report, [], [{ ...row, peers_trust: null, suspicious: 0 }])).toEqual([
      'carrier  messages  claimed_delivered  claimed_share  verified  conversion  verified_of_claimed_count  trust',
      'alpha         200                200              1         0           0                          0      0',
    ]);
    const ofDelivery = named('delivery');
    const failed = { ...zeros(ofDelivery), messages: 5, failed: 5 };
    expect(tableOf(ofDelivery, [], [failed])[0]).toBe('messages  delivered  failed  delivered_share');
  });

  test('names only columns of its own as those that a share is made of', () => {
    for (const report of reports) {
      const counts = report.measures.filter(({ unit }) => unit === 'count').map(({ name }) => name);
      for (const { name, unit, madeOf } of report.measures) {
        expect([report.name, name, madeOf === undefined]).toEqual([report.name, name, unit !== 'share']);
        const unknown = (madeOf ?? []).filter((each) => !counts.includes(each));
        expect([report.name, name, unknown]).toEqual([report.name, name, []]);
      }
    }
  });

  test('shows rates however small they are; counts of zeros are left out', () => {
    const report = named('throughput');
    const row = { ...zeros(report), messages: 3, seconds: 604_800, messages_per_second: 0.00000496 };
    expect(tableOf(report, [], [row])).toEqual([
      'messages  seconds  messages_per_second  segments_per_second',
      '       3   604800           0.00000496                    0',
    ]);
    const second = { ...row, messages_per_second: 1200.25 };
    expect(tableOf(report, [], [second])[1]).toBe('       3   604800              1200.25                    0');
  });

  test('has durations with their units, and none where nothing was measured', () => {
    const report = named('clicks');
    const row = {
      ...zeros(report),
      messages: 2,
      clicked: 1,
      clicked_share: 0.5,
      first_click_p50_ms: 443_556,
      first_click_p90_ms: null,
    };
    expect(tableOf(report, [], [row])).toEqual([
      'messages  clicked  clicked_share  first_click_p50',
      '       2        1            0.5       7 min 24 s',
    ]);
  });
});

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1.0 s'],
  [59_949, '59.9 s'],
  [59_950, '1 min 0 s'],
  [443_556, '7 min 24 s'],
  [3_599_499, '59 min 59 s'],
  [3_599_500, '1 h 0 min'],
  [86_369_999, '23 h 59 min'],
  [86_370_000, '1 d 0 h'],
  [200_000_000, '2 d 8 h'],
])('%i ms is %s', (ms, text) => {
  expect(durationOf(ms)).toBe(text);
});

describe('bars', () => {
  test('of 0 are none, and of the smallest count are one', () => {
    expect(sparkline([0, 1, 1_000, 2, 500, 8, 0])).toBe('·▁█▁▄▁·');
    expect(sparkline([0, 0])).toBe('··');
  });

  const report = named('delivery');
  const barsOf = (groupBy: readonly string[], rows: readonly Row[]) =>
    tableOf(
      report,
      groupBy,
      rows.map((row) => ({ ...zeros(report), ...row })),
    ).slice(rows.length + 2);

  test('have a place for each hour, also for those without a row', () => {
    const rows = ['2026-10-22T10:00:00+06:00', '2026-10-22T11:00:00+06:00', '2026-10-22T15:00:00+06:00'];
    expect(
      barsOf(
        ['hour'],
        rows.map((hour) => ({ hour, messages: 4 })),
      ),
    ).toEqual(['messages  ██···█', `from ${rows[0]} to ${rows[2]}`]);
  });

  test('have a place for each day, and the same ones for each group', () => {
    const rows = [
      { day: '2026-10-23', carrier: 'alpha', messages: 8 },
      { day: '2026-10-26', carrier: 'beta', messages: 1 },
      { day: '2026-10-24', carrier: 'alpha', messages: 1 },
    ];
    expect(barsOf(['day', 'carrier'], rows)).toEqual([
      'messages alpha  █▁··',
      'messages beta   ···█',
      'from 2026-10-23 to 2026-10-26',
    ]);
  });

  test('keep one place for each hour where clocks go back by half an hour', () => {
    const hours = ['2026-04-05T00:00:00+11:00', '2026-04-05T01:00:00+11:00', '2026-04-05T02:00:00+10:30'];
    const [bars = ''] = barsOf(
      ['hour'],
      hours.map((hour) => ({ hour, messages: 1 })),
    );
    expect(bars.match(/█/g)).toHaveLength(hours.length);
  });
});
