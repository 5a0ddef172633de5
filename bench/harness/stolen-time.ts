// How long the host took processors away from this virtual machine, and when. On a shared host that decides the high
// percentiles of a latency of a few milliseconds, whatever the system does; a bench that compares two of them shows both
// as measured, and less what was taken meanwhile.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

type Taken = { readonly fromUs: number; readonly toUs: number };

export type StolenTime = {
  /** How much of that time at least one processor was away, µs; from and to in µs of epoch. */
  within(fromUs: number, toUs: number): number;
  stop(): Promise<void>;
};

const program = join(import.meta.dirname, '../load/stolen-time-process.ts');

/** Needs Linux and root (chrt, taskset); elsewhere nothing is known to be taken. */
export function watchStolenTime(): StolenTime {
  const watched = Array.from({ length: availableParallelism() }, (_, processor) => watch(processor));
  return {
    within(fromUs, toUs) {
      const meanwhile = watched
        .flatMap(({ taken }) => overlapping(taken, fromUs, toUs))
        .toSorted((a, b) => a.fromUs - b.fromUs);
      let sumUs = 0;
      let countedToUs = fromUs;
      for (const each of meanwhile) {
        const beginUs = Math.max(each.fromUs, countedToUs);
        const endUs = Math.min(each.toUs, toUs);
        sumUs += Math.max(0, endUs - beginUs);
        countedToUs = Math.max(countedToUs, endUs);
      }
      return sumUs;
    },
    async stop() {
      await Promise.all(watched.map(({ stop }) => stop()));
    },
  };
}

function watch(processor: number): { readonly taken: readonly Taken[]; readonly stop: () => Promise<void> } {
  const taken: Taken[] = [];
  const atOnce = ['-f', '50', 'taskset', '-c', String(processor), process.execPath, program];
  const child = spawn('chrt', atOnce, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit').catch((error: unknown) => {
    process.stderr.write(`what the host takes is not known: ${String(error)}\n`);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [fromUs = 0, toUs = 0] = line.split(' ').map(Number);
    taken.push({ fromUs, toUs });
  });
  return {
    taken,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** In the order of their times, in which they were noted. */
function overlapping(taken: readonly Taken[], fromUs: number, toUs: number): readonly Taken[] {
  let low = 0;
  let high = taken.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((taken[middle] as Taken).toUs <= fromUs) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < taken.length && (taken[end] as Taken).fromUs < toUs) end += 1;
  return taken.slice(low, end);
}
