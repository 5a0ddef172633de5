// `report NAME`: a report of one account, or of all of them with a row for each, as a table with a sparkline
// (report-table.ts), or as csv or parquet on standard output. Asked of the running system over NATS, with the parameters of
// the route.
import { runReport } from '../api/management/routes/reports.ts';
import { envelopeOf } from '../api/management/report-envelope.ts';
import { type ReportParameters, reportParameters, reportQueryOf } from '../api/management/report-query.ts';
import { check } from '../api/validation.ts';
import { reportOf, reports } from '../analytics/reports/catalogue.ts';
import type { Report, ReportQuery } from '../analytics/reports/report.ts';
import { systemClock } from '../platform/clock.ts';
import { SetupError } from '../platform/errors.ts';
import { snakeFields } from '../platform/letter-case.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { assertKnown, everyAccount } from './known-accounts.ts';
import { accountIdOf } from './options.ts';
import type { Result } from './print.ts';
import { type Row, isEmpty, tableOf } from './report-table.ts';
import { withBus } from './with-bus.ts';

/** Every option that is not named here is a parameter of the route: `--time-zone` is time_zone. */
type Options = { account?: string; test?: boolean; json?: boolean; groupBy?: string; format?: string } & Readonly<
  Record<string, unknown>
>;

export async function reportCommand(name: string, options: Options): Promise<Result> {
  const report = reportOf(name);
  if (report === undefined) {
    throw new SetupError(`there is no report "${name}"; there are: ${reports.map((each) => each.name).join(', ')}`);
  }
  const { account, test = false, json = false, ...parameters } = options;
  const isFile = (options.format ?? 'json') !== 'json';
  if (json && isFile) {
    throw new SetupError('--json is one JSON object, and --format is a file of another form: leave one out');
  }
  const { isByAccount, others } = groupsOf(options.groupBy);
  if (isByAccount && isFile) {
    throw new SetupError('--format: a file is of one account; grouped by account there is the table, or --json');
  }
  const accountId = account === undefined ? null : accountIdOf(account, '--account');
  if (accountId === null && !isByAccount) {
    throw new SetupError('--account: say whose report it is, or ask for every account with --group-by account');
  }
  const { timeZoneGiven, ...rest } = asked(report, { ...parameters, groupBy: others });
  const query = { ...rest, livemode: !test };
  const found = await withBus(async (bus) => {
    if (accountId === null) return rowsOfAccounts(bus, report, query, await everyAccount(bus));
    await assertKnown(bus, accountId);
    if (isByAccount) return rowsOfAccounts(bus, report, query, [accountId]);
    const octets = await octetsOf(bus, { ...query, accountId });
    return isFile ? octets : rowsIn(octets);
  });
  if (Buffer.isBuffer(found)) return { json: {}, lines: [], octets: found };
  const groupBy = isByAccount ? [byAccount, ...query.groupBy] : query.groupBy;
  const [from, to] = [new Date(query.fromMs).toISOString(), new Date(query.toMs).toISOString()];
  return {
    json: { ...envelopeOf({ ...query, groupBy }, timeZoneGiven), data: found },
    lines: [
      `${report.title}  ${accountId ?? 'every account'}  ${test ? 'test' : 'live'}  ${from} to ${to}${zoneOf(groupBy, timeZoneGiven)}`,
      ...(isEmpty(report, found) ? ['nothing in this time'] : tableOf(report, groupBy, found)),
    ],
  };
}

/** What only the operator can group by: the route knows one account. */
const byAccount = 'account';

function groupsOf(given: string | undefined): { readonly isByAccount: boolean; readonly others: string | undefined } {
  const names = (given ?? '').split(',').map((each) => each.trim());
  const others = names.filter((each) => each !== byAccount);
  if (others.length === names.length) return { isByAccount: false, others: given };
  if (names.length > 2 || others.length < names.length - 1) {
    throw new SetupError('invalid_field: group_by: must be up to two, different ones');
  }
  return { isByAccount: true, others: others[0] };
}

const zoneOf = (groupBy: readonly string[], timeZone: string): string =>
  groupBy.includes('hour') ? `, hours of ${timeZone}` : groupBy.includes('day') ? `, days of ${timeZone}` : '';

/** One account after the other, as each would see its own report; those without anything are left out. */
async function rowsOfAccounts(
  bus: Bus,
  report: Report,
  query: Omit<ReportQuery, 'accountId'>,
  accountIds: readonly string[],
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const accountId of accountIds) {
    const ofAccount = rowsIn(await octetsOf(bus, { ...query, accountId }));
    if (!isEmpty(report, ofAccount)) rows.push(...ofAccount.map((row) => ({ [byAccount]: accountId, ...row })));
  }
  return rows;
}

async function octetsOf(bus: Bus, query: ReportQuery): Promise<Buffer> {
  const answer = await runReport(bus, query);
  if ('problem' in answer) {
    throw new SetupError(`${answer.problem.code}: ${answer.problem.detail} (${query.accountId})`);
  }
  const parts: Uint8Array[] = [];
  for await (const part of answer.octets) parts.push(part);
  return Buffer.concat(parts);
}

const rowsIn = (octets: Buffer) => JSON.parse(octets.toString()) as readonly Row[];

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
