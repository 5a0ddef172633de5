// Reports over HTTP and on the command line, over a seeded run of events: each is what docs/reports.md computes from the
// events; wrong parameters are named; an account has its share.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunReportReply, querySubjects, reportTimeoutMs } from '../../../analytics/contract.ts';
import { type AnalyticsNode, startAnalytics } from '../../../analytics/analytics-node.ts';
import { reports } from '../../../analytics/reports/catalogue.ts';
import type { Report } from '../../../analytics/reports/report.ts';
import { notReadOnly } from '../../../analytics/sql/select-only.ts';
import { type Engine, openEngine, slowRows } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { encodeEvents } from '../../../model/records/event-record.ts';
import { contextOf, lifeOf } from '../../analytics/support/events.ts';
import { runCliHere } from '../../support/cli-here.ts';
import { runCli } from '../../support/cli.ts';
import { keptForYears } from '../../support/kept-for-years.ts';
import { expectExactCounts, expectSameFolds } from '../../support/recount.ts';
import { expectExactClicks } from '../../support/recount-clicks.ts';
import { until } from '../../support/until.ts';
import { recordSeeded } from '../../support/seeded-reports.ts';
import { type RunningApi, callStore, refusal, runApi } from './support/running-api.ts';

const text = readFileSync(new URL('../../../docs/reports.md', import.meta.url), 'utf8');
const dir = mkdtempSync(join(tmpdir(), 'heliograph-reports-'));
/** Clocks in Berlin went back on the 25th. */
const range = 'from=2026-10-22T00:00:00Z&to=2026-10-29T00:00:00Z';
const messages = 600;

let api: RunningApi;
let engine: Engine;
let node: AnalyticsNode;

