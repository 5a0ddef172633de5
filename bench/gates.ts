// The cost of all gates together for one message, in one thread: 10,000 accounts with everything of their own switched
// on (networks, rates, required templates, content rules, long suppression lists). The do-not-disturb registry has a
// bench of its own. Messages differ, so that no result is cached. It measures the ingress's own code, without I/O.
import { admitForBench } from './load/gated-accounts.ts';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';
import { cpuPerCallUs } from './harness/latency-figures.ts';
import type { BenchResult } from './harness/report.ts';

const accounts = 10_000;
const suppressedPerAccount = 50;
const suppressedOfLargest = 500_000;
const slice = 2_000;

export const bench: Bench<'seconds' | 'seed'> = {
  about: 'CPU of all gates per message at 10,000 accounts',
  takes: 'about 20 seconds',
  options: {
    seconds: { about: 'seconds for all gates together, shared equally', default: 8 },
    seed: seedOption,
  },
  targets: () => [{ figure: 'all_gates_us', op: '<=', bound: 25 }],
  run,
};

async function run({ seconds, seed }: BenchOptions<'seconds' | 'seed'>): Promise<BenchResult> {
  const setUp = admitForBench({ accounts, suppressedPerAccount, suppressedOfLargest, seed });
  const parts = Object.entries(setUp.parts);
  const figures: Record<string, number> = {};
  for (const [name, one] of parts) figures[`${name}_us`] = measure(one, (seconds * 1_000) / parts.length);
  return {
    load:
      `${accounts} accounts, ${suppressedPerAccount} suppressed numbers each and ${suppressedOfLargest} of one, ` +
      `20 templates, 200 words and 200 links each; ${setUp.textChars} characters a text`,
    figures: { ...figures, heap_mb: setUp.heapMb() },
  };
}

function measure(one: (at: number) => void, durationMs: number): number {
  let at = 0;
  // What is compiled at first use is not a message's cost.
  for (let warm = 0; warm < accounts * 2; warm += 1) one((at += 1));
  return cpuPerCallUs(() => one((at += 1)), durationMs, slice);
}
