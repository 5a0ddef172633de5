// Exports over HTTP: the account's own rows of the key's mode in every format and of every table, whole although they are read in
// slices and leave in parts; wrong parameters are named; bounds and an event store that is away have their codes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AnalyticsNode, startAnalytics } from '../../../analytics/analytics-node.ts';
import { nativeFormats, publicTables, sqlFormats } from '../../../analytics/sql/public-tables.ts';
import { type Engine, openEngine } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';
import type { AccountId } from '../../../model/ids.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { keptForYears } from '../../support/kept-for-years.ts';
import { until } from '../../support/until.ts';
import { type RunningApi, callStore, refusal, runApi } from './support/running-api.ts';

const dir = mkdtempSync(join(tmpdir(), 'heliograph-exports-'));
const rows = 3_000;
/** Two slices and a part of one. */
const many = 2 * limits.exports.sliceRowsMax + 10_000;
const range = 'from=2026-11-01&to=2026-11-02';
let api: RunningApi;
let engine: Engine;
let node: AnalyticsNode;

/** The rows of one day, one each second. */
const filled = (account: AccountId, livemode: boolean, count: number, day: string) => `INSERT INTO sms_events
  (account_id, message_id, stream_seq, event_id, kind, at, recipient, livemode, client_reference, accepted_at, valid_until, recorded_at)
  SELECT '${account}', concat('sms_', leftPad(toString(number), 9, '0')), number, leftPad(toString(number), 26, '0'), 'delivered', t,
  '+8801712345678', ${livemode}, 'a,"b"', t, t, t FROM (SELECT number, toDateTime64('${day} 00:00:00', 3, 'UTC') + number / 2 AS t FROM numbers(${count}))`;

beforeAll(async () => {
  api = await runApi();
  engine = openEngine({ clickhouseUrl: null, dataDir: join(dir, 'clickhouse') });
  await applySchema(engine);
  await engine.command(filled(api.accountId, true, rows, '2026-11-01'));
  await engine.command(filled(api.accountId, false, 5, '2026-11-01'));
  await engine.command(filled(await api.newAccount(), true, 7, '2026-11-01'));
  await engine.command(filled(api.accountId, true, many, '2026-11-10'));
  await engine.command(filled(api.accountId, true, many, '2026-11-20'));
  // More of one message than a slice may have, which are not divided.
  await engine.command(
    filled(api.accountId, true, limits.exports.sliceRowsTiedMax + 1, '2026-11-21').replace(
      /concat\(.*?\), number/,
      "'sms_zzz', number",
    ),
  );
  node = await startAnalytics(api.bus, engine, { retention: keptForYears });
});
afterAll(async () => {
  await node?.stop(2_000);
  await engine?.close();
  await api?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const file = (query: string, key = api.live) =>
  until('the event store answers in time', async () => {
    const answer = await fetch(`http://127.0.0.1:${api.api.port}/v1/exports/sms_events?${query}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return answer.status !== 503 && answer;
  });

test('an account gets its own rows of its time and its mode, as documented', async () => {
  const { status, body } = await callStore(api, 'GET', `/v1/exports/sms_events?${range}`);
  expect([status, body.length]).toEqual([200, rows]);
  expect(body[0]).toMatchObject({
    account_id: api.accountId,
    kind: 'delivered',
    livemode: true,
    accepted_at: '2026-11-01T00:00:00.000Z',
  });
  expect(new Set(body.map((row: any) => row.account_id))).toEqual(new Set([api.accountId]));
  const ofTest = await callStore(api, 'GET', `/v1/exports/sms_events?${range}`, { key: api.testKey });
  expect(ofTest.body.map((row: any) => row.livemode)).toEqual(Array(5).fill(false));
  expect((await callStore(api, 'GET', `/v1/exports/sms_events?${range}`, { key: api.other })).body).toEqual([]);
  for (const plus of ['%2B', '+', '%20']) {
    const minute = `from=2026-11-01T00:00:00${plus}00:00&to=2026-11-01T00:01:00Z`;
    expect((await callStore(api, 'GET', `/v1/exports/sms_events?${minute}`)).body).toHaveLength(120);
  }
});

test('csv and parquet have the same columns and rows', async () => {
  const csv = await file(`${range}&format=csv`);
  expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(csv.headers.get('content-disposition')).toContain('sms_events.csv');
  const lines = (await csv.text()).trimEnd().split('\n');
  expect(lines).toHaveLength(rows + 1);
  expect(lines[0]).toBe((publicTables[0]?.columns ?? []).map(({ name }) => `"${name}"`).join(','));
  expect(lines[1]).toContain('"a,""b"""');
  const parquet = Buffer.from(await (await file(`${range}&format=parquet`)).arrayBuffer());
  expect(parquet.subarray(0, 4).toString() + parquet.subarray(-4).toString()).toBe('PAR1PAR1');
});

test.each(sqlFormats)('more rows than a slice has are one file, each row once, as %s', async (format) => {
  const octets = Buffer.from(await (await file(`from=2026-11-10&to=2026-11-11&format=${format}`)).arrayBuffer());
  const path = join(dir, `whole.${format}`);
  writeFileSync(path, octets);
  if (format === 'json') expect(JSON.parse(octets.toString())).toHaveLength(many);
  const read = await engine.rows(
    `SELECT count(), uniqExact(message_id), min(message_id), max(message_id) FROM file('${path}', ${nativeFormats[format]})`,
  );
  expect(read).toEqual([[many, many, 'sms_000000000', `sms_${String(many - 1).padStart(9, '0')}`]]);
});

test('an export that cannot be finished ends without the end of its answer', async () => {
  const cut = await file('from=2026-11-20&to=2026-11-22&format=csv');
  expect(cut.status).toBe(200);
  await expect(cut.text()).rejects.toThrow('terminated');
});

test('an account has two exports at a time, until one is read or its client goes away', async () => {
  const query = 'from=2026-11-10&to=2026-11-11';
  const stops = [new AbortController(), new AbortController()];
  const begin = (signal: AbortSignal) =>
    until('an export begins', async () => {
      const answer = await fetch(`http://127.0.0.1:${api.api.port}/v1/exports/sms_events?${query}`, {
        headers: { authorization: `Bearer ${api.live}` },
        signal,
      });
      return answer.status === 200 && answer;
    });
  const [, second] = await Promise.all(stops.map(({ signal }) => begin(signal)));
  const third = () => api.call('GET', `/v1/exports/sms_events?${range}`);
  const refused = await third();
  expect(refusal(refused)).toMatchObject({ status: 429, code: 'account_busy' });
  expect(refused.body.detail).toContain('exports of this account');
  stops[0]?.abort();
  await until('the place of the client that went away is free', async () => (await third()).status === 200);
  stops[1]?.abort();
  await second?.text().catch((error: unknown) => ignoring(error, 'its client went away'));
});

