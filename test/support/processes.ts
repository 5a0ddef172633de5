// The processes of a data folder: for tests of "nothing is left behind", and of servers that die.
import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type ProcessEntry, listProcesses } from '../../cluster/embedded/processes.ts';
import { patienceMs, until } from './until.ts';
import { ignoring } from '../../platform/errors.ts';

/** Living processes whose command names the folder: servers and roles do. */
export async function processesOf(dataDir: string): Promise<string[]> {
  const entries = await entriesOf(dataDir);
  return entries.map(({ pid, command }) => `${pid} ${command.replaceAll(/\s+/g, ' ').slice(-160)}`);
}

/** Ends all of them at once, without the grace that embedded servers have when their supervisor dies. */
export async function killProcessesOf(dataDir: string): Promise<void> {
  for (const { pid, command } of await entriesOf(dataDir)) {
    try {
      // PostgreSQL removes its shared memory before it exits, but not when it is killed.
      process.kill(pid, command.includes('/bin/postgres -D ') ? 'SIGQUIT' : 'SIGKILL');
    } catch (error) {
      ignoring(error, 'it has ended by now');
    }
  }
}

async function entriesOf(dataDir: string): Promise<ProcessEntry[]> {
  return (await listProcesses()).filter(
    ({ command, pid }) => pid !== process.pid && (command.includes(`${dataDir}/`) || command.includes(`=${dataDir}`)),
  );
}

export async function nothingIsLeftOf(dataDir: string, limitMs = patienceMs): Promise<void> {
  let left: string[] = [];
  try {
    await until(
      `the end of all processes of ${dataDir}`,
      async () => (left = await processesOf(dataDir)).length === 0,
      {
        limitMs,
        everyMs: 100,
      },
    );
  } catch (error) {
    throw new Error(`left behind:\n${left.join('\n')}`, { cause: error });
  }
}

/** The process of an embedded server. */
export async function serverProcess(dataDir: string, name: 'nats-server' | 'postgres'): Promise<ProcessEntry> {
  const program = { 'nats-server': '/nats-server --config ', postgres: '/bin/postgres -D ' }[name];
  const entry = (await listProcesses()).find(({ command }) => command.includes(`${program}${dataDir}/`));
  if (entry === undefined) throw new Error(`${name} does not run`);
  return entry;
}

/**
 * SIGSTOP to a process, or to a group if `pid` is negative, as for kill(2). Returns when every thread of it has stopped:
 * on a busy machine the signal takes effect some milliseconds later, and meanwhile a server answers one more request.
 */
export async function suspend(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const group = async () => (await listProcesses()).filter(({ groupId }) => groupId === -pid).map((each) => each.pid);
  const stopped = pid > 0 ? [pid] : await group();
  await until(`process ${pid} is stopped`, async () => (await Promise.all(stopped.map(isStopped))).every(Boolean), {
    everyMs: 5,
  });
}

/** Stopped, or ended and not reaped yet: it does nothing any more. */
const still: ReadonlySet<string | undefined> = new Set(['T', 'Z', 'X']);

/** The state is the first field after the name, which ends with the last ')': proc(5), /proc/pid/stat. Linux only. */
async function isStopped(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const threads = (await unlessEnded(readdir(`/proc/${pid}/task`))) ?? [];
  const stats = threads.map((thread) => unlessEnded(readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')));
  return (await Promise.all(stats)).every(
    (stat) => stat === null || still.has(stat.slice(stat.lastIndexOf(')') + 2)[0]),
  );
}

/** Null: the process or thread has ended since it was listed. */
async function unlessEnded<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return null;
  }
}

/**
 * Stops a process, then its children (PostgreSQL's backends are those of its first process): while stopped it starts no
 * other, and reaps none. Returns them in the order to resume them.
 */
export async function stopWithChildren(pid: number): Promise<number[]> {
  await suspend(pid);
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='], { timeout: 5_000 });
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  const children = rows.flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));
  const stopped = await Promise.all(children.map((child) => unlessEnded(suspend(child).then(() => child))));
  return [...stopped.filter((child) => child !== null), pid];
}
