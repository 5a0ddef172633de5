// Exports in slices, over the engine in this process and over one behind HTTP: whatever the size of a slice, the file has every
// row once, in the order of its table; what is inserted while it is read is in it once or not at all.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JoinedParquet } from '../../analytics/sql/parquet-file.ts';
import { type Ask, type ExportQuery, type ExportSlice, exportSlice } from '../../analytics/sql/export-slice.ts';
import { publicTable, publicTables } from '../../analytics/sql/public-tables.ts';
import { type Engine, openEngine, slowRows } from '../../analytics/store/engine.ts';
import { applySchema } from '../../analytics/store/schema.ts';
import { limits } from '../../platform/limits.ts';
import { until } from '../support/until.ts';
import { type TestClickHouse, startClickHouse } from './support/clickhouse-server.ts';

const dir = mkdtempSync(join(tmpdir(), 'heliograph-export-slices-'));
const rows = 1_000;
const bounds = { sliceRowsMax: 150, rowsMax: 10 * rows };
const asked = {
  accountId: 'acc_1',
  livemode: true,
  fromMs: Date.parse('2026-11-01T00:00:00Z'),
  toMs: Date.parse('2026-11-02T00:00:00Z'),
} as const;
const time = `toDateTime64('2026-11-01 00:00:00', 3, 'UTC') + intDiv(number, 7)`;

/** Three rows of each message, so that a slice is cut where it must not divide them. */
const events = (account: string, from: number, count: number) => `INSERT INTO sms_events
  (account_id, message_id, stream_seq, event_id, kind, livemode, client_reference, accepted_at)
  SELECT '${account}', concat('sms_', leftPad(toString(intDiv(number, 3)), 9, '0')), number, leftPad(toString(number), 26, '0'),
  'delivered', true, 'a,"b"', ${time} FROM numbers(${from}, ${count})`;

let server: TestClickHouse;
const engines: Record<string, Engine> = {};

