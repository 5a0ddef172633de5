// A data folder of another format is refused with one sentence, and not changed; a new one is marked.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDataFolder, dataFormat, formatFile } from '../../../cluster/supervisor/data-folder.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'heliograph-format-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const earlier = 'set HELIOGRAPH_DATA to a new folder, or delete this one if nothing in it is needed';
const refusal = (found: string, advice = earlier) =>
  `The data folder ${dataDir} has format ${found}, and this version reads format ${dataFormat} only: ${advice}`;

test('a new folder is marked with the format, and opens again', async () => {
  (await openDataFolder(dataDir)).release();
  expect(readFileSync(formatFile(dataDir), 'utf8')).toBe(`${dataFormat}\n`);
  mkdirSync(join(dataDir, 'nats'));
  (await openDataFolder(dataDir)).release();
});

test.each(['nats', 'postgres', 'clickhouse'])(
  'a folder with %s and no format was made before: refused',
  async (name) => {
    mkdirSync(join(dataDir, name));
    await expect(openDataFolder(dataDir)).rejects.toThrow(refusal('1'));
    expect(existsSync(formatFile(dataDir))).toBe(false);
    // The next start says the same.
    await expect(openDataFolder(dataDir)).rejects.toThrow(refusal('1'));
  },
);

test.each([
  [dataFormat - 1, earlier],
  [dataFormat + 1, 'start the newer version that made it'],
])('a folder of format %i is refused, an empty one too', async (found, advice) => {
  writeFileSync(formatFile(dataDir), `${found}\n`);
  await expect(openDataFolder(dataDir)).rejects.toThrow(refusal(String(found), advice));
  expect(readFileSync(formatFile(dataDir), 'utf8')).toBe(`${found}\n`);
});

test.each(['', 'four', '-1'])(
  'a damaged mark (%j) is refused, and nothing is advised that loses data',
  async (mark) => {
    writeFileSync(formatFile(dataDir), `${mark}\n`);
    await expect(openDataFolder(dataDir)).rejects.toThrow(/it is damaged\. Restore it from a backup/);
  },
);

test('a folder that was opened and not used is left as it was found', async () => {
  (await openDataFolder(dataDir)).discard();
  expect(readdirSync(dataDir)).toEqual([]);
});
