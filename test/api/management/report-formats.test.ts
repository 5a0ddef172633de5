// Every report as a file, over HTTP and on the command line, over a seeded run of events: CSV and Parquet have the rows of the
// JSON, and the OpenAPI document says what each route takes and answers.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AnalyticsNode, startAnalytics } from '../../../analytics/analytics-node.ts';
import { reports } from '../../../analytics/reports/catalogue.ts';
import { systemClock } from '../../../platform/clock.ts';
import type { Report } from '../../../analytics/reports/report.ts';
import { type Engine, openEngine } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';
import { reportParameters } from '../../../api/management/report-query.ts';
import type { AccountId } from '../../../model/ids.ts';
import { runCliHere } from '../../support/cli-here.ts';
import { keptForYears } from '../../support/kept-for-years.ts';
import { recordSeeded } from '../../support/seeded-reports.ts';
import { until } from '../../support/until.ts';
import { type RunningApi, callStore, runApi } from './support/running-api.ts';

const dir = mkdtempSync(join(tmpdir(), 'heliograph-report-formats-'));
const range = 'from=2026-10-22T00:00:00Z&to=2026-10-29T00:00:00Z';
const files = ['csv', 'parquet'] as const;
type Format = (typeof files)[number];
type Row = Readonly<Record<string, unknown>>;

let api: RunningApi;
let engine: Engine;
let node: AnalyticsNode;
let second: AccountId;

