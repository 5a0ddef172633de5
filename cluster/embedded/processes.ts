// Lists the machine's processes with `ps`, to find what a killed supervisor left running. Callers must not match by
// name alone: they need the process or group id, and their own folder in the command.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export type ProcessEntry = { pid: number; groupId: number; command: string };

/** Without zombies: they hold nothing and only wait for their parent. */
export async function listProcesses(): Promise<ProcessEntry[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,pgid=,stat=,command='], {
    maxBuffer: 16 * 1024 * 1024,
    timeout: 5_000,
  });
  return stdout.split('\n').flatMap((line) => {
    const [, pid, groupId, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (pid === undefined || state?.startsWith('Z')) return [];
    return { pid: Number(pid), groupId: Number(groupId), command: command ?? '' };
  });
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
