// Starts an embedded server (nats-server, postgres) as a process with a log file. If we die, the guardian ends it after
// a grace time in which our roles drain. It never restarts anything.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DeadlineExceeded, withDeadline, until } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { guard } from './guardian.ts';
import { harmlessEnvironment } from './harmless-environment.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';

type ServerProcessOptions = {
  name: string;
  command: string;
  /** The first two identify the process. */
  args: string[];
  /** Standard output and error of the server; truncated at the start when larger than logBytesMax. */
  logFile: string;
  /** The process id, so that the next start can end the process. */
  pidFile: string;
  /** The signal for an orderly stop: nats-server TERM, postgres INT ("fast"). */
  stopSignal: 'TERM' | 'INT';
  /** Added to the harmless part of our environment. */
  env?: Readonly<Record<string, string>>;
  user?: { uid: number; gid: number };
  graceMs?: number;
};

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type ServerProcess = {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Asks it to stop, and kills it after `limitMs`. Resolves when it has ended. */
  stop(limitMs: number): Promise<void>;
  /** Ends it at once. */
  kill(): void;
};

export function startServerProcess(options: ServerProcessOptions): ServerProcess {
  mkdirSync(dirname(options.logFile), { recursive: true });
  mkdirSync(dirname(options.pidFile), { recursive: true });
  truncateWhenLarge(options.logFile);
  const logFd = openSync(options.logFile, 'a', 0o600);
  const child = spawn(options.command, options.args, {
    stdio: ['ignore', logFd, logFd],
    // Its own process group: Ctrl-C must not reach the server before the roles have drained.
    detached: true,
    cwd: '/',
    env: { ...harmlessEnvironment(process.env), ...options.env },
    ...options.user,
  });
  closeSync(logFd);
  let release = () => {};
  if (child.pid !== undefined) {
    const { stopSignal: signal, graceMs = limits.supervision.embeddedGraceMs } = options;
    release = guard({ pid: child.pid, mark: options.args.slice(0, 2).join(' '), graceMs, signal });
    writeFileSync(options.pidFile, `${child.pid}\n`);
  }

  const exited = new Promise<Exit>((resolve) => {
    const end = (exit: Exit) => {
      release();
      rmSync(options.pidFile, { force: true });
      resolve(exit);
    };
    child.once('exit', (code, signal) => end({ code, signal }));
    child.once('error', (error) => {
      log.error({ server: options.name, error: error.message }, 'cannot start');
      end({ code: 127, signal: null });
    });
  });

  return {
    pid: child.pid ?? -1,
    exited,
    async stop(limitMs) {
      child.kill(`SIG${options.stopSignal}`);
      try {
        await withDeadline(`stop of ${options.name}`, limitMs, exited);
      } catch (error) {
        if (!(error instanceof DeadlineExceeded)) throw error;
        log.warn({ server: options.name, limitMs }, 'did not stop in time, killed');
        child.kill('SIGKILL');
        await withDeadline(`kill of ${options.name}`, limits.supervision.embeddedKillMs, exited);
      }
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

const logBytesMax = 10 * 1024 * 1024;

function truncateWhenLarge(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > logBytesMax) truncateSync(file);
}

export type EmbeddedServer = ServerProcess & {
  /** With credentials, on loopback. */
  readonly url: string;
  /** Resolves when the server has answered on a real connection; rejects when it ends first or the limit passes. */
  ready(limitMs: number): Promise<void>;
  /** How often it has answered a check since it was ready. */
  answers(): number;
  /** Health while it runs; missing: healthy as long as it runs. */
  health?(): { readonly ok: boolean; readonly detail: string };
};

type ReadyOptions = {
  /** The name of its log file: `nats-server`. */
  readonly name: string;
  /** Resolves when the server answers, otherwise rejects. */
  readonly ask: () => Promise<unknown>;
  readonly limitMs: number;
  /** The server's end, which ends the wait early. */
  readonly ended: Promise<unknown> | undefined;
};

/** Waits until a server answers; reports the last error when it never does. */
export async function untilReady({ name, ask, limitMs, ended }: ReadyOptions): Promise<void> {
  let hasEnded = false;
  void ended?.then(() => {
    hasEnded = true;
  });
  let lastError: unknown;
  const answers = async () => {
    if (hasEnded) throw new Error(`${name} ended before it was ready: see ${name}.log in the data folder`);
    try {
      await ask();
      return true;
    } catch (error) {
      lastError = error;
      ignoring(error, `${name} is not ready yet`);
      return false;
    }
  };
  try {
    await until(name, answers, { limitMs, everyMs: 20 });
  } catch (error) {
    if (!(error instanceof DeadlineExceeded)) throw error;
    throw new Error(`${error.message}: ${messageOf(lastError)}`, { cause: lastError });
  }
}
