// The last resort for roles when the supervisor is killed: they drain by themselves when their channel closes, and
// whatever is stuck after that (a hung thread, a native call) this small shell kills. It reads the process ids
// from a pipe that closes with us, and looks at the command before it kills, because ids are used again.
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { harmlessEnvironment } from '../embedded/harmless-environment.ts';

export type Guardian = {
  add(pid: number): void;
  remove(pid: number): void;
  /** Everything ended as it should. */
  dismiss(): void;
};

export function startGuardian(dataDir: string): Guardian {
  const waitS = String((limits.supervision.orphanDrainMs + 1_000) / 1_000);
  const shell = spawn('/bin/sh', ['-c', guardianScript, 'guardian', waitS, `--data=${dataDir}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
    env: harmlessEnvironment(process.env),
  });
  shell.on('error', (error) => ignoring(error, 'no guardian: orphans can only end by themselves'));
  shell.unref();
  const pipe = shell.stdin as Writable & { unref?(): void };
  pipe.on('error', (error) => ignoring(error, 'the guardian was killed'));
  pipe.unref?.();
  const say = (line: string) => {
    if (pipe.writable) pipe.write(`${line}\n`);
  };
  return {
    add: (pid) => say(`add ${pid}`),
    remove: (pid) => say(`remove ${pid}`),
    dismiss() {
      say('dismiss 0');
      pipe.end();
    },
  };
}

const guardianScript = `
wait_s=$1; mark=$2; pids=' '
while read -r word pid; do
  case $word in
    add) pids="$pids$pid " ;;
    remove) kept=' '; for p in $pids; do [ "$p" = "$pid" ] || kept="$kept$p "; done; pids=$kept ;;
    dismiss) exit 0 ;;
  esac
done
sleep "$wait_s"
for p in $pids; do
  case $(ps -ww -o command= -p "$p" 2>/dev/null) in *"$mark"*) kill -KILL "$p" ;; esac
done
`;
