// The do-not-disturb registry at full size: how long an import takes from file to version, how much memory a process
// and its threads use, and what one look-up costs in a thread, hits and misses mixed.
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { parseConfiguration } from '../config/parse.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { importRegistry } from '../directory/registry/import/import.ts';
import { RegistryVersions } from '../directory/registry/versions.ts';
import { systemClock } from '../platform/clock.ts';
import { limits } from '../platform/limits.ts';
import type { CountryRules } from '../policy/country/contract.ts';
import { numberPlan } from '../policy/country/number-plan.ts';
import { quietHours } from '../policy/country/quiet-hours.ts';
import { startBus } from '../test/support/bus.ts';
import { benchNational } from './load/dnd-thread.ts';
import type { BenchResult } from './harness/report.ts';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';

const numbers = 20_000_000;
const threads = 2;
const mb = 2 ** 20;
const configurationText = `country: { pack: bd, carriers: { grameenphone: a, robi: a, banglalink: a, teletalk: a } }
carriers: [{ name: a, tps: 1, simulate: true }]
`;

export const bench: Bench<'seconds' | 'seed'> = {
  about: '20,000,000 numbers: import, memory, look-up',
  takes: 'about a minute, nearly all of it to write the file and to import it',
  options: {
    seconds: { about: 'seconds of look-ups in each thread', default: 2 },
    seed: seedOption,
  },
  targets: () => [
    { figure: 'numbers', op: '==', bound: numbers },
    { figure: 'table_mb', op: '<=', bound: 200 },
    { figure: 'process_grows_by_mb', op: '<=', bound: 200 },
    { figure: 'lookup_us', op: '<=', bound: 1 },
    { figure: 'number_plan_us', op: '<=', bound: 1 },
    { figure: 'quiet_hours_us', op: '<=', bound: 2 },
    { figure: 'import_rows_per_minute', op: '>=', bound: 5_000_000 },
  ],
  run,
};

async function run({ seconds, seed }: BenchOptions<'seconds' | 'seed'>): Promise<BenchResult> {
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-dnd-'));
  const { bus, stop } = await startBus('bench');
  try {
    const file = join(folder, 'registry.csv');
    await writeRows(file, seed);
    const beganMs = systemClock.monotonicMs();
    const report = await importRegistry(bus, {
      name: 'dnd',
      file,
      delta: false,
      badRowsMax: 0,
      allowShrink: true,
      dataDir: folder,
      configuration: parseConfiguration(configurationText, 'heliograph.yaml'),
      onProgress: () => {},
    });
    const importS = (systemClock.monotonicMs() - beganMs) / 1_000;
    const configuration = parseConfiguration(configurationText, 'heliograph.yaml');
    const held = await holdInFreshProcess(bus, seconds, seed);
    return {
      load: `${numbers} numbers from a plain file of ${Math.round((numbers * 11) / mb)} MB; ${threads} threads look up at once, half of the numbers listed`,
      figures: {
        import_s: importS,
        import_rows_per_minute: (report.rows.entries / importS) * 60,
        numbers: report.numbers,
        ...held,
        number_plan_us: numberPlanUs(configuration.country),
        quiet_hours_us: quietHoursUs(configuration.country),
      },
    };
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Loads the version as an ingress does and looks numbers up in several threads on the same memory. */
async function holdInFreshProcess(bus: Bus, seconds: number, seed: number) {
  const versions = await RegistryVersions.open(bus);
  const pointer = await versions.current('dnd');
  if (pointer === null) throw new Error('nothing was imported');
  const workers = Array.from({ length: threads }, () => new Worker(new URL('./load/dnd-thread.ts', import.meta.url)));
  await Promise.all(workers.map((worker) => answerOf(worker, { seed, seconds: 0, buffer: null })));
  const beganMs = systemClock.monotonicMs();
  const buffer = await versions.load('dnd', pointer.value);
  const loadS = (systemClock.monotonicMs() - beganMs) / 1_000;
  const before = process.memoryUsage().rss;
  const tookUs = await Promise.all(workers.map((worker) => answerOf(worker, { seed, seconds, buffer })));
  const after = process.memoryUsage().rss;
  await Promise.all(workers.map((worker) => worker.terminate()));
  return {
    load_s: loadS,
    table_mb: buffer.byteLength / mb,
    // The table itself is included already: this adds what the threads use.
    process_grows_by_mb: buffer.byteLength / mb + Math.max(0, after - before) / mb,
    lookup_us: Math.max(...tookUs),
  };
}

function answerOf(worker: Worker, order: object): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (us: number) => resolve(us));
    worker.postMessage(order);
  });
}

const rounds = 400_000;

function numberPlanUs(country: CountryRules): number {
  const plan = numberPlan(country);
  let refused = 0;
  const tookMs = timeOf(() => {
    for (let at = 0; at < rounds; at += 1)
      if (plan.refuse(at % 2 === 0 ? '+8801712345678' : '+880171234567')) refused += 1;
  });
  // Twice: the first run is for the compiler.
  if (refused !== rounds) throw new Error('every second number is one too short');
  return (tookMs * 1_000) / rounds;
}

/** A message every 10 ms over an hour: every 6,000th is in a new minute and computed again. */
function quietHoursUs(country: CountryRules): number {
  const quiet = quietHours(country.quietHours ?? []);
  const startMs = systemClock.nowMs();
  const tookMs = timeOf(() => {
    for (let at = 0; at < rounds; at += 1) quiet.quietUntil('promotional', startMs + at * 10);
  });
  return (tookMs * 1_000) / rounds;
}

function timeOf(work: () => void): number {
  work();
  const beganMs = systemClock.monotonicMs();
  work();
  return systemClock.monotonicMs() - beganMs;
}

async function writeRows(file: string, seed: number): Promise<void> {
  const handle = await open(file, 'w');
  const piece = limits.registry.checkpointRows / 10;
  for (let first = 0; first < numbers; first += piece) {
    const rows: string[] = [];
    for (let at = first; at < first + piece; at += 1) rows.push(String(benchNational(at, seed)));
    await handle.write(`${rows.join('\n')}\n`);
  }
  await handle.close();
}
