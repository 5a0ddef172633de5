// What a test file has left open: TCP sockets, child processes, threads and repeated timers. Sockets and processes come
// from /proc, so those of native addons and of other threads count too; threads and timers from registries of this
// process.
import diagnostics from 'node:diagnostics_channel';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import http from 'node:http';
import type { Worker } from 'node:worker_threads';
import { ignoring } from '../../platform/errors.ts';

export type OpenResources = {
  /** A sentence part for each, such as `a TCP server at 127.0.0.1:4222`. */
  now(): string[];
  /** Ends the connections that HTTP clients keep for their next request. */
  endIdleConnections(): Promise<void>;
};

/** Counts from now on: what is open already is not this file's. */
export function watchOpenResources(): OpenResources {
  const before = new Set([...tcpSockets().keys(), ...childProcesses().keys()]);
  const since = (entries: ReadonlyMap<string, string>) =>
    [...entries].filter(([key]) => !before.has(key)).map(([, what]) => what);
  const threads = watchThreads();
  const timers = watchRepeatedTimers();
  return {
    now: () => [...since(tcpSockets()), ...since(childProcesses()), ...threads(), ...timers()],
    async endIdleConnections() {
      http.globalAgent.destroy();
      // Node's own fetch has its pool there.
      const pool: unknown = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'));
      if (pool !== undefined) await (pool as { destroy(): Promise<void> }).destroy();
    },
  };
}

const tcpState = { established: '01', closeWait: '08', listen: '0A' };

/** Those of this process, by inode. One that both sides close is left out: the kernel ends it. */
function tcpSockets(): Map<string, string> {
  const sockets = new Map<string, string>();
  if (process.platform !== 'linux') return sockets;
  const own = new Set<string>();
  for (const fd of readdirSync('/proc/self/fd')) {
    const inode = /^socket:\[(\d+)\]$/.exec(textOf(() => readlinkSync(`/proc/self/fd/${fd}`)))?.[1];
    if (inode !== undefined) own.add(inode);
  }
  for (const table of ['tcp', 'tcp6']) {
    const rows = textOf(() => readFileSync(`/proc/self/net/${table}`, 'utf8'));
    for (const row of rows.split('\n').slice(1)) {
      const [, local = '', remote = '', state = '', , , , , , inode = ''] = row.trim().split(/\s+/);
      if (!own.has(inode)) continue;
      if (state === tcpState.listen) sockets.set(inode, `a TCP server at ${addressOf(local)}`);
      if (state === tcpState.established || state === tcpState.closeWait)
        sockets.set(inode, `a TCP connection from ${addressOf(local)} to ${addressOf(remote)}`);
    }
  }
  return sockets;
}

/** The kernel writes the octets of an IPv4 address backwards; of IPv6 the port says enough. */
function addressOf(text: string): string {
  const [address = '', port = ''] = text.split(':');
  const octets =
    address.length === 8 ? (address.match(/../g) ?? []).toReversed().map((each) => parseInt(each, 16)) : null;
  return `${octets?.join('.') ?? '[IPv6]'}:${parseInt(port, 16)}`;
}

/** Those of this process and theirs, by process id and start time; zombies hold nothing. */
function childProcesses(): Map<string, string> {
  const children = new Map<string, string>();
  if (process.platform !== 'linux') return children;
  const byParent = new Map<number, { pid: number; state: string; startedAt: string }[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = textOf(() => readFileSync(`/proc/${name}/stat`, 'utf8'));
    // The name of the program, in brackets, may hold anything.
    const [state = '', parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const entry = { pid: Number(name), state, startedAt: rest[17] ?? '' };
    byParent.set(Number(parent), [...(byParent.get(Number(parent)) ?? []), entry]);
  }
  const parents = [process.pid];
  for (const parent of parents) {
    for (const { pid, state, startedAt } of byParent.get(parent) ?? []) {
      parents.push(pid);
      if (state === 'Z' || state === 'X') continue;
      const command = textOf(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
        .replaceAll(/[\0\s]+/g, ' ')
        .trim();
      if (command !== '') children.set(`${pid} ${startedAt}`, `the process ${pid} (${command.slice(0, 120)})`);
    }
  }
  return children;
}

function watchThreads(): () => string[] {
  const running = new Map<Worker, string>();
  diagnostics.subscribe('worker_threads', (message) => {
    const { worker } = message as { worker: Worker };
    running.set(worker, `a thread started at ${callerOf(new Error('started here'))}`);
    worker.once('exit', () => running.delete(worker));
  });
  return () => [...running.values()];
}

/** Timers made with setInterval, also by libraries; one that holds up no end of the process is left out. */
function watchRepeatedTimers(): () => string[] {
  const running = new Map<NodeJS.Timeout, string>();
  const [set, clear] = [globalThis.setInterval, globalThis.clearInterval];
  const setAndNote = (run: (...args: unknown[]) => void, everyMs?: number, ...args: unknown[]) => {
    const timer = set(run, everyMs, ...args);
    running.set(timer, `a timer of every ${everyMs} ms set at ${callerOf(new Error('set here'))}`);
    return timer;
  };
  const clearAndForget = (timer?: NodeJS.Timeout | string | number) => {
    running.delete(timer as NodeJS.Timeout);
    clear(timer);
  };
  const noting: unknown = setAndNote;
  globalThis.setInterval = noting as typeof setInterval;
  globalThis.clearInterval = clearAndForget;
  const isRunning = (timer: NodeJS.Timeout) => timer.hasRef() && Reflect.get(timer, '_destroyed') !== true;
  return () => [...running].flatMap(([timer, what]) => (isRunning(timer) ? [what] : []));
}

/** The lines of the stack that say who it was: the first two that are not Node's, the clock's or this file's. */
function callerOf({ stack = '' }: Error): string {
  const frames = stack
    .split('\n')
    .slice(1)
    .map((line) => line.trim().replace(/^at /, ''));
  const own = frames.filter((frame) => !/open-resources\.ts|platform\/clock\.ts|node:|^new Worker /.test(frame));
  return own.slice(0, 2).join(', called by ');
}

/** Empty when it is gone by now. */
function textOf(read: () => string): string {
  try {
    return read();
  } catch (error) {
    ignoring(error, 'a process or descriptor ended while it was read');
    return '';
  }
}
