// A load generator as a child process: one task in, one result out. It is a session of its own, as everything is that
// runs on another machine in reality: Linux shares the processor out by session (sched(7), "The autogroup feature"), and
// a load generator that waits for its turn behind the others of the bench would measure itself.
import { fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { writeGroupNice } from '../../cluster/roles/yield-processor.ts';
import { withDeadline } from '../../platform/deadline.ts';

/**
 * Flags of Node for SMSC peers and load generators: a pause of theirs for garbage collection would count as time that the
 * product takes (decision 242).
 */
export const shortPauses = [
  ...process.execArgv,
  ...['--max-semi-space-size=4', '--initial-old-space-size=512', '--heap-growing-percent=900'],
  ...['--no-memory-reducer', '--v8-pool-size=1'],
];

/** `file`: beside this one; it calls `serveTask`. */
export function runChild<Task extends object, Result>(file: string, task: Task, limitMs: number): Promise<Result> {
  const options = { serialization: 'advanced', detached: true, execArgv: shortPauses } as const;
  const child = fork(join(import.meta.dirname, file), options);
  const result = new Promise<Result>((resolve, reject) => {
    child.once('message', (message) => resolve(message as Result));
    child.once('exit', (code) => reject(new Error(`${file} ended with exit code ${code}`)));
  });
  child.send(task);
  return withDeadline(file, limitMs, result);
}

/** In the child: carries out the task, sends its result and ends; it ends with the bench. Elsewhere its file is only imported. */
export function serveTask<Task, Result>(run: (task: Task) => Promise<Result>): void {
  if (dirname(process.argv[1] ?? '') !== import.meta.dirname) return;
  process.once('disconnect', () => process.exit(0));
  process.on('message', (task: Task) => {
    void run(task).then((result) => process.send?.(result, () => process.exit(0)));
  });
}

/**
 * For a process that runs on another machine in reality and whose times are not measured: it does all its work, and
 * takes the processor only when what is measured leaves it.
 */
export function takeOnlyIdleTime(): void {
  const nice = 19;
  setPriority(nice);
  writeGroupNice(nice);
}
