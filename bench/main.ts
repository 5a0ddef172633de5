// `npm run bench -- <name> [--seconds N] [--seed N] [--count N] [--json]`: runs one harness. Exit code 1 when a target is missed.
import { parseArgs } from 'node:util';
import { messageOf } from '../platform/errors.ts';
import { type BenchResult, report } from './harness/report.ts';

export type BenchOptions = {
  readonly seconds: number;
  readonly seed: number;
  /** How many of whatever it is about, for the benches that take it. */
  readonly count?: number;
  /** Segments per second, for the benches of a carrier's contract. */
  readonly contracts?: readonly number[];
};
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
  schedule: () => import('./schedule.ts'),
  batch: () => import('./batch.ts'),
  pacing: () => import('./pacing.ts'),
  takeover: () => import('./takeover.ts'),
  lanes: () => import('./lanes.ts'),
  idle: () => import('./idle.ts'),
  outstanding: () => import('./outstanding.ts'),
  flight: () => import('./flight.ts'),
};

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: 'string' },
      seed: { type: 'string', default: '1' },
      count: { type: 'string' },
      contracts: { type: 'string' },
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
  const count = values.count === undefined ? {} : { count: Number(values.count) };
  if (count.count !== undefined && !(Number.isInteger(count.count) && count.count > 0)) {
    process.stderr.write('--count expects a whole number above 0\n');
    return 2;
  }
  const contracts = values.contracts?.split(',').map(Number);
  if (contracts?.every((each) => Number.isInteger(each) && each > 0) === false) {
    process.stderr.write('--contracts expects whole numbers above 0, as in 10,100\n');
    return 2;
  }
  return report(await bench.run({ seconds, seed, ...count, ...(contracts && { contracts }) }), values.json) ? 0 : 1;
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
