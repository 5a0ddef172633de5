// What a nats-server of a later version than the one here says in its log when it stops writing a stream.
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeErrorsIn } from '../../../cluster/embedded/write-errors.ts';

let folder: string;
let logFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heliograph-write-errors-'));
  logFile = join(folder, 'nats-server.log');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** nats-server 2.15.1 on a full disk. */
const line =
  "[7005] 2026/11/29 10:11:06.045497 [ERR] JetStream stream '$G > ONE' critical write error: write 3.blk: no space left on device";

test('is found once it is written, and from then on', () => {
  const look = writeErrorsIn(logFile, () => true);
  expect(look()).toBeNull();
  writeFileSync(logFile, '[7005] 2026/11/29 10:11:05.1 [INF] Server is ready\n');
  expect(look()).toBeNull();
  appendFileSync(logFile, `${line}\n`);
  expect(look()).toContain('no space left on device');
  appendFileSync(logFile, 'more\n');
  expect(look()).toContain('no space left on device');
});

test('of an earlier process is none of this one', () => {
  writeFileSync(logFile, `${line}\n`);
  expect(writeErrorsIn(logFile, () => true)()).toBeNull();
});

test('is found in a log that was truncated meanwhile, and in a long one', () => {
  writeFileSync(logFile, `${'an older line\n'.repeat(1_000)}`);
  const look = writeErrorsIn(logFile, () => true);
  appendFileSync(logFile, 'one more\n');
  expect(look()).toBeNull();
  writeFileSync(logFile, 'after the rotation\n');
  expect(look()).toBeNull();
  appendFileSync(logFile, 'and one more\n');
  expect(look()).toBeNull();
  appendFileSync(logFile, `${line}\n${'what follows\n'.repeat(150_000)}`);
  let found: string | null = null;
  for (let looks = 0; looks < 3; looks += 1) found = look();
  expect(found).toContain('no space left on device');
});

test('is a record that was not stored although there is space, and none while there is none', () => {
  const notStored =
    "[9] 2026/11/30 02:18:57.7 [ERR] JetStream failed to store a msg on stream '$G > MT_TXN': no space left\n";
  let hasSpace = false;
  const look = writeErrorsIn(logFile, () => hasSpace);
  appendFileSync(logFile, notStored);
  expect(look()).toBeNull();
  hasSpace = true;
  expect(look()).toBeNull();
  appendFileSync(logFile, notStored);
  expect(look()).toContain('failed to store a msg');
});
