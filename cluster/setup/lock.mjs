// A lock that a dead process cannot keep: a file with the owner's process id, created in one atomic step, and taken
// over only when that process is gone. Used by set-up (before any package is installed) and the supervisor.
import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, rmSync, rmdirSync, statSync, writeFileSync } from 'node:fs';

/**
 * Takes the lock, or says which living process has it.
 * @param {string} file
 * @returns {{ taken: true, release(): void } | { taken: false, pid: number }}
 */
export function takeLock(file) {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${process.pid}\n`);
  try {
    for (;;) {
      if (linkOnce(draft, file)) return { taken: true, release: () => releaseLock(file) };
      const pid = ownerOf(file);
      if (pid !== null && isOurs(pid)) return { taken: false, pid };
      stealFrom(file, pid);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @param {string} file */
function releaseLock(file) {
  if (ownerOf(file) === process.pid) rmSync(file, { force: true });
}

/** @param {string} draft @param {string} file */
function linkOnce(draft, file) {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} file */
function ownerOf(file) {
  try {
    const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
    return pid > 0 ? pid : null;
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Only one process at a time may remove a dead owner's lock, after a second check. */
function stealFrom(file, deadPid) {
  const guard = `${file}.steal`;
  try {
    mkdirSync(guard);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    const age = Date.now() - (statSync(guard, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    // Its creator died between the two steps, which take well under a millisecond.
    if (age > 2_000) rmSync(guard, { recursive: true, force: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    return;
  }
  try {
    if (ownerOf(file) === deadPid) rmSync(file, { force: true });
  } finally {
    rmdirSync(guard);
  }
}

/** Whether a process of this user has the id: after a reboot another process may have it. */
function isOurs(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return false;
  }
  const { status, stdout } = spawnSync('ps', ['-ww', '-o', 'stat=,command=', '-p', String(pid)], { encoding: 'utf8' });
  if (status === null) return true;
  return status === 0 && !/^\s*Z/.test(stdout) && /node|heliograph/i.test(stdout);
}
