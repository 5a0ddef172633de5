// `report NAME`: a report of one account as a table with a sparkline, or as csv or parquet on standard output. Asked of the
// running system over NATS, with the parameters of the route.
import { chosenIn, runReport } from '../api/management/routes/reports.ts';
import { type ReportParameters, reportParameters, reportQueryOf } from '../api/management/report-query.ts';
import { check } from '../api/validation.ts';
import { reportOf, reports } from '../analytics/reports/catalogue.ts';
import type { Report, ReportColumn, ReportQuery } from '../analytics/reports/report.ts';
import { systemClock } from '../platform/clock.ts';
import { SetupError } from '../platform/errors.ts';
import { accountIdOf } from './options.ts';
import type { Result } from './print.ts';
import { withBus } from './with-bus.ts';

type Options = {
  account: string;
  test?: boolean;
  from?: string;
  to?: string;
  timeZone?: string;
  groupBy?: string;
  carrier?: string;
  category?: string;
  sender?: string;
  classes?: string;
  format?: string;
};

type Row = Readonly<Record<string, string | number | null>>;

export async function reportCommand(name: string, options: Options): Promise<Result> {
  const report = reportOf(name);
  if (report === undefined) {
    throw new SetupError(`there is no report "${name}"; there are: ${reports.map((each) => each.name).join(', ')}`);
  }
  const query: ReportQuery = {
    ...asked(report, options),
    accountId: accountIdOf(options.account, '--account'),
    livemode: options.test !== true,
  };
  const octets = await withBus(async (bus) => {
    const answer = await runReport(bus, query);
    if ('problem' in answer) throw new SetupError(`${answer.problem.code}: ${answer.problem.detail}`);
    const parts: Uint8Array[] = [];
    for await (const part of answer.octets) parts.push(part);
    return Buffer.concat(parts);
  });
  if (query.format !== 'json') return { json: {}, lines: [], octets };
  const rows = JSON.parse(octets.toString()) as readonly Row[];
  const { fromMs, toMs, timeZone, groupBy, livemode } = query;
  const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
  return {
    json: {
      ...{ object: 'report', report: name, from, to, time_zone: timeZone, group_by: groupBy, livemode },
      ...{ ...chosenIn(query), data: rows },
    },
    lines: [
      `${report.title}  ${query.accountId}  ${livemode ? 'live' : 'test'}  ${from} to ${to}, days of ${timeZone}`,
      ...(rows.length === 0 ? ['nothing in this time'] : tableOf(report, query, rows)),
    ],
  };
}

function asked(report: Report, options: Options): Omit<ReportQuery, 'accountId' | 'livemode'> {
  const { from, to, timeZone, groupBy, carrier, category, sender, classes, format } = options;
  const given = { from, to, time_zone: timeZone, group_by: groupBy, carrier, category, sender, classes, format };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const checked = check<ReportParameters>(reportParameters(report), set, 'unknown_field', 'query parameter');
  const read = checked.ok ? reportQueryOf(report, checked.value, systemClock.nowMs()) : checked;
  if (!read.ok) throw new SetupError(`${read.problem.code}: ${read.problem.detail}`);
  return read.query;
}

/** Aligned columns; a column of counts that is 0 in every row is left out. With a time: a line of each first measure. */
function tableOf(report: Report, { groupBy }: ReportQuery, rows: readonly Row[]): string[] {
  const measures = report.measures.filter(({ name }) => rows.some((row) => row[name] !== 0 && row[name] !== null));
  const texts: readonly string[] = [
    ...groupBy,
    ...[...report.always, ...(report.derived ?? [])].map(({ name }) => name),
  ];
  const names = [...texts, ...measures.map(({ name }) => name)];
  const cells = [names, ...rows.map((row) => names.map((name) => cellOf(row[name] ?? null)))];
  const widths = names.map((_, at) => Math.max(...cells.map((line) => (line[at] ?? '').length)));
  const lines = cells.map((line) =>
    line
      .map((cell, at) => (at < texts.length ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  return [...lines, ...sparklines(report.measures, groupBy, texts, rows)];
}

const cellOf = (value: string | number | null): string => (value === null ? '-' : String(value));

/** One line for each group over the hours or days, of the first measure. */
function sparklines(
  [first]: readonly ReportColumn[],
  groupBy: readonly string[],
  texts: readonly string[],
  rows: readonly Row[],
): string[] {
  const time = groupBy.find((name) => name === 'hour' || name === 'day');
  if (time === undefined || first === undefined || rows.length < 2) return [];
  const series = new Map<string, number[]>();
  for (const row of rows) {
    const key = texts
      .filter((name) => name !== time)
      .map((name) => row[name])
      .join(' ');
    series.set(key, [...(series.get(key) ?? []), Number(row[first.name] ?? 0)]);
  }
  return ['', ...[...series].map(([key, values]) => `${`${first.name} ${key}`.trimEnd()}  ${sparkline(values)}`)];
}

const marks = '▁▂▃▄▅▆▇█';

export function sparkline(values: readonly number[]): string {
  const most = Math.max(...values, 1);
  return values
    .map((value) => marks[Math.min(marks.length - 1, Math.floor((Math.max(0, value) / most) * marks.length))])
    .join('');
}
