// A real process that hosts carriers like the actors role: for tests and benches that kill it.
import { type ChildProcess, fork } from 'node:child_process';
import type { DumpSettings } from '../../actors/flight/dumps.ts';
import type { SharedBus } from '../../actors/runtime/host-messages.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import { until } from './until.ts';

/** The key that encrypts the bodies in its records. */
export const bodyKey = Buffer.alloc(32, 7);

export type HostChild = {
  readonly process: ChildProcess;
  kill9(): Promise<void>;
  /** Runs an expression in the nth host thread that was started: for real crashes of real threads. */
  inThread(nth: number, expression: string): void;
  /** Blocks the thread, like a long garbage collection. */
  stallThread(nth: number, ms: number): void;
  restarts(): Promise<number>;
  drain(deadlineMs: number): Promise<number | null>;
  /** What it has logged by now. */
  lines(): LogLine[];
};

export type HostOptions = {
  readonly threads?: number;
  readonly flightDumps?: DumpSettings | null;
  /** Its name among nodes that share carriers; null on a single node. */
  readonly shared?: SharedBus | null;
  readonly threadMemoryMb?: number;
  /** Its log from this level on is kept for `lines`; without it, it goes where ours goes. */
  readonly logLevel?: 'warn' | 'info' | null;
};

export type LogLine = { readonly level: string; readonly msg: string; readonly [field: string]: unknown };

/** Resolves when the carriers accept work. */
export async function startHostChild(
  natsUrl: string,
  carriers: readonly CarrierConfig[],
  { threads = 1, flightDumps = null, shared = null, threadMemoryMb = 200, logLevel = null }: HostOptions = {},
): Promise<HostChild> {
  const child = fork(new URL('./host-child.ts', import.meta.url), [], {
    stdio: ['inherit', 'inherit', logLevel === null ? 'inherit' : 'pipe', 'ipc'],
    env: {
      ...process.env,
      ...(logLevel === null ? {} : { HELIOGRAPH_LOG: logLevel }),
      TEST_HOST: JSON.stringify({
        natsUrl,
        bodyKey: bodyKey.toString('base64'),
        carriers,
        threads,
        flightDumps,
        shared,
        threadMemoryMb,
      }),
    },
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  let logged = '';
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => (logged += piece));
  let ready = false;
  let restarts: number | null = null;
  const failed: string[] = [];
  child.on('message', (message: { ready?: boolean; restarts?: number; failed?: string }) => {
    if (message.ready === true) ready = true;
    if (message.failed !== undefined) failed.push(message.failed);
    if (message.restarts !== undefined) restarts = message.restarts;
  });
  // An election of a stream's leader may take nine seconds, and a start asks several streams.
  await until('the host is ready', () => ready).catch((error: unknown) => {
    throw new Error(`the host is not ready; it began again after: ${failed.join(' | ') || 'nothing'}`, {
      cause: error,
    });
  });
  const inThread = (nth: number, expression: string) => void child.send({ inThread: nth, expression });
  return {
    process: child,
    async kill9() {
      child.kill('SIGKILL');
      await exited;
    },
    lines: () => linesIn(logged),
    inThread,
    stallThread(nth, ms) {
      const now = 'process.hrtime.bigint()';
      inThread(nth, `for (const end = ${now} + ${ms}000000n; ${now} < end; );`);
    },
    async restarts() {
      restarts = null;
      child.send({ restarts: true });
      return until('the restarts are reported', () => restarts !== null && { restarts }).then(
        (published) => published.restarts ?? 0,
      );
    },
    async drain(deadlineMs) {
      child.send({ drain: deadlineMs });
      return exited;
    },
  };
}

/** The whole JSON lines in a text. */
export function linesIn(text: string): LogLine[] {
  return text
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine);
}

/** A node of this name, in its first incarnation. */
export function nodeNamed(name: string, replicas = 1): SharedBus {
  return { node: name, place: name, process: name, replicas };
}
