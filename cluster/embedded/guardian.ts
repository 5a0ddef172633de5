// Ends the children of a process that was killed, even by kill -9: roles that hang instead of draining, and embedded
// servers, which know nothing of us. A small shell reads their ids from a pipe that closes with our process, waits for
// each one's grace time, and checks the command before it sends a signal, because ids are reused. It restarts nothing.
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { harmlessEnvironment } from './harmless-environment.ts';

export type Guarded = {
  readonly pid: number;
  /** A part of its command that identifies it. */
  readonly mark: string;
  /** How long it may run after we died. */
  readonly graceMs: number;
  /** The signal after that; KILL follows after embeddedKillMs. */
  readonly signal: 'TERM' | 'INT' | 'KILL';
};

const guarded = new Set<number>();
/** The shell's input; null while nothing is guarded. */
let pipe: Writable | null = null;

/** Call the result when the process has ended. */
export function guard({ pid, mark, graceMs, signal }: Guarded): () => void {
  pipe ??= startShell();
  guarded.add(pid);
  say(`add ${pid} ${graceMs / 1_000} ${signal} ${mark}`);
  return () => {
    if (!guarded.delete(pid)) return;
    say(`remove ${pid}`);
    if (guarded.size > 0) return;
    pipe?.end();
    pipe = null;
  };
}

function say(line: string): void {
  if (pipe?.writable === true) pipe.write(`${line}\n`);
}

function startShell(): Writable {
  const killS = String(limits.supervision.embeddedKillMs / 1_000);
  const shell = spawn('/bin/sh', ['-c', guardianScript, 'guardian', killS], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Its own process group: Ctrl-C in the terminal does not reach it.
    detached: true,
    cwd: '/',
    env: harmlessEnvironment(process.env),
  });
  shell.on('error', (error) => ignoring(error, 'no guardian: the next start ends what is left'));
  shell.unref();
  const input = shell.stdin as Writable & { unref?(): void };
  input.on('error', (error) => ignoring(error, 'the guardian was killed'));
  input.unref?.();
  return input;
}

// For dash, bash and the sh of macOS; small images have no ps.
const guardianScript = `
kill_s=$1; pids=' '
while read -r word pid grace signal mark; do
  case $word in
    add) pids="$pids$pid "; eval "grace_$pid=\\$grace signal_$pid=\\$signal mark_$pid=\\$mark" ;;
    remove) kept=' '; for p in $pids; do [ "$p" = "$pid" ] || kept="$kept$p "; done; pids=$kept ;;
  esac
done
end() {
  command=$(ps -ww -o command= -p "$p" || tr '\\0' ' ' <"/proc/$p/cmdline")
  case $command in *"$mark"*) kill -"$1" "$p" ;; *) exit ;; esac
}
for p in $pids; do
  eval "grace=\\$grace_$p signal=\\$signal_$p mark=\\$mark_$p"
  (sleep "$grace"; end "$signal"; sleep "$kill_s"; end KILL) &
done
wait
`;
