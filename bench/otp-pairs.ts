// One-time passwords through a real ingress and nats-server, under test keys, which get the code in the answer: first as
// many starts, each with its verification, as --connections clients at a time bring about; then starts and
// verifications at --rate, open loop, whose latency counts from the intended time. Every verification must be valid, and
// each start's message must be in its queue: counted there.
import { epochUs, systemClock } from '../platform/clock.ts';
import { defaultShares } from '../platform/limits-shares.ts';
import { otpLimitsDefault, otpRulesDefault } from '../policy/otp/contract.ts';
import { LatencyHistogram } from '../smpp/simulator/latency-histogram.ts';
import { type Harness, openHarness } from '../test/api/http/harness.ts';
import { latencyFigures } from './harness/latency-figures.ts';
import { endedBehindMs, servedPerS } from './harness/rates.ts';
import { type BenchResult, zero } from './harness/report.ts';
import { jsonClient } from './load/json-client.ts';
import { openLoop } from './load/open-loop.ts';
import { type Bench, type BenchOptions, withStarted } from './harness/bench.ts';

const rateDefault = 500;
const clientsAtOnce = 64;

export const bench: Bench<'seconds' | 'rate'> = {
  about: 'one-time passwords: start and verify pairs a second, and the latency of both at --rate pairs a second',
  takes: 'about a minute',
  options: {
    seconds: { about: 'seconds of each of the two parts', default: 20 },
    rate: { about: 'pairs a second of the second part', default: rateDefault },
  },
  targets: () => [
    { figure: 'pairs_per_s', op: '>=', bound: 1_000 },
    { figure: 'verify_p99_ms', op: '<=', bound: 10 },
    { figure: 'ended_behind_ms', op: '<=', bound: 1_000 },
    ...zero('starts_failed', 'verifications_failed', 'messages_missing'),
  ],
  run,
};

async function run({ seconds, rate }: BenchOptions<'seconds' | 'rate'>): Promise<BenchResult> {
  return withStarted(openHarness(), (harness) => measure(harness, { seconds, rate }));
}

type Wanted = { readonly seconds: number; readonly rate: number };

async function measure(harness: Harness, { seconds, rate }: Wanted): Promise<BenchResult> {
  const wide = { count: 1_000_000_000, perMs: 1_000 };
  const { sends, verifications, guesses } = otpLimitsDefault;
  const limits = {
    sends: { ...sends, account: wide, prefix: wide },
    verifications: { ...verifications, account: wide, prefix: wide },
    guesses,
  };
  // One account brings the whole load.
  const otp_started = { total: 10_000_000, perAccount: 10_000_000, reserve: 0 };
  const changes = {
    otp: { ...otpRulesDefault, limits },
    limits: { ...limitsOfHarness, shares: { ...defaultShares, otp_started } },
  };
  const { port } = await harness.ingress({}, 1, changes);
  const tenant = await harness.tenant();
  const client = jsonClient(port, tenant.test);
  let number = 0;
  const next = () => `+880171${String(1_000_000 + ((number += 1) % 9_000_000)).slice(-7)}`;
  const failed = { starts: 0, verifications: 0 };
  const pair = async (onStarted?: () => void, onVerified?: () => void) => {
    const started = await client('/v1/otp', { to: next() });
    if (started.status !== 201) return void (failed.starts += 1);
    onStarted?.();
    const verdict = await client(`/v1/otp/${String(started.body['id'])}/verify`, { code: started.body['test_code'] });
    if (verdict.body['valid'] !== true) failed.verifications += 1;
    onVerified?.();
  };

  await closedLoop(2, () => pair());
  const pairsUs: number[] = [];
  await closedLoop(seconds, () => pair(undefined, () => pairsUs.push(epochUs(systemClock.monotonicMs()))));

  const [start, verify] = [new LatencyHistogram(), new LatencyHistogram()];
  const doneUs: number[] = [];
  const total = Math.round(rate * seconds);
  let lastIntendedMs = 0;
  const pending: Promise<void>[] = [];
  await openLoop(total, rate, (_, intendedMs) => {
    lastIntendedMs = intendedMs;
    let verifyFromMs = 0;
    const onStarted = () => {
      verifyFromMs = systemClock.monotonicMs();
      start.add((verifyFromMs - intendedMs) * 1_000);
    };
    const onVerified = () => {
      const nowMs = systemClock.monotonicMs();
      verify.add((nowMs - verifyFromMs) * 1_000);
      doneUs.push(epochUs(nowMs));
    };
    pending.push(pair(onStarted, onVerified));
  });
  await Promise.all(pending);
  const { state } = await harness.bus.manager.streams.info('MT_OTP');
  return {
    load: `${clientsAtOnce} clients at a time for ${seconds} s, then ${rate} pairs/s open loop; one ingress thread, one nats-server`,
    figures: {
      pairs_per_s: servedPerS(pairsUs),
      offered_per_s: rate,
      rate_per_s: servedPerS(doneUs),
      ended_behind_ms: endedBehindMs(doneUs, epochUs(lastIntendedMs)),
      ...latencyFigures('start', start.summary()),
      ...latencyFigures('verify', verify.summary()),
      starts_failed: failed.starts,
      verifications_failed: failed.verifications,
      messages_missing: number - failed.starts - state.messages,
    },
  };
}

const limitsOfHarness = {
  queueMessagesMax: 5_000_000,
  streamReplicas: 1,
  streamStoreMbMax: 24_576,
  drainMsMax: 90_000,
};

/** Each client begins its next pair when the one before has ended. */
async function closedLoop(seconds: number, once: () => Promise<void>): Promise<void> {
  const endAtMs = systemClock.monotonicMs() + seconds * 1_000;
  const loop = async () => {
    while (systemClock.monotonicMs() < endAtMs) await once();
  };
  await Promise.all(Array.from({ length: clientsAtOnce }, loop));
}