test('HEAD makes no export, and keeps no place', async () => {
  for (let times = 0; times < 5; times += 1) {
    const answer = await fetch(`http://127.0.0.1:${api.api.port}/v1/exports/sms_events?${range}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${api.live}` },
    });
    expect(answer.status).toBe(200);
  }
  expect((await callStore(api, 'GET', `/v1/exports/sms_events?${range}`)).body).toHaveLength(rows);
});

test.each(publicTables.map(({ name }) => name))('there is an export of %s', async (name) => {
  expect((await callStore(api, 'GET', `/v1/exports/${name}?${range}`)).status).toBe(200);
});

test.each([
  ['from=yesterday', 'from'],
  ['to=2026-13-01', 'to'],
  ['from=2026-11-02&to=2026-11-01', 'from'],
  ['from=2026-09-01&to=2026-11-01', 'from'],
  ['from=2019-01-01&to=2019-01-02', 'from'],
  ['to=2999-01-01', 'to'],
  ['format=xml', 'format'],
  ['table=sms_submits', 'table'],
])('%s is refused with the name of the parameter', async (query, field) => {
  const reply = await callStore(api, 'GET', `/v1/exports/sms_events?${query}`);
  expect(refusal(reply)).toMatchObject({ status: 422 });
  expect(reply.body.errors[0].field).toBe(field);
});

test('needs the scope, and is of public tables only', async () => {
  const key = await api.newKey(api.accountId, true, ['sms:send']);
  expect(refusal(await callStore(api, 'GET', '/v1/exports/sms_events', { key }))).toMatchObject({
    status: 403,
    code: 'scope_missing',
  });
  for (const table of ['sms_submits', 'schema_versions', 'counted_from']) {
    expect(refusal(await callStore(api, 'GET', `/v1/exports/${table}`))).toMatchObject({ status: 404 });
  }
});

test('more rows than an export may have is a code, and so is a store that is away', async () => {
  const whole = await callStore(api, 'GET', '/v1/exports/sms_events?from=2026-11-21&to=2026-11-22');
  expect(refusal(whole)).toMatchObject({ status: 422, code: 'export_too_large' });
  // The rows of the refused one are not in the next answer.
  expect((await callStore(api, 'GET', `/v1/exports/sms_events?${range}`)).body).toHaveLength(rows);
  await node.stop(2_000);
  expect(refusal(await api.call('GET', '/v1/exports/sms_events'))).toMatchObject({
    status: 503,
    code: 'export_unavailable',
  });
});