beforeAll(async () => {
  server = await startClickHouse({ dataDir: dir });
  engines['a server'] = openEngine({ clickhouseUrl: server.url, dataDir: '' });
  engines['this process'] = openEngine({ clickhouseUrl: null, dataDir: dir });
  const [engine] = Object.values(engines) as [Engine];
  await applySchema(engine);
  await engine.command(events('acc_1', 0, rows));
  await engine.command(events('acc_2', 0, rows));
  const links = `'acc_1', true, concat('lnk_', toString(number)), ${time} FROM numbers(${rows})`;
  await engine.command(`INSERT INTO link_codes (code, message_id, account_id, livemode, link_id, accepted_at)
    SELECT 18446744073709551615 - number, concat('sms_', toString(number)), ${links}`);
  await engine.command(`INSERT INTO link_clicks (at, click_id, reasons, account_id, livemode, link_id, accepted_at)
    SELECT ${time}, toString(number), ['a', 'b'], ${links}`);
  const slots = `'acc_1', true, toDateTime('2026-11-01 00:00:00', 'UTC') + 1800 * intDiv(number, 25)`;
  await engine.command(`INSERT INTO message_counts (account_id, livemode, slot, sender, messages)
    SELECT ${slots}, toString(number), 1 FROM numbers(${rows})`);
  await engine.command(`INSERT INTO latency_counts (account_id, livemode, slot, bucket, messages)
    SELECT ${slots}, number, 1 FROM numbers(${rows})`);
});
afterAll(async () => {
  for (const engine of Object.values(engines)) await engine.close();
  await server?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Again when the machine is too busy for the time that a statement may take. */
const askOf =
  (engine: Engine): Ask =>
  ({ sql, params }, format) =>
    until('the engine answers in time', () =>
      engine
        .octets(sql, format, params, limits.recorder.insertTimeoutMs, 'background')
        .then((octets) => ({ octets }))
        .catch((error: unknown) => {
          if (/TIMEOUT_EXCEEDED|Timeout exceeded|did not finish/.test(String(error))) return null;
          throw error;
        }),
    ).then(({ octets }) => octets);

/** `between` runs behind each slice. */
async function slicesOf(engine: Engine, query: ExportQuery, between = async () => {}): Promise<ExportSlice[]> {
  const table = publicTable(query.table);
  const slices: ExportSlice[] = [];
  for (let after: string | undefined; table !== undefined; ) {
    const read: ExportQuery = after === undefined ? query : { ...query, after };
    const slice = await exportSlice(askOf(engine), table, read, bounds);
    if (slice === 'too_large') throw new Error(slice);
    slices.push(slice);
    if (slice.next === undefined) break;
    after = slice.next;
    await between();
  }
  return slices;
}

function fileOf(format: ExportQuery['format'], slices: readonly ExportSlice[]): Buffer {
  const bodies = slices.map(({ octets }) => octets);
  if (format === 'csv') return Buffer.concat(bodies);
  if (format === 'json') return Buffer.from(`[${bodies.filter((each) => each.length > 0).join(',')}]`);
  const joined = new JoinedParquet();
  for (const { octets, footer = '' } of slices) joined.add(Buffer.from(footer, 'base64'), octets.length);
  return Buffer.concat([joined.begin, ...bodies, joined.end()]);
}

describe.each(['this process', 'a server'])('over %s', (kind) => {
  test.each(publicTables.map(({ name }) => name))('slices of %s are one file in every format', async (table) => {
    const engine = engines[kind] as Engine;
    const columns = publicTable(table)?.columns.map(({ name }) => name) ?? [];
    const sum = `SELECT count(), sum(cityHash64(${columns.map((name) => `toString(${name})`).join(', ')}))`;
    const stored = await slowRows(engine, `${sum} FROM ${table} WHERE account_id = 'acc_1'`);
    expect(stored[0]?.[0]).toBe(rows);
    for (const format of ['json', 'csv', 'parquet'] as const) {
      const slices = await slicesOf(engine, { ...asked, table, format });
      expect(slices.length).toBeGreaterThan(5);
      const file = fileOf(format, slices);
      if (format === 'json') expect(JSON.parse(file.toString())).toHaveLength(rows);
      const path = join(dir, `${table}.${format}`);
      writeFileSync(path, file);
      const native = { json: 'JSONEachRow', csv: 'CSVWithNames', parquet: 'Parquet' }[format];
      const structure = `SELECT name, type FROM system.columns WHERE table = '${table}' AND database = currentDatabase()`;
      const types = new Map((await slowRows(engine, structure)).map(([name, type]) => [name, type]));
      const schema = columns.map((name) => `${name} ${String(types.get(name))}`).join(', ');
      const read = `${sum} FROM file('${path}', ${native}, '${schema.replaceAll("'", "\\'")}') SETTINGS date_time_input_format = 'best_effort'`;
      expect([format, ...(await slowRows(engine, read))]).toEqual([format, ...stored]);
    }
  });

  test('rows that are inserted meanwhile are in it once or not at all', async () => {
    const engine = engines[kind] as Engine;
    const accountId = kind === 'a server' ? 'acc_3' : 'acc_4';
    await engine.command(events(accountId, 0, rows));
    const query = { ...asked, accountId, table: 'sms_events', format: 'json' } as const;
    let inserted = 0;
    const between = async () => {
      inserted += 1;
      // Of the first message, and behind the last one.
      if (inserted === 3)
        await engine.command(events(accountId, 0, 1).replace(', number, leftPad', ', 1000000, leftPad'));
      if (inserted === 3) await engine.command(events(accountId, rows + 10, 200));
    };
    const read: { stream_seq: number }[] = JSON.parse(
      fileOf('json', await slicesOf(engine, query, between)).toString(),
    );
    const seqs = read.map((row) => row.stream_seq);
    expect(new Set(seqs).size).toBe(seqs.length);
    expect(seqs).toEqual([...Array(rows).keys(), ...Array.from({ length: 200 }, (_, n) => rows + 10 + n)]);
  });

  test('more rows than an export may have are known at its beginning', async () => {
    const table = publicTable('sms_events')!;
    const query = { ...asked, table: 'sms_events', format: 'json' } as const;
    const read = (rowsMax: number) => exportSlice(askOf(engines[kind] as Engine), table, query, { ...bounds, rowsMax });
    expect(await read(rows - 1)).toBe('too_large');
    expect(await read(rows)).toMatchObject({ next: expect.stringMatching(/^sms_/) });
  });
});
