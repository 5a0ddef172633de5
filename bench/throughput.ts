// The main job under load, end to end on real parts: HTTP → JetStream → carrier actor → SMPP → simulator →
// receipt → events in ClickHouse, with the load generator and the simulators on the same machine. Two phases,
// each to a carrier of its own so that each has its own far end: quiet (500/s) and full (5,000/s). Messages
// are counted at the far ends by the nonce in their text, latency runs from the intended send time.
import { until } from '../platform/deadline.ts';
import { countEvents } from '../test/support/recorded-messages.ts';
import { endSystems } from '../test/support/system.ts';
import { type WholeSystem, startWholeSystem } from '../test/support/whole-system.ts';
import type { Bench, BenchOptions } from './main.ts';
import { cpuBetween, processTree, watchMemory } from './harness/processes.ts';
import type { BenchResult } from './harness/report.ts';
import { type FarEnd, startFarEnd } from './harness/far-end.ts';
import type { LoadResult, LoadTask } from './load/http-load.ts';
import { offerLoad } from './load/offer.ts';

const quietRate = 500;
const fullRate = 5_000;
const warmUpSeconds = 8;
const phases = { quiet: { prefix: '13', name: 'quiet' }, full: { prefix: '17', name: 'full' } } as const;

export const bench: Bench = {
  about: `the whole way of a message at ${quietRate}/s and at ${fullRate}/s`,
  secondsDefault: 60,
  run,
};

async function run({ seconds, seed }: BenchOptions): Promise<BenchResult> {
  const farEnds = { quiet: await startFarEnd('quiet'), full: await startFarEnd('full') };
  const system = await startWholeSystem(configuration(farEnds));
  try {
    return await measure(system, farEnds, seconds, seed);
  } finally {
    await system.stop();
    await Promise.all([farEnds.quiet.stop(), farEnds.full.stop()]);
    await endSystems();
  }
}

