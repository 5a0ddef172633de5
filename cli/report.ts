// `report NAME`: a report of one account as a table with a sparkline (report-table.ts), or as csv or parquet on standard
// output. Asked of the running system over NATS, with the parameters of the route.
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
import { type Row, isEmpty, tableOf } from './report-table.ts';
import { withBus } from './with-bus.ts';

/** Every option that is not named here is a parameter of the route: `--time-zone` is time_zone. */
type Options = { account: string; test?: boolean; json?: boolean } & Readonly<Record<string, unknown>>;

export async function reportCommand(name: string, options: Options): Promise<Result> {
  const report = reportOf(name);
  if (report === undefined) {
    throw new SetupError(`there is no report "${name}"; there are: ${reports.map((each) => each.name).join(', ')}`);
  }
  const { account, test = false, json = false, ...parameters } = options;
  if (json && (parameters['format'] ?? 'json') !== 'json') {
    throw new SetupError('--json is one JSON object, and --format is a file of another form: leave one out');
  }
  const { timeZoneGiven, ...rest } = asked(report, parameters);
  const query: ReportQuery = {
    ...rest,
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
  const { fromMs, toMs, groupBy, livemode } = query;
  const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
  return {
    json: {
      ...{ object: 'report', report: name, from, to, time_zone: timeZoneGiven, group_by: groupBy, livemode },
      ...{ ...chosenIn(query), data: rows },
    },
    lines: [
      `${report.title}  ${query.accountId}  ${livemode ? 'live' : 'test'}  ${from} to ${to}${zoneOf(groupBy, timeZoneGiven)}`,
      ...(isEmpty(report, rows) ? ['nothing in this time'] : tableOf(report, groupBy, rows)),
    ],
  };
}

const zoneOf = (groupBy: ReportQuery['groupBy'], timeZone: string): string =>
  groupBy.includes('hour') ? `, hours of ${timeZone}` : groupBy.includes('day') ? `, days of ${timeZone}` : '';

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
