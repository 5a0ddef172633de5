// The complete path under load, end to end on real parts: HTTP → JetStream → carrier actor → SMPP → simulator → receipt
// → events in ClickHouse, with the load generator and the simulators on the same machine. Two phases, each to a carrier
// of its own so that each has its own SMSC peer: quiet (500/s) and full (5,000/s, or --rate). Messages are counted at
// the SMSC peers by the nonce in their text, latency is measured from the intended send time, and the rate is that of
// the arrivals at the SMSC peer: a run that falls behind its offered load misses its target.
// `--webhooks`: each message is reported to an endpoint as delivered, whose receiver is a thread of the bench; `--batch N`: by
// requests of at most N events.
import { until } from '../platform/deadline.ts';
import { ignoring } from '../platform/errors.ts';
import { countEvents } from '../test/support/recorded-messages.ts';
import type { WholeSystem } from '../test/support/whole-system.ts';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';
import { configurationWith, webhooksHere, withSystem } from './harness/configuration.ts';
import { cpuBetween, processTree, watchMemory } from './harness/processes.ts';
import { type BenchResult, zero } from './harness/report.ts';
import { type SmscPeer, startSmscPeer } from './harness/smsc-peer.ts';
import { latencyFigures } from './harness/latency-figures.ts';
import { behindMsMax, endedBehindMs, servedPerS, servedShareMin } from './harness/rates.ts';
import { runChild } from './load/child.ts';
import type { LoadResult, LoadTask } from './load/http-load.ts';
import { type WebhookReceiver, registerReceiver } from './load/webhook-receiver.ts';

const quietRate = 500;
const fullRateDefault = 5_000;
const warmUpSeconds = 8;
const contract = { tps: 20_000, window: 500 };
const phases = {
  quiet: { prefix: '13', name: 'quiet', ...contract },
  full: { prefix: '17', name: 'full', ...contract },
} as const;

export const bench: Bench<'seconds' | 'rate' | 'webhooks' | 'batch' | 'seed'> = {
  about: `the whole way of a message at ${quietRate}/s and at ${fullRateDefault}/s`,
  takes: 'about three minutes',
  options: {
    seconds: { about: 'seconds of the full load; the quiet one before it takes 20 at most', default: 60 },
    rate: { about: 'messages a second of the full load', default: fullRateDefault },
    webhooks: { about: 'each message is reported to a webhook endpoint as delivered', default: false },
    batch: { about: 'the same, in requests of at most N events', default: null },
    seed: seedOption,
  },
  targets: ({ rate: fullRate, webhooks, batch }) => [
    { figure: 'rate_per_s', op: '>=', bound: fullRate * servedShareMin },
    { figure: 'ended_behind_ms', op: '<=', bound: behindMsMax },
    { figure: 'refused', op: '==', bound: 0 },
    { figure: 'accept_to_submit_p99_ms', op: '<=', bound: 250 },
    { figure: 'quiet_accept_to_submit_p99_ms', op: '<=', bound: 20 },
    { figure: 'cpu_us_per_message', op: '<=', bound: 300 },
    ...zero('lost', 'duplicated', 'events_missing', ...(webhooks || batch !== null ? ['webhooks_missing'] : [])),
  ],
  run,
};

async function run({
  seconds,
  seed,
  rate,
  webhooks,
  batch,
}: BenchOptions<'seconds' | 'rate' | 'webhooks' | 'batch' | 'seed'>): Promise<BenchResult> {
  const smscPeers = { quiet: await startSmscPeer('quiet'), full: await startSmscPeer('full') };
  return withSystem(configurationWith(Object.values(phases), smscPeers, webhooksHere), smscPeers, async (system) => {
    const receiver = webhooks || batch !== null ? await registerReceiver(system, batch ?? undefined) : null;
    try {
      return await measure(system, smscPeers, { seconds, seed, fullRate: rate, receiver });
    } finally {
      await receiver?.stop();
    }
  });
}

