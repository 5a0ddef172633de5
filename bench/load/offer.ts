// Runs the load generator as a child process and returns its result, with the nonces that were accepted.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { withDeadline } from '../../platform/deadline.ts';
import type { LoadResult, LoadTask } from './http-load.ts';

export function offerLoad(task: LoadTask): Promise<LoadResult> {
  const child = fork(join(import.meta.dirname, 'http-load.ts'), { serialization: 'advanced' });
  const result = new Promise<LoadResult>((resolve, reject) => {
    child.once('message', (message) => resolve(message as LoadResult));
    child.once('exit', (code) => reject(new Error(`the load generator ended with exit code ${code}`)));
  });
  child.send(task);
  return withDeadline('the load generator', (task.seconds + 60) * 1_000, result);
}

/** The nonces that were answered 202. */
export function acceptedNonces(task: LoadTask, { acceptedBits }: LoadResult): number[] {
  const nonces: number[] = [];
  for (let index = 0; index < acceptedBits.length * 8; index += 1)
    if ((acceptedBits[index >> 3]! & (1 << (index & 7))) !== 0) nonces.push(task.firstNonce + index);
  return nonces;
}
