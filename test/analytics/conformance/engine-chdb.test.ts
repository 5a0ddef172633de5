// The engine in this process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Engine, openEngine } from '../../../analytics/store/engine.ts';
import { engineConformance } from '../support/engine-conformance.ts';

let engine: Engine;

engineConformance(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-engine-'));
  engine = openEngine({ clickhouseUrl: null, dataDir });
  return {
    engine,
    async close() {
      await engine.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
});

// A server has statements at once by itself; the one of the other file is a stand-in that has not.
test('while an answer in octets is made, queries are answered and rows inserted', async () => {
  let isMade = false;
  const sql = 'SELECT sleepEachRow(1) FROM numbers(10) SETTINGS max_block_size = 1, max_threads = 1';
  const long = engine.octets(sql, 'JSONEachRow', {}, 60_000, 'background').then(() => {
    isMade = true;
  });
  for (let n = 101; n <= 105; n += 1) {
    await engine.insert('each (n, word)', Buffer.from(`${n}\tbeside\n`));
    expect(await engine.rows('SELECT word FROM each WHERE n = {n:UInt64}', { n })).toEqual([['beside']]);
  }
  expect(isMade).toBe(false);
  await long;
});

// With it, chDB prints a stack trace at every start where no cgroup can be read, and counts the memory of other processes.
test('it does not read the memory of its cgroup', async () => {
  const sql = "SELECT value FROM system.server_settings WHERE name = 'memory_worker_use_cgroup'";
  expect(await engine.rows(sql)).toEqual([['0']]);
});
