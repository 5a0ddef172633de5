// `npm run bench -- <name> [--seconds N] [--seed N] [--rate N] [--count N] [--contracts N,N] [--only NAME,NAME] [--webhooks] [--batch N] [--json]`: runs
// one harness. Exit code 1 when a target is missed, 2 when an option is wrong or this harness does not take it.
import { parseArgs } from 'node:util';
import { messageOf } from '../platform/errors.ts';
import { report } from './harness/report.ts';
import type { Bench } from './harness/bench.ts';

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
  'receipt-lookup': () => import('./receipt-lookup.ts'),
  flight: () => import('./flight.ts'),
  idempotency: () => import('./idempotency.ts'),
  tenants: () => import('./tenants.ts'),
  otp: () => import('./otp.ts'),
  'otp-fraud': () => import('./otp-fraud.ts'),
  'otp-pairs': () => import('./otp-pairs.ts'),
  webhooks: () => import('./webhooks.ts'),
  'webhook-backlog': () => import('./webhook-backlog.ts'),
  record: () => import('./record.ts'),
  reports: () => import('./reports.ts'),
  clicks: () => import('./clicks.ts'),
};

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: 'string' },
      seed: { type: 'string', default: '1' },
      count: { type: 'string' },
      contracts: { type: 'string' },
      rate: { type: 'string' },
      only: { type: 'string' },
      webhooks: { type: 'boolean' },
      batch: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [name = ''] = positionals;
  const load = benches[name];
  if (load === undefined) return list();
  const { bench } = await load();
  const seconds = Number(values.seconds ?? bench.secondsDefault);
  const seed = Number(values.seed);
  if (!(seconds > 0) || !Number.isInteger(seed)) {
    process.stderr.write('--seconds expects a number above 0, --seed a whole number\n');
    return 2;
  }
  for (const option of ['count', 'contracts', 'rate', 'only', 'webhooks', 'batch'] as const) {
    if (values[option] === undefined || bench.takes?.includes(option) === true) continue;
    process.stderr.write(`--${option} means nothing to the bench ${name}\n`);
    return 2;
  }
  const numbers: { count?: number; rate?: number; batch?: number } = {};
  for (const option of ['count', 'rate', 'batch'] as const) {
    if (values[option] === undefined) continue;
    numbers[option] = Number(values[option]);
    if (Number.isInteger(numbers[option]) && numbers[option] > 0) continue;
    process.stderr.write(`--${option} expects a whole number above 0\n`);
    return 2;
  }
  const contracts = values.contracts?.split(',').map(Number);
  if (contracts?.every((each) => Number.isInteger(each) && each > 0) === false) {
    process.stderr.write('--contracts expects whole numbers above 0, as in 10,100\n');
    return 2;
  }
  const only = values.only?.split(',');
  const options = { seconds, seed, ...numbers, ...(contracts && { contracts }), ...(only && { only }) };
  if (values.webhooks === true) Object.assign(options, { webhooks: true });
  return report({ bench: name, seconds, seed }, await bench.run(options), values.json) ? 0 : 1;
}

async function list(): Promise<number> {
  process.stderr.write('usage: npm run bench -- <name> [--seconds N] [--seed N] [--rate N] [--json]\n\n');
  for (const [name, load] of Object.entries(benches)) {
    const { about, takes = [] } = (await load()).bench;
    const options = takes.length === 0 ? '' : ` (${takes.map((option) => `--${option}`).join(', ')})`;
    process.stderr.write(`  ${name.padEnd(12)} ${about}${options}\n`);
  }
  return 2;
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
}
