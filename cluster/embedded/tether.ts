// Starts a server (nats-server, postgres) on a tether: a small shell that holds the reading end of a pipe whose other
// end only this process has. When we die, kill -9 included, the pipe closes, and the shell ends the server after a
// grace in which our roles drain. It never restarts anything.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { DeadlineExceeded, withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { harmlessEnvironment } from './harmless-environment.ts';

export type TetherOptions = {
  name: string;
  command: string;
  args: string[];
  /** Standard output and error of the server; started afresh when it has grown past logBytesMax. */
  logFile: string;
  /** Holds the id of the process group, so that the next start can end what this one left behind. */
  pidFile: string;
  /** What asks the server to stop properly: nats-server TERM, postgres INT ("fast"). */
  stopSignal: 'TERM' | 'INT';
  user?: { uid: number; gid: number };
  graceMs?: number;
};

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type Tethered = {
  /** The shell's pid, which is also the id of the process group. */
  readonly pid: number;
  /** Settles when the server has ended and nothing of its group is left. */
  readonly exited: Promise<Exit>;
  /** Asks the server to stop; kills it when it has not ended after `limitMs`. */
  stop(limitMs: number): Promise<void>;
  /** Ends the server at once. The shell does it and reaps it: a server that is not reaped looks alive. */
  kill(): void;
};

export function startTethered(options: TetherOptions): Tethered {
  mkdirSync(dirname(options.logFile), { recursive: true });
  mkdirSync(dirname(options.pidFile), { recursive: true });
  truncateWhenLarge(options.logFile);
  const logFd = openSync(options.logFile, 'a', 0o600);
  const graceS = String((options.graceMs ?? limits.supervision.embeddedGraceMs) / 1_000);
  const killS = String(limits.supervision.embeddedKillMs / 1_000);

  const shell = spawn(
    '/bin/sh',
    ['-c', tetherScript, `tether-${options.name}`, graceS, killS, options.stopSignal, options.command, ...options.args],
    {
      stdio: ['ignore', logFd, logFd, 'pipe'],
      // A group of its own: Ctrl-C in the terminal must not reach the server before the roles have drained.
      detached: true,
      cwd: '/',
      env: harmlessEnvironment(process.env),
      ...options.user,
    },
  );
  closeSync(logFd);

  const exited = new Promise<Exit>((resolve) => {
    const end = (exit: Exit) => {
      // The shell may have been killed alone: whatever is left of its group must not keep the port.
      if (shell.pid !== undefined) killGroup(shell.pid);
      rmSync(options.pidFile, { force: true });
      resolve(exit);
    };
    shell.once('exit', (code, signal) => end({ code, signal }));
    shell.once('error', (error) => {
      log.error({ server: options.name, error: error.message }, 'cannot start');
      end({ code: 127, signal: null });
    });
  });
  // Never written to and never ended: its closing is the message.
  (shell.stdio[3] as Writable).on('error', (error) => ignoring(error, 'the tether is gone with its server'));
  if (shell.pid !== undefined) writeFileSync(options.pidFile, `${shell.pid}\n`);

  return {
    pid: shell.pid ?? -1,
    exited,
    async stop(limitMs) {
      shell.kill('SIGTERM');
      try {
        await withDeadline(`stop of ${options.name}`, limitMs, exited);
      } catch (error) {
        if (!(error instanceof DeadlineExceeded)) throw error;
        log.warn({ server: options.name, limitMs }, 'did not stop in time, killed');
        shell.kill('SIGUSR1');
        await withDeadline(`kill of ${options.name}`, limits.supervision.embeddedKillMs, exited);
      }
    },
    kill() {
      shell.kill('SIGUSR1');
    },
  };
}

function killGroup(groupId: number): void {
  try {
    process.kill(-groupId, 'SIGKILL');
  } catch (error) {
    ignoring(error, 'the group has ended already');
  }
}

const logBytesMax = 10 * 1024 * 1024;

function truncateWhenLarge(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > logBytesMax) truncateSync(file);
}

// Works in dash, bash and the macOS sh. The watcher is a child of the shell that sits in `read` until the pipe
// closes; `wait` in the shell comes back early for each trapped signal, hence the loop. A background sleep is
// ended with its watcher, so that nothing is left when the server ends first.
const tetherScript = `
grace=$1; patience=$2; signal=$3; shift 3
"$@" 3<&- &
server=$!
(
  read -r closed <&3
  nap=
  trap '[ -n "$nap" ] && kill "$nap"; exit 0' TERM
  exec 3<&- >/dev/null 2>&1
  sleep "$grace" & nap=$!; wait "$nap"
  kill -"$signal" "$server"
  sleep "$patience" & nap=$!; wait "$nap"
  kill -KILL "$server"
) &
watcher=$!
exec 3<&-
trap 'kill -"$signal" "$server" 2>/dev/null' TERM INT HUP
trap 'kill -KILL "$server" 2>/dev/null' USR1
wait "$server"; status=$?
while kill -0 "$server" 2>/dev/null; do wait "$server"; status=$?; done
trap '' TERM INT HUP USR1
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
exit "$status"
`;
