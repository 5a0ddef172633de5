// What the engine answers at the end of a statement's time: all of the rows or an error, never a part of them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nativeFormats } from '../../analytics/sql/public-tables.ts';
import { type Engine, openEngine } from '../../analytics/store/engine.ts';
import { ignoring } from '../../platform/errors.ts';
import { patienceMs } from '../support/until.ts';

const dir = mkdtempSync(join(tmpdir(), 'heliograph-late-'));
const rows = 25_000;
let engine: Engine;
beforeAll(async () => {
  engine = openEngine({ clickhouseUrl: null, dataDir: dir });
  await engine.command('CREATE TABLE many (id String, n UInt64, x String) ENGINE = MergeTree ORDER BY (id, n)');
  await engine.command(
    "INSERT INTO many SELECT leftPad(toString(intDiv(number, 5)), 22, '0'), number, hex(sipHash128(number)) FROM numbers(1000000)",
  );
});
afterAll(async () => {
  await engine?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** As a slice of an export reads. */
const statement = (limitMs: number) =>
  `SELECT id, n, x, concat(x, x) AS y FROM many WHERE id > leftPad('100000', 22, '0') AND id <= leftPad('${100_000 + rows / 5}', 22, '0') ORDER BY id, n
   SETTINGS max_threads = 1, max_execution_time = ${limitMs / 1_000}`;

const ways: [string, (sql: string) => Promise<number>][] = [
  [
    'a file',
    async (sql) =>
      (await engine.octets(sql, nativeFormats.csv, {}, patienceMs, 'system')).toString().split('\n').length - 2,
  ],
  ['rows', async (sql) => (await engine.rows(sql, {}, patienceMs)).length],
];
test.each(ways)('%s is whole or an error, whenever its time is over', async (_, count) => {
  const found = new Set<number | 'error'>();
  for (let at = 0; at < 120; at += 1) {
    const counted = await count(statement(2 + (at % 40) * 2)).catch((error: unknown) => {
      ignoring(error, 'its time was over');
      return 'error' as const;
    });
    found.add(counted);
  }
  expect([...found].filter((each) => each !== rows)).toEqual(['error']);
  expect(await count(statement(patienceMs))).toBe(rows);
});
