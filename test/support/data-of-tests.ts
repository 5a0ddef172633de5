// Where the tests of a run have their data: a folder in memory where the machine has enough of it, else its folder for
// temporary files. Hundreds of databases and streams are made, synced and removed in a run, and on a disk two processors
// wait for it most of the time. What is tested is the same: no test here takes the power away.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../platform/clock.ts';

const memory = '/dev/shm';
const namePrefix = 'heliograph-tests-';
const folderOfRun = join(memory, `${namePrefix}${process.pid}`);
const leftoverAfterMs = 3_600_000;
const removeAll = { recursive: true, force: true, maxRetries: 5 };
/** A run of `npm test` has 0.4 GB in it at most, one of `npm run test:faults` 0.3 GB. */
const freeBytesMin = 4 * 1024 ** 3;

/** For TMPDIR in the processes of tests. `given`: what the person who runs them has set, which is used. */
export function dataOfTests(given = process.env['TMPDIR']): string {
  if (given !== undefined || !hasRoomInMemory()) return tmpdir();
  removeLeftovers();
  // PostgreSQL runs as another user when the tests run as root, and passes through.
  mkdirSync(folderOfRun, { recursive: true, mode: 0o755 });
  return folderOfRun;
}

/** Called by Vitest before the first test. What it returns is called after the last, and removes what they have left. */
export default function setUp(): () => void {
  return () => rmSync(folderOfRun, removeAll);
}

/** Containers often have 64 MB there, and some systems let no program run from it, as a test of the set-up does. */
function hasRoomInMemory(): boolean {
  if (!existsSync(memory) || !existsSync('/proc/mounts')) return false;
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const options = mounts.findLast((line) => line.split(' ')[1] === memory)?.split(' ');
  if (options?.[2] !== 'tmpfs' || options[3]?.split(',').includes('noexec') === true) return false;
  const { bavail, bsize } = statfsSync(memory);
  return Math.min(bavail * bsize, availableBytes()) >= freeBytesMin;
}

function availableBytes(): number {
  const [, kib = '0'] = /^MemAvailable: +(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
  return Number(kib) * 1024;
}

/** Memory that a killed run still occupies. One that goes on, perhaps in another container, makes folders all the time. */
function removeLeftovers(): void {
  for (const name of readdirSync(memory)) {
    if (!name.startsWith(namePrefix)) continue;
    const folder = join(memory, name);
    const modified = statSync(folder, { throwIfNoEntry: false });
    if (modified !== undefined && systemClock.nowMs() - modified.mtimeMs > leftoverAfterMs) rmSync(folder, removeAll);
  }
}
