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
  /** Threads and timers that are started from now on do not count: they belong to the next file of this process. */
  stop(): void;
};

/** Counts from now on: what is open already belongs to another file. */
export function watchOpenResources(): OpenResources {
  const before = new Set(ownSockets());
  const threads = watchThreads();
  const timers = watchRepeatedTimers();
  return {
    now: () => [
      ...tcpSockets(ownSockets().filter((inode) => !before.has(inode))),
      ...processesUnder(process.pid),
      ...threads.running(),
      ...timers.running(),
    ],
    async endIdleConnections() {
      http.globalAgent.destroy();
      // Node's own fetch has its pool there.
      const place = Symbol.for('undici.globalDispatcher.1');
      const pool = Reflect.get(globalThis, place) as { destroy(): Promise<void> } | undefined;
      if (pool === undefined) return;
      // The next file of this process needs another. What the package undici puts there takes an argument, and a file that
      // imports it has a process of its own.
      const { constructor } = pool;
      if (constructor.length === 0) Reflect.set(globalThis, place, Reflect.construct(constructor, []));
      await pool.destroy();
    },
    stop() {
      threads.stop();
      timers.stop();
    },
  };
}

type Watch = { running(): string[]; stop(): void };

/** The inodes of this process's sockets, of any kind. */
function ownSockets(): string[] {
  return entriesOf('/proc/self/fd').flatMap((fd) => {
    const inode = /^socket:\[(\d+)\]$/.exec(textOf(() => readlinkSync(`/proc/self/fd/${fd}`)))?.[1];
    return inode === undefined ? [] : [inode];
  });
}

const tcpState = { established: '01', closeWait: '08', listen: '0A' };

/** Those of these sockets that are TCP. One that both sides have closed is left out: the kernel ends it. */
function tcpSockets(inodes: readonly string[]): string[] {
  if (inodes.length === 0) return [];
  const own = new Set(inodes);
  const tables = ['tcp', 'tcp6'].map((table) => textOf(() => readFileSync(`/proc/self/net/${table}`, 'utf8')));
  return tables.flatMap((table) =>
    table.split('\n').flatMap((row) => {
      const [, local = '', remote = '', state = '', , , , , , inode = ''] = row.trim().split(/\s+/);
      if (!own.has(inode)) return [];
      if (state === tcpState.listen) return [`a TCP server at ${addressOf(local)}`];
      const isOpen = state === tcpState.established || state === tcpState.closeWait;
      return isOpen ? [`a TCP connection from ${addressOf(local)} to ${addressOf(remote)}`] : [];
    }),
  );
}

/** The kernel prints the octets of an IPv4 address in reverse; for IPv6 the port is enough. */
function addressOf(text: string): string {
  const [address = '', port = ''] = text.split(':');
  const octets =
    address.length === 8 ? (address.match(/../g) ?? []).toReversed().map((each) => parseInt(each, 16)) : null;
  return `${octets?.join('.') ?? '[IPv6]'}:${parseInt(port, 16)}`;
}

/** Children, and theirs. A zombie has no command: it holds nothing, and only waits for its parent. */
function processesUnder(parent: number): string[] {
  const tasks = entriesOf(`/proc/${parent}/task`);
  const lists = tasks.map((task) => textOf(() => readFileSync(`/proc/${parent}/task/${task}/children`, 'utf8')));
  return (lists.join(' ').match(/\d+/g) ?? []).flatMap((pid) => {
    const command = textOf(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
      .replaceAll(/[\0\s]+/g, ' ')
      .trim();
    const one = command === '' ? [] : [`the process ${pid} (${command.slice(0, 120)})`];
    return [...one, ...processesUnder(Number(pid))];
  });
}

function watchThreads(): Watch {
  const running = new Map<Worker, string>();
  const note = (message: unknown) => {
    const { worker } = message as { worker: Worker };
    running.set(worker, `a thread started at ${callerOf(new Error('started here'))}`);
    worker.once('exit', () => running.delete(worker));
  };
  diagnostics.subscribe('worker_threads', note);
  return { running: () => [...running.values()], stop: () => diagnostics.unsubscribe('worker_threads', note) };
}

/** Timers made with setInterval, also by libraries; unreferenced ones are left out. */
function watchRepeatedTimers(): Watch {
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
  return {
    running: () => [...running].flatMap(([timer, what]) => (isRunning(timer) ? [what] : [])),
    stop() {
      globalThis.setInterval = set;
      globalThis.clearInterval = clear;
    },
  };
}

/** The caller in the stack: the first two lines that are not Node's, the clock's or this file's. */
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

/** Of a folder of /proc; none where there is no /proc. */
function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    ignoring(error, 'the process ended while it was read, or this is not Linux');
    return [];
  }
}
