// PostgreSQL run by root, with a data folder its own user cannot reach: it lives elsewhere, and is found again there.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { postgresPlace } from '../../../cluster/embedded/postgres-user.ts';

const isRoot = process.getuid?.() === 0;

describe('the place of PostgreSQL', () => {
  it('is the data folder when its user can come in', () => {
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
    // Only these two: beside them may live the data of somebody else.
    for (const home of [first, others]) {
      expect(dirname(home)).toBe('/var/lib/heliograph');
      expect(basename(home)).toMatch(/^postgres-\w{6}$/);
      rmSync(home, { recursive: true });
    }
    for (const folder of [dataDir, other]) rmSync(folder, { recursive: true });
  });
});
