// Only its owner can read the data folder: it contains phone numbers, keys and passwords.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openDataFolder, dataFormat, formatFile } from '../../../cluster/supervisor/data-folder.ts';
import { ignoring } from '../../../platform/errors.ts';
import { SmsClient } from '../../support/sms-client.ts';
import { endSystems } from '../../support/system.ts';
import { type WholeSystem, startWholeSystem } from '../../support/whole-system.ts';

afterEach(endSystems);

const configuration = `
country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers: [{ name: alpha, tps: 100, simulate: true }]
`;

/** What a user who is neither the owner nor in its group can read or write below `path`. */
function openToOthers(path: string, except: readonly string[]): string[] {
  return entriesIn(path).flatMap((entry) => {
    const each = join(path, entry.name);
    if (except.includes(each) || entry.isSymbolicLink()) return [];
    const mode = modeOf(each);
    const open = (mode & 0o066) === 0 ? [] : [`${each} ${(mode & 0o777).toString(8)}`];
    // A folder that cannot be entered protects its content.
    return entry.isDirectory() && (mode & 0o011) !== 0 ? [...open, ...openToOthers(each, except)] : open;
  });
}

/** The engine renames and removes files meanwhile. */
const entriesIn = (path: string) => {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    ignoring(error, 'it was renamed or removed');
    return [];
  }
};
const modeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.mode ?? 0;

const everything = (path: string): string[] =>
  entriesIn(path).flatMap((entry) => {
    const each = join(path, entry.name);
    return entry.isDirectory() ? [each, ...everything(each)] : [each];
  });

test('after a run with a message in it, not a file of the data folder can be read by others', async () => {
  const system: WholeSystem = await startWholeSystem(configuration, { newDatabase: true });
  const client = new SmsClient(system.httpPort, system.keys.liveKey);
  const body = { to: '+8801712345678', from: 'HELIOGRAPH', message: 'Your code is 1', category: 'otp' } as const;
  expect((await client.post(body)).status).toBe(202);
  await system.recorded();
  const { dataDir } = system;
  // The operator's own file and the one of this test are excepted.
  const own = [join(dataDir, 'heliograph.yaml'), join(dataDir, 'journal')];
  expect(openToOthers(dataDir, own)).toEqual([]);
  expect(statSync(dataDir).mode & 0o066).toBe(0);
  // Not only behind a closed folder: each file by itself.
  const stored = everything(join(dataDir, 'clickhouse')).filter((path) => (modeOf(path) & 0o077) !== 0);
  expect(stored).toEqual([]);
  expect(everything(join(dataDir, 'clickhouse')).length).toBeGreaterThan(5);
  expect(await system.stop()).toBe(0);
});

test('what an older version left open is closed at the start', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-modes-'));
  chmodSync(dataDir, 0o755);
  mkdirSync(join(dataDir, 'clickhouse', 'store'), { recursive: true, mode: 0o755 });
  writeFileSync(join(dataDir, 'clickhouse', 'store', 'data.bin'), '+8801712345678', { mode: 0o644 });
  writeFileSync(formatFile(dataDir), `${dataFormat}\n`, { mode: 0o644 });
  for (const name of ['node-name', 'database-name', 'demo-keys.json']) {
    writeFileSync(join(dataDir, name), 'x', { mode: 0o644 });
  }
  for (const name of ['run', 'logs', 'flight']) mkdirSync(join(dataDir, name), { mode: 0o755 });
  expect(openToOthers(dataDir, []).length).toBeGreaterThan(5);
  const folder = await openDataFolder(dataDir);
  expect(openToOthers(dataDir, [])).toEqual([]);
  // Others may still pass through: the embedded PostgreSQL of a start by root runs as another user.
  expect(statSync(dataDir).mode & 0o777).toBe(0o711);
  folder.release();
  rmSync(dataDir, { recursive: true });
});

test('a folder that no other user could enter stays so', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-modes-'));
  const folder = await openDataFolder(dataDir);
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  folder.release();
  rmSync(dataDir, { recursive: true });
});
