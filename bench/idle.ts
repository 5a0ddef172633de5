// The cost of an idle system: how soon a warm start is ready, how much memory the whole process tree uses at rest, and
// how much CPU. Memory is the sum of PSS: pages shared between processes count once, which is what the machine has to
// provide; the sum of RSS is shown too, because most tools show that.
import { readFileSync } from 'node:fs';
import { systemClock } from '../platform/clock.ts';
import { ignoring } from '../platform/errors.ts';
import { endSystems } from '../test/support/system.ts';
import { type WholeSystem, startWholeSystem } from '../test/support/whole-system.ts';
import type { Bench, BenchOptions } from './harness/bench.ts';
import { median } from './harness/latency-figures.ts';
import { cpuBetween, processTree } from './harness/processes.ts';
import type { BenchResult } from './harness/report.ts';

const warmStarts = 3;
/** After this, the garbage of a start has been collected. */
const restBeforeMs = 20_000;

export const bench: Bench<'seconds'> = {
  about: 'warm start, and memory and CPU of a system at rest',
  takes: 'about two minutes',
  options: {
    seconds: { about: 'seconds of rest that are measured', default: 10 },
  },
  targets: () => [
    { figure: 'start_ms', op: '<=', bound: 6_000 },
    { figure: 'memory_mb', op: '<=', bound: 900 },
  ],
  run,
};

async function run({ seconds }: BenchOptions<'seconds'>): Promise<BenchResult> {
  // The configuration of the repository, which `npm start` runs, including its simulated carriers.
  const configuration = readFileSync(new URL('../heliograph.yaml', import.meta.url), 'utf8');
  let system = await startWholeSystem(configuration, { newDatabase: true });
  const coldStartMs = system.readyAfterMs;
  const starts: number[] = [];
  try {
    for (let start = 0; start < warmStarts; start += 1) {
      await system.stop();
      system = await startWholeSystem(configuration, { before: system });
      starts.push(system.readyAfterMs);
    }
    return await atRest(system, { coldStartMs, starts }, seconds);
  } finally {
    await system.stop();
    await endSystems();
  }
}

async function atRest(
  system: WholeSystem,
  { coldStartMs, starts }: { coldStartMs: number; starts: readonly number[] },
  seconds: number,
): Promise<BenchResult> {
  const root = system.process.pid ?? 0;
  await systemClock.sleep(restBeforeMs);
  const before = processTree(root);
  const beganMs = systemClock.monotonicMs();
  await systemClock.sleep(seconds * 1_000);
  const tree = processTree(root);
  const tookUs = (systemClock.monotonicMs() - beganMs) * 1_000;
  const cpu = cpuBetween(before, tree);
  const cpuUs = [...cpu.values()].reduce((sum, us) => sum + us, 0);
  const pssByName = new Map<string, number>();
  for (const { pid, name } of tree) pssByName.set(name, (pssByName.get(name) ?? 0) + pssMb(pid));
  const perProcess = [...pssByName].map(([name, mb]) => [`pss_${name}_mb`, mb] as const);
  return {
    load: `none; ${warmStarts} warm starts, then ${restBeforeMs / 1_000} s of rest before the look`,
    figures: {
      start_ms: median(starts),
      start_first_ms: coldStartMs,
      memory_mb: [...pssByName.values()].reduce((sum, mb) => sum + mb, 0),
      rss_mb: tree.reduce((sum, use) => sum + use.rssBytes, 0) / 1e6,
      cpu_percent: (cpuUs / tookUs) * 100,
      ...Object.fromEntries(perProcess),
    },
  };
}

/** The process's share of the memory it uses: a page that n processes share counts as 1/n in each. */
function pssMb(pid: number): number {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return (Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1]) * 1_024) / 1e6;
  } catch (error) {
    ignoring(error, 'a process ended while it was looked at');
    return 0;
  }
}
