// `report NAME`: a report of one account as a table with a sparkline, or as csv or parquet on standard output. Asked of the
// running system over NATS, with the parameters of the route.
import { chosenIn, runReport } from '../api/management/routes/reports.ts';
import { type ReportParameters, reportParameters, reportQueryOf } from '../api/management/report-query.ts';
import { check } from '../api/validation.ts';
import { reportOf, reports } from '../analytics/reports/catalogue.ts';
import type { Report, ReportQuery } from '../analytics/reports/report.ts';
import { systemClock } from '../platform/clock.ts';
import { SetupError } from '../platform/errors.ts';
import { snakeFields } from '../platform/letter-case.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { accountIdOf } from './options.ts';
import type { Result } from './print.ts';
import { accountNotFound } from './tenants.ts';
import { withBus } from './with-bus.ts';

/** Every option that is not named here is a parameter of the route: `--time-zone` is time_zone. */
type Options = { account: string; test?: boolean; json?: boolean } & Readonly<Record<string, unknown>>;

type Row = Readonly<Record<string, string | number | null>>;

export async function reportCommand(name: string, options: Options): Promise<Result> {
  const report = reportOf(name);
  if (report === undefined) {
    throw new SetupError(`there is no report "${name}"; there are: ${reports.map((each) => each.name).join(', ')}`);
  }
  const { account, test = false, json: _, ...parameters } = options;
  const query: ReportQuery = {
    ...asked(report, parameters),
    accountId: accountIdOf(account, '--account'),
    livemode: !test,
  };
  const octets = await withBus(async (bus) => {
    await assertKnown(bus, query.accountId);
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

/** An account that does not exist has an empty report. The directory has every account, and needs no database. */
async function assertKnown(bus: Bus, accountId: string): Promise<void> {
  const entry = await (await openBucket(bus, 'directory')).get(`account.${accountId}`);
  if (entry === null || entry.operation !== 'PUT') throw accountNotFound(accountId);
}

function asked(report: Report, parameters: Readonly<Record<string, unknown>>) {
  const checked = check<ReportParameters>(
    reportParameters(report),
    snakeFields(parameters),
    'unknown_field',
    'query parameter',
  );
  const read = checked.ok ? reportQueryOf(report, checked.value, systemClock.nowMs()) : checked;
  if (!read.ok) throw new SetupError(`${read.problem.code}: ${read.problem.detail}`);
  return read.query;
}

/** Aligned columns; a column of counts that is 0 in every row is left out. With a time: a line of each first measure. */
function tableOf(report: Report, { groupBy }: ReportQuery, rows: readonly Row[]): string[] {
  const measures = [...report.measures, ...(report.compared ?? [])].filter(({ name }) =>
    rows.some((row) => row[name] !== 0 && row[name] !== null),
  );
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
  return [...lines, ...sparklines(report, groupBy, rows)];
}

const cellOf = (value: string | number | null): string => (value === null ? '-' : String(value));

/** One line of the first measure for each group, over the hours or days that are in the table: 0 where a group has no row. */
function sparklines({ measures, always }: Report, groupBy: readonly string[], rows: readonly Row[]): string[] {
  const [first] = measures;
  const time = groupBy.includes('hour') ? 'hour' : groupBy.includes('day') ? 'day' : null;
  if (time === null || first === undefined) return [];
  const times = [...new Set(rows.map((row) => String(row[time])))].sort((a, b) => Date.parse(a) - Date.parse(b));
  if (times.length < 2) return [];
  const places = new Map(times.map((each, at) => [each, at]));
  const labels = [...groupBy.filter((name) => name !== 'hour' && name !== 'day'), ...always.map(({ name }) => name)];
  const series = new Map<string, number[]>();
  for (const row of rows) {
    const key = labels
      .map((name) => row[name])
      .filter((value) => value !== '')
      .join(' ');
    const values = series.get(key) ?? times.map(() => 0);
    values[places.get(String(row[time])) as number] = Number(row[first.name] ?? 0);
    series.set(key, values);
  }
  const names = [...series.keys()].map((key) => `${first.name} ${key}`.trimEnd());
  const width = names.reduce((most, name) => Math.max(most, name.length), 0);
  const lines = [...series.values()].map((values, at) => `${(names[at] ?? '').padEnd(width)}  ${sparkline(values)}`);
  return ['', ...lines, `from ${times[0]} to ${times.at(-1)}`];
}

const marks = '▁▂▃▄▅▆▇█';

export function sparkline(values: readonly number[]): string {
  const most = Math.max(...values, 1);
  return values
    .map((value) => marks[Math.min(marks.length - 1, Math.floor((Math.max(0, value) / most) * marks.length))])
    .join('');
}