beforeAll(async () => {
  api = await runApi();
  engine = openEngine({ clickhouseUrl: null, dataDir: join(dir, 'clickhouse') });
  await applySchema(engine);
  node = await startAnalytics(api.bus, engine, { retention: keptForYears });
  await recordSeeded(api, engine, messages);
});
afterAll(async () => {
  await node?.stop(2_000);
  await engine?.close();
  await api?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const ask = (report: string, options = {}) => callStore(api, 'GET', `/v1/reports/${report}`, options);

/** Every report of the page with the query over events that follows it. */
const walk = [...text.matchAll(/^`GET (\/v1\/reports\/[^`\s]+)`[^\n]*\n\n```sql\n([\s\S]*?)```/gm)].map(
  ([, path = '', sql = '']) => ({ path, sql }),
);

/** Throughput is printed as without `from` and `to`, over the days before now(): here at this moment, and over those. */
const atMoment = { now: "toDateTime('2026-10-29 12:00:00', 'UTC')", range: 'from=2026-10-23&to=2026-10-29T12:00:00Z' };

const [, messagesOfEvents = ''] = /```sql\n(WITH messages_of_events AS[\s\S]*?)```/.exec(text) ?? [];

describe('the walk-through of docs/reports.md', () => {
  beforeAll(async () => {
    const fold = messagesOfEvents.replace('acc_…', api.accountId).replace(/^WITH (\w+) AS \(/, 'CREATE VIEW $1 AS');
    await engine.command(fold.replace(/\)\s*$/, ''));
  });

  test('has every report', () => {
    expect(new Set(walk.map(({ path }) => path.split(/[/?]/)[3]))).toEqual(new Set(reports.map(({ name }) => name)));
  });

  test('computes every column of each report in one of its queries', async () => {
    const namesOf = (columns: readonly { readonly name: string }[] = []) => columns.map(({ name }) => name);
    for (const { name, always, measures, compared } of reports) {
      const found: string[] = [];
      for (const { sql } of walk.filter(({ path }) => path.split(/[/?]/)[3] === name)) {
        found.push(...(await slowRows(engine, `DESCRIBE (${sql})`)).map((row) => row.slice(0, 2).join(' ')));
      }
      const missing = [...namesOf(always), ...namesOf(measures), ...namesOf(compared)].filter(
        (column) => !found.some((of) => of.startsWith(`${column} `)),
      );
      // Null where nobody clicked, entered or received: 0 would be a time.
      expect(found.filter((of) => /^(first_click|verified|delivered)_p\d+_ms (?!Nullable)/.test(of))).toEqual([]);
      expect([name, missing]).toEqual([name, []]);
    }
  });

  test.each(walk)('$path is what the events say', async ({ path, sql }) => {
    const isByDefault = sql.includes('toStartOfDay(now()');
    const { status, body } = await callStore(api, 'GET', `${path}&${isByDefault ? atMoment.range : range}`);
    expect(status).toBe(200);
    const own = isByDefault ? sql.replaceAll('now()', atMoment.now) : sql;
    const printed = `${sql.includes('messages_of_events') ? messagesOfEvents : ''}${own}`;
    const tree = await engine.octets(`EXPLAIN AST ${printed}`, 'TabSeparated', {}, 20_000, 'system');
    expect(notReadOnly(tree.toString().trimEnd().split('\n'))).toBeNull();
    const json = await engine.octets(
      `${printed.replaceAll('acc_…', api.accountId)} SETTINGS output_format_json_array_of_rows = 1, output_format_json_quote_64bit_integers = 0`,
      'JSONEachRow',
      {},
      20_000,
      'system',
    );
    const expected = JSON.parse(json.toString()) as Record<string, unknown>[];
    expect(expected.length).toBeGreaterThan(1);
    const names = Object.keys(expected[0] ?? {});
    const { always } = reports.find((report) => path.startsWith(`/v1/reports/${report.name}?`)) as Report;
    const isKey = (name: string) => typeof expected[0]?.[name] === 'string' || always.some((key) => key.name === name);
    const keys = names.filter(isKey);
    const sorted = (rows: Record<string, unknown>[]) =>
      new Map(rows.map((row) => [keys.map((key) => row[key]).join('|'), row]));
    const found = sorted(body.data);
    expect([...found.keys()].toSorted()).toEqual([...sorted(expected).keys()].toSorted());
    for (const [key, row] of sorted(expected)) {
      for (const name of names) {
        // Null, where nothing was measured, is another answer than 0.
        const [value, exact] = [found.get(key)?.[name], row[name]];
        const isTime = name.endsWith('_ms') && value !== null && exact !== null;
        if (!isTime) expect([key, name, value]).toEqual([key, name, exact]);
        else expect(Math.abs(Number(value) - Number(exact))).toBeLessThanOrEqual(Number(exact) * 0.026 + 1);
      }
    }
  });

  test('and both the view and the counts are those of the fold of single messages', async () => {
    await expectSameFolds((sql) => slowRows(engine, sql), 'messages_of_events');
    const { refused } = await expectExactCounts((sql) => slowRows(engine, sql));
    expect(refused).toBe(messages / 20);
    const clicked = await expectExactClicks((sql) => slowRows(engine, sql));
    expect(clicked.messages).toBeGreaterThan(100);
    expect(clicked.human).toBeGreaterThan(20);
  });
});

describe('a report', () => {
  test('is the same by blocks of six hours, by half hours and in one row', async () => {
    const ofDay = async (query: string) => {
      const { body } = await ask(`delivery?${range}&${query}`);
      return body.data.reduce((sum: number, row: any) => sum + row.messages, 0);
    };
    const whole = await ofDay('');
    expect(whole).toBeGreaterThan(500);
    for (const zone of ['UTC', 'Asia/Kolkata', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe']) {
      for (const by of ['day', 'hour', 'day,sender'])
        expect(await ofDay(`group_by=${by}&time_zone=${zone}`)).toBe(whole);
    }
  });

  test('has a day of 25 hours where clocks go back', async () => {
    const { body } = await ask('throughput?from=2026-10-24&to=2026-10-27&time_zone=Europe/Berlin&group_by=day');
    expect(body.data.map((row: any) => row.seconds)).toEqual([86_400, 90_000, 86_400]);
    const [from, to] = ['2026-10-23T22:00:00.000Z', '2026-10-26T23:00:00.000Z'];
    expect(body).toMatchObject({ from, to, time_zone: 'Europe/Berlin' });
    const hours = await ask('delivery?from=2026-10-25&to=2026-10-26&time_zone=Europe/Berlin&group_by=hour');
    const names = hours.body.data.map((row: any) => row.hour);
    expect(new Set(names).size).toBe(names.length);
  });

  test('shows the messages of its key’s account and mode', async () => {
    const total = async (key: string) => {
      const { body } = await ask(`delivery?${range}`, { key });
      return [body.livemode, body.data[0].messages];
    };
    const [, live] = await total(api.live);
    const [, tested] = await total(api.testKey);
    expect(live + tested).toBe(messages - messages / 20);
    expect(tested).toBeGreaterThan(10);
    expect(await total(api.other)).toEqual([true, 0]);
  });

  test.each([
    ['group_by=colour', 'group_by'],
    ['group_by=day,carrier,sender', 'group_by'],
    ['group_by=day,day', 'group_by'],
    ['group_by=hour,day', 'group_by'],
    ['from=2026-10-02&to=2026-10-01', 'from'],
    ['from=2026-10-01&to=2026-10-01', 'from'],
    ['from=2025-01-01&to=2026-10-01', 'from'],
    ['from=2026-06-01&to=2026-10-01&group_by=hour', 'from'],
    ['from=1970-01-01&to=2026-01-02', 'from'],
    ['from=2026-10-01T00:10:00Z', 'from'],
    ['from=2026-02-30', 'from'],
    ['from=yesterday', 'from'],
    ['to=9999-01-01', 'to'],
    ['time_zone=Europe/Atlantis', 'time_zone'],
    ['time_zone=Asia/Kathmandu', 'time_zone'],
    ['time_zone=Asia/Kathmandu&from=2026-10-22', 'time_zone'],
    ['time_zone=Australia/Eucla&from=2026-10-22T00:00:00Z&to=2026-10-23T00:00:00Z&group_by=day', 'time_zone'],
    ['time_zone=Pacific/Chatham&from=2026-10-22T00:00:00Z&to=2026-10-23T00:00:00Z&group_by=hour', 'time_zone'],
    ["time_zone=UTC')--", 'time_zone'],
    ['time_zone=%2B05:30', 'time_zone'],
    ['format=xlsx', 'format'],
    ['format=csv&format=json', 'format'],
    ['sender=', 'sender'],
    ['category=bulk', 'category'],
    ['category=', 'category'],
    ['from=2026-10-22T00:00:00 6:00', 'from'],
    ['group_by=day,variant&variant=var_a', 'group_by'],
    ['group_by=day&variant=var_a', 'variant'],
  ])('refuses %s and names %s', async (query, field) => {
    expect(refusal(await ask(`delivery?${query}`))).toMatchObject({ status: 422, fields: [`${field} invalid_field`] });
  });

  test('takes a time whose plus the URL has as it is', async () => {
    const { status, body } = await ask('delivery?from=2026-10-22T06:00:00+06:00&to=2026-10-23T06:00:00+06:00');
    expect([status, body.from, body.to]).toEqual([200, '2026-10-22T00:00:00.000Z', '2026-10-23T00:00:00.000Z']);
  });

  test('refuses what it does not have', async () => {
    const unknown = await ask('delivery?colour=red');
    expect(refusal(unknown)).toMatchObject({ status: 422, fields: ['colour unknown_field'] });
    const bySender = await ask('latency?group_by=sender');
    expect(refusal(bySender)).toMatchObject({ status: 422, fields: ['group_by invalid_field'] });
    for (const by of ['otp?group_by=day,variant', 'campaigns?group_by=campaign']) {
      expect(refusal(await ask(by))).toMatchObject({ status: 422, fields: ['group_by invalid_field'] });
    }
    expect(refusal(await ask('weather'))).toMatchObject({ status: 404, code: 'not_found' });
    const key = await api.newKey(api.accountId, true, ['sms:read']);
    expect(refusal(await ask('delivery', { key }))).toMatchObject({ status: 403, code: 'scope_missing' });
  });

  test('of clicks judges by the classes that are chosen, people alone without a choice', async () => {
    const clicks = async (query = '') => (await ask(`clicks?${range}${query}`)).body;
    const people = await clicks();
    expect(people.classes).toEqual(['human']);
    expect((await clicks('&classes=human')).data).toEqual(people.data);
    const all = await clicks('&classes=unknown,human,scanner,preview');
    expect(all.classes).toEqual(['human', 'preview', 'scanner', 'unknown']);
    const [row, rowOfAll] = [people.data[0], all.data[0]];
    expect(rowOfAll.messages).toBe(row.messages);
    expect(rowOfAll.clicked).toBeGreaterThan(row.clicked);
    expect(rowOfAll.first_click_p50_ms).toBeLessThanOrEqual(row.first_click_p90_ms);
    expect((await clicks('&classes=scanner&group_by=day,sender')).data.length).toBeGreaterThan(5);
    for (const wrong of ['robot', 'human,,scanner', '', 'human;DROP']) {
      expect(refusal(await ask(`clicks?classes=${wrong}`))).toMatchObject({
        status: 422,
        fields: ['classes invalid_field'],
      });
    }
    const elsewhere = await ask('delivery?classes=human');
    expect(refusal(elsewhere)).toMatchObject({ status: 422, fields: ['classes unknown_field'] });
    const test = await ask(`clicks?${range}`, { key: api.testKey });
    expect(test.body.data[0].messages).toBeGreaterThan(0);
    expect((await ask(`clicks?${range}`, { key: api.other })).body.data[0].messages).toBe(0);
  });

  test('values of filters are values, whatever they hold', async () => {
    const { body } = await ask(`delivery?${range}&sender=${encodeURIComponent('O\'Neil, "Ltd"')}`);
    expect(body.data[0].messages).toBeGreaterThan(50);
    const none = await ask(`delivery?${range}&sender=${encodeURIComponent("' OR 1 = 1 --")}`);
    expect(none.body.data[0].messages).toBe(0);
  });

  test('holds up neither the recorder nor status look-ups while it runs', async () => {
    let isRunning = true;
    const sql = 'SELECT sleepEachRow(1) FROM numbers(10) SETTINGS max_block_size = 1, max_threads = 1';
    const report = engine.octets(sql, 'JSONEachRow', {}, 60_000, 'background').then(() => {
      isRunning = false;
    });
    const publisher = new Publisher(api.bus);
    const context = contextOf({ accountId: api.accountId, sender: 'BESIDE' });
    await publisher.publishOne('ev.sandbox.0', encodeEvents(lifeOf(context)), null);
    const query = JSON.stringify({ accountId: api.accountId, messageId: context.messageId });
    const read = async () =>
      (await api.bus.connection.request(querySubjects.get, query, { timeout: 5_000 })).json<any>();
    await until('its status is answered', async () => (await read()).message?.status === 'delivered');
    publisher.close();
    const recorded = async () =>
      (
        await engine.rows("SELECT toUInt32(count()) FROM sms_events WHERE sender = 'BESIDE' AND kind = 'delivered'")
      )[0]?.[0];
    await until('it is recorded', async () => (await recorded()) === 1);
    expect(isRunning).toBe(true);
    await report;
  });

  test('takes a place of its account until its last part is fetched', async () => {
    const { accountId } = api;
    const fromMs = Date.UTC(2026, 9, 22);
    const query = {
      report: 'delivery',
      accountId,
      livemode: true,
      fromMs,
      toMs: fromMs + 3_600_000,
      timeZone: 'UTC',
      groupBy: [],
      filters: {},
      format: 'json',
    };
    const run = () =>
      until('the event store answers in time', async () => {
        const request = { timeout: reportTimeoutMs };
        const answer = await api.bus.connection.request(querySubjects.report, JSON.stringify(query), request);
        const reply = answer.json<RunReportReply>();
        return reply.result !== 'unavailable' && reply;
      });
    const part = async (of: RunReportReply) => {
      if (of.result !== 'found') throw new Error(of.result);
      return api.bus.connection.request(of.subject, JSON.stringify({ id: of.id, part: 0 }));
    };
    const [first, second] = [await run(), await run()];
    expect(await run()).toEqual({ result: 'no_place', why: 'account_full' });
    expect(refusal(await ask('delivery'))).toMatchObject({ status: 429, code: 'account_busy' });
    expect((await part(first)).json()).toMatchObject([{ refused_requests: expect.any(Number) }]);
    expect((await part(first)).data.length).toBe(0);
    await part(await run());
    await part(second);
  });

  test('on the command line is a table with bars, a file, or a sentence', async () => {
    // A command asks once. On a busy machine the event store may not answer in time: then a person asks again.
    const answered = (run: typeof runCli, words: string[]) =>
      until('the event store answers in time', async () => {
        const result = await run(['report', ...words, '--account', api.accountId], { NATS_URL: api.nats.url });
        return !result.stderr.startsWith('report_unavailable: ') && result;
      });
    const asProcess = (...words: string[]) => answered(runCli, words);
    const cli = (...words: string[]) => answered(runCliHere, words);
    const zone = ['--from', '2026-10-22', '--to', '2026-10-29', '--time-zone', 'Asia/Kolkata'];
    const table = await asProcess('delivery', ...zone, '--group-by', 'day');
    expect(table.stdout).toMatch(/^What became of messages {2}acc_\w+ {2}live .*Z, days of Asia\/Kolkata$/m);
    expect(table.stdout).toMatch(/^2026-10-23 +\d+/m);
    expect(table.stdout).toMatch(/^messages {2}[▁-█]{7}$/m);
    expect((await cli('delivery', ...zone)).stdout).toMatch(/ to \S+Z\n/);
    const slow = await cli('throughput', ...zone);
    expect(slow.stdout).toMatch(/^messages +segments_submitted +seconds +messages_per_second +segments_per_second$/m);
    const nothing = await cli('clicks', ...zone, '--sender', 'Nobody');
    expect(nothing.stdout.split('\n').slice(1)).toEqual(['nothing in this time', '']);
    expect((await cli('segments', ...zone, '--format', 'csv')).stdout).toMatch(/^"encoding","segments_per_message"/);
    const why = await cli('errors', ...zone, '--group-by', 'day');
    // A line for each error, without its cause in words, over the same days.
    const bars = why.stdout.split('\n').filter((line) => /[·▁-█]$/.test(line));
    expect(bars.length).toBeGreaterThan(3);
    expect(new Set(bars.map((line) => line.length)).size).toBe(1);
    for (const line of bars) expect(line).toMatch(/^messages [a-z]+( [\w:.]+)? +[·▁-█]{7}$/);
    expect(why.stdout).toMatch(/^from 2026-10-22 to 2026-10-28$/m);
    const clicks = await cli('clicks', ...zone, '--group-by', 'category', '--classes', 'human,unknown');
    expect(clicks.stdout).toMatch(/^category +messages +clicks_human.* clicked +clicked_share +first_click_p50 /m);
    expect((await cli('clicks', '--classes', 'robot')).stderr).toMatch(/classes: "robot" is not one of human, preview/);
    expect((await cli('click-reasons', ...zone, '--json')).stdout).toMatch(/"class": ?"scanner", ?"reasons": ?"head"/);
    expect((await cli('weather')).stderr).toMatch(/there is no report "weather"; there are: delivery, /);
    const unknown = `acc_${'0'.repeat(26)}`;
    const stderr = `account_not_found: there is no account ${unknown}\n`;
    for (const format of ['json', 'csv']) {
      const words = ['report', 'delivery', '--account', unknown, '--format', format];
      expect(await runCliHere(words, { NATS_URL: api.nats.url })).toMatchObject({ code: 1, stdout: '', stderr });
    }
    expect((await cli('delivery', '--from', 'soon')).stderr).toMatch(/from: must be a time with its offset/);
  });
});
