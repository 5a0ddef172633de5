// What is wrong with the parameters of a report is said of the right one, in words that say what to change; and what a report
// is over without `from` and `to`.
import { describe, expect, test } from 'vitest';
import { reportOf } from '../../../analytics/reports/catalogue.ts';
import type { Report } from '../../../analytics/reports/report.ts';
import { type ReportParameters, reportParameters, reportQueryOf } from '../../../api/management/report-query.ts';
import { check, rawQuery } from '../../../api/validation.ts';

const nowMs = Date.UTC(2026, 10, 30, 12, 10, 18);

function read(report: string, query: string) {
  const found = reportOf(report) as Report;
  const checked = check<ReportParameters>(
    reportParameters(found),
    rawQuery(`http://x/?${query}`),
    'unknown_field',
    'query parameter',
  );
  return checked.ok ? reportQueryOf(found, checked.value, nowMs) : checked;
}

const ofQuarters = expect.stringContaining(
  'counts are kept by half hours: a report in it has `from` and `to` as times',
);

describe('a wrong parameter', () => {
  test.each([
    [`sender=${'x'.repeat(101)}`, 'sender', 'must have at most 100 characters'],
    [`group_by=${'x'.repeat(65)}`, 'group_by', 'must have at most 64 characters'],
    ['sender=a&sender=b', 'sender', 'must be given only once'],
    ['sender=a&sender=', 'sender', 'must be given only once'],
    ['format=json&format=csv', 'format', 'must be given only once'],
    ['format=xlsx', 'format', 'must be one of json, csv, parquet'],
    ['category=otp&category=bulk', 'category', 'must be given only once'],
    ['category=bulk', 'category', expect.stringMatching(/^must be one of otp, /)],
    ['sender=', 'sender', 'must not be empty'],
    ['time_zone=Asia/Kathmandu&from=2026-11-20&to=2026-11-30', 'time_zone', ofQuarters],
    ['time_zone=Asia/Kathmandu&from=2026-11-20&to=2026-11-30T00:00:00Z', 'time_zone', ofQuarters],
    ['time_zone=Asia/Kathmandu', 'time_zone', ofQuarters],
    [
      'time_zone=Asia/Kathmandu&group_by=hour&from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z',
      'time_zone',
      ofQuarters,
    ],
    ['time_zone=Asia/Kathmandu&from=2026-11-20T00:10:00Z', 'from', expect.stringContaining('on a whole half hour')],
    ['from=2030-01-01', 'from', 'must not be in the future'],
    ['from=2026-11-30T12:30:00Z', 'from', 'must not be in the future'],
    ['from=2026-11-30&to=2026-11-29', 'from', 'must be before `to`'],
  ])('%s is refused with its name and why', (query, field, detail) => {
    expect(read('delivery', query)).toMatchObject({ ok: false, problem: { errors: [{ field, detail }] } });
  });
});

test('without `from` and `to` a report is from the midnight six days before to the end of the running half hour', () => {
  const query = (more: string) => {
    const found = read('delivery', more);
    if (!found.ok) throw new Error(found.problem.detail);
    return [found.query.fromMs, found.query.toMs, found.query.nowMs];
  };
  const end = Date.UTC(2026, 10, 30, 12, 30);
  expect(query('')).toEqual([Date.UTC(2026, 10, 24), end, nowMs]);
  expect(query('time_zone=Asia/Kolkata')).toEqual([Date.UTC(2026, 10, 23, 18, 30), end, nowMs]);
  expect(query('from=2026-11-30T12:00:00Z')).toEqual([Date.UTC(2026, 10, 30, 12), end, nowMs]);
});

test.each(['+8801712', '+880', '+8', '+880171234'])('numbers may be asked for that begin with %s', (prefix) => {
  const query = `prefix=${encodeURIComponent(prefix)}`;
  expect(read('otp', query)).toMatchObject({ ok: true, query: { filters: { prefix } } });
});