async function measure(
  system: WholeSystem,
  farEnds: { quiet: FarEnd; full: FarEnd },
  seconds: number,
  seed: number,
): Promise<BenchResult> {
  const offer = (
    phase: keyof typeof phases,
    ratePerSecond: number,
    duration: number,
    firstNonce: number,
    timed: boolean,
  ) =>
    offerLoad({
      port: system.httpPort,
      key: system.keys.liveKey,
      ratePerSecond,
      seconds: duration,
      seed: seed + firstNonce,
      connections: 128,
      recipientPrefix: phases[phase].prefix,
      sender: 'HELIOGRAPH',
      category: 'transactional',
      firstNonce,
      timed,
    } satisfies LoadTask);

  await offer('full', fullRate, warmUpSeconds, 1, false);
  await settled(farEnds.full, warmUpSeconds * fullRate);
  const quietSeconds = Math.min(seconds, 20);
  const quiet = await offer('quiet', quietRate, quietSeconds, 10_000_000, true);
  await settled(farEnds.quiet, quiet.accepted);

  const root = system.process.pid ?? 0;
  const memory = watchMemory(root);
  const before = processTree(root);
  const full = await offer('full', fullRate, seconds, 20_000_000, true);
  const warmUp = warmUpSeconds * fullRate;
  await settled(farEnds.full, warmUp + full.accepted);
  const cpu = cpuBetween(before, processTree(root));
  memory.stop();
  const ends = { quiet: await farEnds.quiet.stats(), full: await farEnds.full.stats() };

  const accepted = warmUp + quiet.accepted + full.accepted;
  await system.recorded();
  await system.stop();
  const recorded = await countEvents(system.dataDir);
  const resent = recorded.resent ?? 0;
  const copies = ends.quiet.nonces.duplicated + ends.full.nonces.duplicated;

  return {
    bench: 'throughput',
    seconds,
    seed,
    load: `open loop, 128 connections, ${quietRate}/s for ${quietSeconds} s, then ${fullRate}/s for ${seconds} s`,
    figures: {
      rate_per_s: full.accepted / seconds,
      accept_p50_ms: full.accept.p50Ms,
      accept_p99_ms: full.accept.p99Ms,
      accept_p999_ms: full.accept.p999Ms,
      accept_to_submit_p50_ms: ends.full.intendedToSubmit.p50Ms,
      accept_to_submit_p99_ms: ends.full.intendedToSubmit.p99Ms,
      accept_to_submit_p999_ms: ends.full.intendedToSubmit.p999Ms,
      accept_to_receipt_p50_ms: ends.full.intendedToReceiptAcked.p50Ms,
      accept_to_receipt_p99_ms: ends.full.intendedToReceiptAcked.p99Ms,
      accept_to_receipt_p999_ms: ends.full.intendedToReceiptAcked.p999Ms,
      quiet_accept_p99_ms: quiet.accept.p99Ms,
      quiet_accept_to_submit_p50_ms: ends.quiet.intendedToSubmit.p50Ms,
      quiet_accept_to_submit_p99_ms: ends.quiet.intendedToSubmit.p99Ms,
      quiet_accept_to_receipt_p50_ms: ends.quiet.intendedToReceiptAcked.p50Ms,
      ...cpuFigures(cpu, full.accepted),
      rss_peak_mb: memory.peakMb(),
      start_ms: system.readyAfterMs,
      refused: refusedOf(quiet) + refusedOf(full),
      lost: accepted - ends.quiet.nonces.distinct - ends.full.nonces.distinct,
      // Copies an account asked for are counted, and are no fault.
      duplicated: Math.max(0, copies - resent),
      resent_by_policy: resent,
      events_missing: accepted * 3 - recorded.accepted - recorded.submitted - recorded.delivered,
    },
    targets: [
      { figure: 'rate_per_s', op: '>=', bound: fullRate },
      { figure: 'accept_to_submit_p99_ms', op: '<=', bound: 250 },
      { figure: 'quiet_accept_to_submit_p99_ms', op: '<=', bound: 20 },
      { figure: 'cpu_us_per_message', op: '<=', bound: 300 },
      { figure: 'lost', op: '==', bound: 0 },
      { figure: 'duplicated', op: '==', bound: 0 },
      { figure: 'events_missing', op: '==', bound: 0 },
    ],
  };
}

/** Every message has come and every receipt was answered. */
async function settled(farEnd: FarEnd, messages: number): Promise<void> {
  await until(
    `${messages} messages at the far end`,
    async () => {
      const stats = await farEnd.stats();
      return stats.nonces.distinct >= messages && stats.receipts.acked >= messages;
    },
    { limitMs: 60_000, everyMs: 100 },
  );
}

function cpuFigures(cpu: ReadonlyMap<string, number>, messages: number): Record<string, number> {
  const figures: Record<string, number> = {};
  let total = 0;
  for (const [name, us] of cpu) {
    total += us;
    figures[`cpu_${name}_us_per_message`] = us / messages;
  }
  return { cpu_us_per_message: total / messages, ...figures };
}

function refusedOf(load: LoadResult): number {
  if (load.accepted < load.offered) process.stderr.write(`answers: ${JSON.stringify(load.statuses)}\n`);
  return load.offered - load.accepted;
}

function configuration({ quiet, full }: { quiet: FarEnd; full: FarEnd }): string {
  const carrier = (phase: keyof typeof phases, farEnd: FarEnd) => `
  - name: ${phases[phase].name}
    tps: 20000
    classes: [otp, transactional, promotional]
    binds:
      - { host: 127.0.0.1, port: ${farEnd.port}, system_id: ${farEnd.systemId}, password: ${farEnd.password}, type: transceiver, window: 500, count: 2 }`;
  return `country:
  name: Bench
  calling_code: "+880"
  national_lengths: [10]
  prefixes: { "${phases.quiet.prefix}": quiet, "${phases.full.prefix}": full }
carriers:${carrier('quiet', quiet)}${carrier('full', full)}
actors: { threads: 1 }
ingress: { threads: 1 }
`;
}
