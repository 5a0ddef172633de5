// `npm run bench -- <name> [--seconds N] [--seed N] [--json]`: runs one harness. Exit code 1 when a target is missed.
import { parseArgs } from 'node:util';
import { messageOf } from '../platform/errors.ts';
import { type BenchResult, report } from './harness/report.ts';

export type BenchOptions = { readonly seconds: number; readonly seed: number };
export type Bench = {
  /** One line for the list of benches. */
  readonly about: string;
  readonly secondsDefault: number;
  run(options: BenchOptions): Promise<BenchResult>;
};

const benches: Readonly<Record<string, () => Promise<{ bench: Bench }>>> = {
  throughput: () => import('./throughput.ts'),
  publish: () => import('./publish.ts'),
  gates: () => import('./gates.ts'),
  dnd: () => import('./dnd.ts'),
  idle: () => import('./idle.ts'),
};

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: 'string' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
    },
  });
  const load = benches[positionals[0] ?? ''];
  if (load === undefined) return list();
  const { bench } = await load();
  const seconds = Number(values.seconds ?? bench.secondsDefault);
  const seed = Number(values.seed);
  if (!(seconds > 0) || !Number.isInteger(seed)) {
    process.stderr.write('--seconds expects a number above 0, --seed a whole number\n');
    return 2;
  }
  return report(await bench.run({ seconds, seed }), values.json) ? 0 : 1;
}

async function list(): Promise<number> {
  process.stderr.write('usage: npm run bench -- <name> [--seconds N] [--seed N] [--json]\n\n');
  for (const [name, load] of Object.entries(benches)) {
    process.stderr.write(`  ${name.padEnd(12)} ${(await load()).bench.about}\n`);
  }
  return 2;
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
}