async function measure(
  system: WholeSystem,
  smscPeers: { quiet: SmscPeer; full: SmscPeer },
  {
    seconds,
    seed,
    fullRate,
    receiver,
  }: { seconds: number; seed: number; fullRate: number; receiver: WebhookReceiver | null },
): Promise<BenchResult> {
  const offer = async (
    phase: keyof typeof phases,
    ratePerSecond: number,
    duration: number,
    firstNonce: number,
    timed: boolean,
  ) => {
    const task: LoadTask = {
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
    };
    const load = await runChild<LoadTask, LoadResult>('http-load.ts', task, (duration + 60) * 1_000);
    return { load, ...(await settled(smscPeers[phase], load.acceptedNonces)) };
  };

  const warmUpRate = Math.min(fullRate, fullRateDefault);
  const warmUp = await offer('full', warmUpRate, warmUpSeconds, 1, false);
  const quietSeconds = Math.min(seconds, 20);
  const { load: quiet, ...quietEnd } = await offer('quiet', quietRate, quietSeconds, 10_000_000, true);

  const root = system.process.pid ?? 0;
  const memory = watchMemory(root);
  const before = processTree(root);
  const { load: full, ...fullEnd } = await offer('full', fullRate, seconds, 20_000_000, true);
  const cpu = cpuBetween(before, processTree(root));
  memory.stop();
  const ends = { quiet: await smscPeers.quiet.stats(), full: await smscPeers.full.stats() };

  const accepted = warmUp.load.accepted + quiet.accepted + full.accepted;
  await system.recorded();
  const missed = receiver === null ? 0 : await receiver.missingOf(accepted);
  await system.stop();
  const recorded = await countEvents(system.dataDir);
  const resent = recorded.resent ?? 0;
  const copies = ends.quiet.nonces.duplicated + ends.full.nonces.duplicated;

  return {
    load: `open loop, 128 connections, ${quietRate}/s for ${quietSeconds} s, then ${fullRate}/s for ${seconds} s`,
    figures: {
      rate_per_s: servedPerS(fullEnd.arrivedUs),
      offered_per_s: fullRate,
      ended_behind_ms: endedBehindMs(fullEnd.arrivedUs, full.lastIntendedUs),
      ...latencyFigures('accept', full.latency),
      ...latencyFigures('accept_to_submit', ends.full.intendedToSubmit),
      ...latencyFigures('accept_to_receipt', ends.full.intendedToReceiptAcked),
      ...latencyFigures('quiet_accept', quiet.latency, ['p99']),
      ...latencyFigures('quiet_accept_to_submit', ends.quiet.intendedToSubmit, ['p50', 'p99']),
      ...latencyFigures('quiet_accept_to_receipt', ends.quiet.intendedToReceiptAcked, ['p50']),
      ...cpuFigures(cpu, full.accepted),
      rss_peak_mb: memory.peakMb(),
      start_ms: system.readyAfterMs,
      refused: refusedOf(quiet) + refusedOf(full),
      lost: warmUp.lost + quietEnd.lost + fullEnd.lost,
      // Copies that an account's policy asks for are counted, and are no fault.
      duplicated: Math.max(0, copies - resent),
      resent_by_policy: resent,
      ...(receiver === null ? {} : { webhooks_missing: missed }),
      events_missing: accepted * 3 - recorded.accepted - recorded.submitted - recorded.delivered,
    },
  };
}

/**
 * Waits until every accepted message has arrived and every receipt was answered. Returns when they arrived, and how
 * many did not: by nonce, because a message sent without an answer arrives too and would hide a missing one.
 */
async function settled(smscPeer: SmscPeer, accepted: Float64Array): Promise<{ arrivedUs: number[]; lost: number }> {
  const nonces = [...accepted];
  const haveCome = async () => {
    const { nonces: counted, receipts } = await smscPeer.stats();
    if (counted.distinct < nonces.length || receipts.acked < counted.distinct) return false;
    const arrivals = await smscPeer.arrivals();
    return nonces.every((nonce) => arrivals.has(nonce));
  };
  await until(`${nonces.length} messages at the SMSC peer`, haveCome, { limitMs: 60_000, everyMs: 250 }).catch(
    (error: unknown) => ignoring(error, 'what has not come is counted as lost'),
  );
  const arrivals = await smscPeer.arrivals();
  const arrivedUs = nonces.flatMap((nonce) => arrivals.get(nonce)?.atUs ?? []);
  return { arrivedUs, lost: nonces.length - arrivedUs.length };
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
