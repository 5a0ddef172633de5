// A load generator as a child process: one task in, one result out.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { withDeadline } from '../../platform/deadline.ts';

/** `file`: beside this one; it calls `serveTask`. */
export function runChild<Task extends object, Result>(file: string, task: Task, limitMs: number): Promise<Result> {
  const child = fork(join(import.meta.dirname, file), { serialization: 'advanced' });
  const result = new Promise<Result>((resolve, reject) => {
    child.once('message', (message) => resolve(message as Result));
    child.once('exit', (code) => reject(new Error(`${file} ended with exit code ${code}`)));
  });
  child.send(task);
  return withDeadline(file, limitMs, result);
}

/** In the child: carries out the task, sends its result and ends. */
export function serveTask<Task, Result>(run: (task: Task) => Promise<Result>): void {
  process.on('message', (task: Task) => {
    void run(task).then((result) => process.send?.(result, () => process.exit(0)));
  });
}
