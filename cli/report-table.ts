// A report for people: aligned columns, and under them a line of bars for each group, over all hours or days between the
// first row and the last.
import type { Report, ReportColumn } from '../analytics/reports/report.ts';

export type Row = Readonly<Record<string, string | number | null>>;

/** Whether the rows count anything: without a group there is one row, which may be of zeros. */
export function isEmpty({ measures }: Report, rows: readonly Row[]): boolean {
  const counted = measures.filter(({ countsNothing = false }) => !countsNothing);
  return !rows.some((row) => counted.some(({ name }) => hasValue(row[name]) && row[name] !== 0));
}

const hasValue = (value: Row[string] | undefined): boolean => value !== null && value !== undefined;

/**
 * Left out are counts that are 0 in every row, unless a share that is shown is made of them, and what has no value in any row:
 * a share of 0 may be what there is to see. With a time: bars of the first measure.
 */
export function tableOf(report: Report, groupBy: readonly string[], rows: readonly Row[]): string[] {
  const all = [...report.measures, ...(report.compared ?? [])].filter(({ name }) =>
    rows.some((row) => hasValue(row[name])),
  );
  const madeOf = new Set(all.flatMap((column) => column.madeOf ?? []));
  const measures = all.filter(
    ({ name, unit }) => unit !== 'count' || madeOf.has(name) || rows.some((row) => row[name] !== 0),
  );
  const texts: readonly string[] = [
    ...groupBy,
    ...[...report.always, ...(report.derived ?? [])].map(({ name }) => name),
  ];
  const lines = [
    [...texts, ...measures.map(headOf)],
    ...rows.map((row) => [
      ...texts.map((name) => cellOf(row[name])),
      ...measures.map((measure) => measureOf(measure, row)),
    ]),
  ];
  const widths = (lines[0] ?? []).map((_, at) => Math.max(...lines.map((line) => (line[at] ?? '').length)));
  const aligned = lines.map((line) =>
    line
      .map((cell, at) => (at < texts.length ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  return [...aligned, ...sparklines(report, groupBy, rows)];
}

/** Each duration has its own unit. */
const headOf = ({ name, unit }: ReportColumn): string => (unit === 'ms' ? name.replace(/_ms$/, '') : name);

const cellOf = (value: Row[string] | undefined): string =>
  value === null || value === undefined ? '-' : String(value);

function measureOf({ name, unit }: ReportColumn, row: Row): string {
  const value = row[name];
  if (unit === 'ms' && typeof value === 'number') return durationOf(value);
  // Not as 4.96e-6.
  if (unit === 'rate' && typeof value === 'number') return value.toFixed(12).replace(/\.?0+$/, '');
  return cellOf(value);
}

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];

/** Two units: 850 ms, 12.3 s, 7 min 24 s, 3 h 12 min, 2 d 5 h. */
export function durationOf(ms: number): string {
  if (ms < second) return `${ms} ms`;
  // One that is rounded up to 60 s is a minute.
  if (ms < minute - 50) return `${(ms / second).toFixed(1)} s`;
  if (ms < hour - second / 2) return twoUnits(ms, second, 60, ['min', 's']);
  if (ms < day - minute / 2) return twoUnits(ms, minute, 60, ['h', 'min']);
  return twoUnits(ms, hour, 24, ['d', 'h']);
}

function twoUnits(ms: number, smallMs: number, inLarge: number, [large, small]: readonly [string, string]): string {
  const whole = Math.round(ms / smallMs);
  return `${Math.floor(whole / inLarge)} ${large} ${whole % inLarge} ${small}`;
}

/** One line of the first measure for each group. An hour or day without a row is 0. */
function sparklines({ measures, always }: Report, groupBy: readonly string[], rows: readonly Row[]): string[] {
  const [first] = measures;
  const time = groupBy.includes('hour') ? 'hour' : groupBy.includes('day') ? 'day' : null;
  if (time === null || first === undefined) return [];
  const times = [...new Set(rows.map((row) => String(row[time])))].sort((a, b) => Date.parse(a) - Date.parse(b));
  const [earliest = '', latest = ''] = [times[0], times.at(-1)];
  if (earliest === latest) return [];
  const stepMs = time === 'hour' ? hour : day;
  // Where clocks change by half an hour, hours before and after are not whole hours apart.
  const placeOf = (text: string) => Math.round((Date.parse(text) - Date.parse(earliest)) / stepMs);
  const places = placeOf(latest) + 1;
  const labels = [...groupBy.filter((name) => name !== 'hour' && name !== 'day'), ...always.map(({ name }) => name)];
  const series = new Map<string, number[]>();
  for (const row of rows) {
    const key = labels
      .map((name) => row[name])
      .filter((value) => value !== '')
      .join(' ');
    const values = series.get(key) ?? Array.from({ length: places }, () => 0);
    values[placeOf(String(row[time]))] = Number(row[first.name] ?? 0);
    series.set(key, values);
  }
  const names = [...series.keys()].map((key) => `${first.name} ${key}`.trimEnd());
  const width = names.reduce((most, name) => Math.max(most, name.length), 0);
  const lines = [...series.values()].map((values, at) => `${(names[at] ?? '').padEnd(width)}  ${sparkline(values)}`);
  return ['', ...lines, `from ${earliest} to ${latest}`];
}

const none = '·';
const marks = '▁▂▃▄▅▆▇█';

/** Only what is 0 has no bar. */
export function sparkline(values: readonly number[]): string {
  const most = Math.max(...values, 1);
  return values.map((value) => (value <= 0 ? none : marks[Math.ceil((value / most) * marks.length) - 1])).join('');
}
