// Runs the load generator as a child process and gives its result.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { withDeadline } from '../../platform/deadline.ts';
import type { LoadResult, LoadTask } from './http-load.ts';

export function offerLoad(task: LoadTask): Promise<LoadResult> {
  const child = fork(join(import.meta.dirname, 'http-load.ts'));
  const result = new Promise<LoadResult>((resolve, reject) => {
    child.once('message', (message) => resolve(message as LoadResult));
    child.once('exit', (code) => reject(new Error(`the load generator ended with exit code ${code}`)));
  });
  child.send(task);
  return withDeadline('the load generator', (task.seconds + 60) * 1_000, result);
}
