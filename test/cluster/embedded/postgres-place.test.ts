// PostgreSQL run by root, with a data folder its own user cannot enter: its files are elsewhere, and found again there.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { postgresPlace } from '../../../cluster/embedded/postgres-user.ts';
import { startPostgres } from '../../support/postgres.ts';

const isRoot = process.getuid?.() === 0;

describe('the folder of PostgreSQL', () => {
  it('is the data folder when its user can enter it', () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-place-'));
    chmodSync(dataDir, 0o755);
    const place = postgresPlace(dataDir);
    expect(place.home).toBe(join(dataDir, 'postgres'));
    expect(place.user === null).toBe(!isRoot);
    expect(existsSync(join(place.binDir, 'postgres'))).toBe(true);
    rmSync(dataDir, { recursive: true });
  });

  it.runIf(isRoot)('is a folder of the system when it cannot, the same one next time, never one of another', () => {
    // mkdtemp makes it 0700, as a home folder often is.
    const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-place-'));
    const other = mkdtempSync(join(tmpdir(), 'heliograph-place-'));
    const [first, again, others] = [
      postgresPlace(dataDir).home,
      postgresPlace(dataDir).home,
      postgresPlace(other).home,
    ];
    expect(readFileSync(join(dataDir, 'postgres', 'moved-to'), 'utf8').trim()).toBe(first);
    expect(again).toBe(first);
    expect(others).not.toBe(first);
    // Only these two: others' data may be beside them.
    for (const home of [first, others]) {
      expect(dirname(home)).toBe('/var/lib/heliograph');
      expect(basename(home)).toMatch(/^postgres-\w{6}$/);
      rmSync(home, { recursive: true });
    }
    for (const folder of [dataDir, other]) rmSync(folder, { recursive: true });
  });

  it.runIf(isRoot)('run by root has a user of its own, who takes over files without an owner', async () => {
    const postgres = await startPostgres({ isNew: true });
    const data = join(postgres.dataDir, 'postgres', 'data');
    const own = statSync(data);
    const idOf = (user: string) => Number(spawnSync('id', ['-u', user], { encoding: 'utf8' }).stdout);
    expect(own.uid).toBe(idOf('heliograph-db'));
    expect([0, idOf('nobody')]).not.toContain(own.uid);
    await query(postgres.url, 'create table kept (x int); insert into kept values (7)');
    await postgres.kill9();
    expect(spawnSync('chown', ['-R', 'nobody', data]).status).toBe(0);
    await postgres.restart();
    expect(await query(postgres.url, 'select x from kept')).toEqual([{ x: 7 }]);
    expect(statSync(data).uid).toBe(own.uid);
    expect(statSync(join(data, 'base')).uid).toBe(own.uid);
    await postgres.stop();
  });
});

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  try {
    await client.connect();
    return (await client.query(text)).rows as unknown[];
  } finally {
    await client.end();
  }
}