beforeAll(async () => {
  api = await runApi();
  engine = openEngine({ clickhouseUrl: null, dataDir: join(dir, 'clickhouse') });
  await applySchema(engine);
  node = await startAnalytics(api.bus, engine, { retention: keptForYears });
  await recordSeeded(api, engine, 400);
  second = await api.newAccount();
  await recordSeeded({ bus: api.bus, accountId: second }, engine, 60);
});
afterAll(async () => {
  await node?.stop(2_000);
  await engine?.close();
  await api?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** A time and a text, as far as the report has them. */
function groupingOf({ groupBy }: Report): string {
  const texts = groupBy.filter((each) => each !== 'hour' && each !== 'day' && each !== 'variant');
  return [...groupBy.filter((each) => each === 'day'), ...texts].slice(0, 2).join(',');
}

async function fileOf(path: string): Promise<Response> {
  return until('the event store answers in time', async () => {
    const answer = await fetch(`http://127.0.0.1:${api.api.port}${path}`, {
      headers: { authorization: `Bearer ${api.live}` },
    });
    return answer.status !== 503 && answer;
  });
}

/** What a file holds, read by ClickHouse. Texts that look like times stay texts. */
async function rowsOf(octets: Uint8Array, format: Format): Promise<readonly Row[]> {
  const path = join(dir, `read.${format}`);
  writeFileSync(path, octets);
  const sql =
    `SELECT * FROM file('${path}', '${format === 'csv' ? 'CSVWithNames' : 'Parquet'}') SETTINGS input_format_try_infer_dates = 0, ` +
    'input_format_try_infer_datetimes = 0, output_format_json_array_of_rows = 1, output_format_json_quote_64bit_integers = 0';
  return JSON.parse((await engine.octets(sql, 'JSONEachRow', {}, 20_000, 'system')).toString()) as readonly Row[];
}

const types = { csv: 'text/csv; charset=utf-8', parquet: 'application/vnd.apache.parquet' } as const;

test.each(['Asia/Kolkata', 'Asia/Calcutta', 'asia/kolkata', 'Europe/Kyiv', 'Asia/Kathmandu'])(
  'a report names the time zone as the client does: %s',
  async (zone) => {
    const asked = `/v1/reports/delivery?from=2026-10-22T00:00:00Z&to=2026-10-25T00:00:00Z&time_zone=${zone}`;
    const { status, body } = await callStore(api, 'GET', asked);
    expect([status, body.time_zone]).toEqual([200, zone]);
    const [{ messages: found }] = body.data;
    const [{ messages: expected }] = (await callStore(api, 'GET', asked.replace(zone, 'UTC'))).body.data;
    expect([found > 0, found]).toEqual([true, expected]);
  },
);

test('the rates of the half hour that is running are over what has passed of it', async () => {
  const before = systemClock.nowMs();
  const { body } = await callStore(api, 'GET', '/v1/reports/throughput');
  const passed = (ms: number) => (ms - Date.parse(body.from)) / 1_000;
  expect(Date.parse(body.to)).toBeGreaterThan(before);
  expect(body.data).toHaveLength(1);
  expect(body.data[0].seconds).toBeGreaterThanOrEqual(passed(before));
  expect(body.data[0].seconds).toBeLessThanOrEqual(passed(systemClock.nowMs()) + 1);
});

test('a report of a long time has the rate of a single message, to four digits', async () => {
  const { body } = await callStore(
    api,
    'GET',
    '/v1/reports/throughput?from=2026-01-01&to=2026-10-29&group_by=carrier,sender&category=otp',
  );
  expect(body.data.length).toBeGreaterThan(1);
  for (const row of body.data) {
    expect([row.sender, row.messages_per_second > 0]).toEqual([row.sender, row.messages > 0]);
    expect(row.messages_per_second).toBeCloseTo(row.messages / row.seconds, 8);
    expect(row.segments_per_second).toBeCloseTo(row.segments_submitted / row.seconds, 8);
  }
});

test.each(reports)('$name is a CSV and a Parquet file with the same rows', async (report) => {
  const { name } = report;
  const path = `/v1/reports/${name}?${range}&group_by=${groupingOf(report)}`;
  const { status, body } = await callStore(api, 'GET', path);
  expect(status).toBe(200);
  const data = body.data as readonly Row[];
  expect(data.length).toBeGreaterThan(1);
  const columns = [...report.always, ...(report.derived ?? []), ...report.measures, ...(report.compared ?? [])];
  const names = [...groupingOf(report).split(','), ...columns.map((column) => column.name)];
  for (const format of files) {
    const answer = await fileOf(`${path}&format=${format}`);
    expect(answer.headers.get('content-type')).toBe(types[format]);
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${name}.${format}"`);
    const octets = new Uint8Array(await answer.arrayBuffer());
    if (format === 'csv') {
      const [head] = Buffer.from(octets).toString().split('\n');
      expect(head).toBe(names.map((each) => `"${each}"`).join(','));
    }
    const rows = await rowsOf(octets, format);
    expect(Object.keys(rows[0] ?? {})).toEqual(names);
    expect(rows).toEqual(data);
  }
});

test.each(reports)('$name is described with its parameters, its columns and its files', async (report) => {
  const { body } = await api.call('GET', '/openapi.json', { key: null });
  const route = body.paths[`/v1/reports/${report.name}`].get;
  const taken = route.parameters.map((each: { name: string }) => each.name).toSorted();
  expect(taken).toEqual(Object.keys(reportParameters(report).shape).toSorted());
  expect(Object.keys(route.responses['200'].content).toSorted()).toEqual(
    ['application/json', types.csv, types.parquet].toSorted(),
  );
  const { $ref } = route.responses['200'].content['application/json'].schema;
  const json = JSON.stringify(body.components.schemas[$ref.split('/').at(-1)]);
  for (const { name } of [...report.always, ...report.measures]) expect(json).toContain(`"${name}"`);
});

/** The report on the command line, over the time of `range`. */
const runReport = (report: Report, ...words: string[]) =>
  until('the event store answers in time', async () => {
    const time = ['--from', '2026-10-22T00:00:00Z', '--to', '2026-10-29T00:00:00Z'];
    const result = await runCliHere(['report', report.name, ...time, ...words], { NATS_URL: api.nats.url });
    return !result.stderr.startsWith('report_unavailable: ') && result;
  });

test.each(reports)('$name is the same on the command line', async (report) => {
  const run = (...words: string[]) =>
    runReport(report, '--account', api.accountId, '--group-by', groupingOf(report), ...words);
  const { body } = await callStore(api, 'GET', `/v1/reports/${report.name}?${range}&group_by=${groupingOf(report)}`);
  expect((JSON.parse((await run('--json')).stdout) as { readonly data: unknown }).data).toEqual(body.data);
  const csv = await run('--format', 'csv');
  expect(await rowsOf(Buffer.from(csv.stdout), 'csv')).toEqual(body.data);
  expect((await run('--format', 'parquet')).stdout.slice(0, 4)).toBe('PAR1');
});

test.each(reports)('$name by account is the report of each account that has anything', async (report) => {
  const dataOf = async (...words: string[]) => {
    const { stdout } = await runReport(report, ...words, '--json');
    return (JSON.parse(stdout) as { readonly data: readonly Row[] }).data;
  };
  const [group = ''] = groupingOf(report).split(',');
  const ofEach = async (...groups: string[]) => {
    const rows: Row[] = [];
    for (const account of [api.accountId, second].toSorted()) {
      const ofAccount = await dataOf('--account', account, ...groups);
      rows.push(...ofAccount.map((row) => ({ account, ...row })));
    }
    return rows;
  };
  expect(await dataOf('--group-by', 'account')).toEqual(await ofEach());
  expect(await dataOf('--group-by', `${group},account`)).toEqual(await ofEach('--group-by', group));
  const alone = await dataOf('--group-by', 'account', '--account', second);
  expect(new Set(alone.map(({ account }) => account))).toEqual(new Set([second]));
  const table = await runReport(report, '--group-by', 'account');
  expect(table.stdout).toMatch(new RegExp(`^${report.title} {2}every account {2}live `));
  for (const account of [api.accountId, second]) expect(table.stdout).toMatch(new RegExp(`^${account} `, 'm'));
});
