// Whether one account can delay another: an account that sends 50 OTP a second alone, and beside each attack of another
// account, or of an unauthenticated client, on the HTTP interface. Its OTP are counted at an SMSC peer of its own, from
// acceptance (the time in the message id) and, without a target, from the intended send time, which includes the
// client's share of the processors. Every one must be answered 202. The account is alone for a third of the time before
// each attack, and all of these times together are the figure alone: a machine whose speed changes within the run
// changes both sides.
import { until } from '../platform/deadline.ts';
import { ignoring } from '../platform/errors.ts';
import { LatencyHistogram } from '../smpp/simulator/latency-histogram.ts';
import type { WholeSystem } from '../test/support/whole-system.ts';
import { configurationWith, withSystem } from './harness/configuration.ts';
import { type SmscPeer, startSmscPeer } from './harness/smsc-peer.ts';
import { latencyFigures } from './harness/latency-figures.ts';
import { type BenchResult, zero } from './harness/report.ts';
import { type Attack, type AttackResult, type AttackTask, attackNames, attacks } from './load/attack-process.ts';
import { runChild } from './load/child.ts';
import type { LoadResult, LoadTask } from './load/http-load.ts';
import { jsonClient } from './load/json-client.ts';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';

const otpPerSecond = 50;
const slowerMax = 1.5;
const warmUpSeconds = 8;
/** What the attacks of the warm-up left in the heaps is collected before the first measurement. */
const settleSeconds = 60;
/** Warm-up of each attack: first executions are not measured. */
const attackWarmUpSeconds = 1;
const drainedWithinMs = 90_000;
/** Before each attack, for each second of it. */
const aloneShare = 1 / 3;
/** The attack runs before the first OTP beside it is counted. */
const leadSeconds = 1;
const noncesPerPhase = 1_000_000;
const carriers = [
  { name: 'own', prefix: '13', tps: 1_000 },
  { name: 'crowd', prefix: '17', tps: 500 },
] as const;

export const bench: Bench<'seconds' | 'only' | 'seed'> = {
  about: `one account's ${otpPerSecond} OTP/s, alone and beside what another account or a stranger may do`,
  takes: 'about nine minutes',
  options: {
    seconds: { about: 'seconds beside each attack; a third of it alone before each', default: 30 },
    only: { about: 'the attacks to run', parts: attacks },
    seed: seedOption,
  },
  targets: ({ only }) => [
    ...zero('alone_not_202', 'alone_lost'),
    ...only.flatMap((attack) => [
      { figure: `${attack}_times_alone`, op: '<=' as const, bound: slowerMax },
      ...zero(`${attack}_not_202`, `${attack}_lost`),
    ]),
  ],
  run,
};

async function run({ seconds, seed, only }: BenchOptions<'seconds' | 'only' | 'seed'>): Promise<BenchResult> {
  const chosen = attackNames.filter((attack) => only.includes(attack));
  const smscPeers = {
    own: await startSmscPeer('own'),
    crowd: await startSmscPeer('crowd', { tps: 500, takesIdleTime: true }),
  };
  return withSystem(configurationWith(carriers, smscPeers), smscPeers, (system) =>
    measure(system, smscPeers.own, chosen, seconds, seed),
  );
}

async function measure(
  system: WholeSystem,
  smscPeer: SmscPeer,
  chosen: readonly Attack[],
  seconds: number,
  seed: number,
): Promise<BenchResult> {
  const key = await otherAccount(system);
  let phases = 0;
  const otp = (forSeconds: number, times: Times) => {
    phases += 1;
    return offerOtp(system, smscPeer, { forSeconds, seed, firstNonce: phases * noncesPerPhase }, times);
  };
  const start = (attack: Attack, forSeconds: number) => {
    const task = { attack, port: system.httpPort, key, seconds: forSeconds };
    return runChild<AttackTask, AttackResult>('attack-process.ts', task, (forSeconds + 60) * 1_000);
  };
  await otp(warmUpSeconds, newTimes());
  for (const attack of chosen) await start(attack, attackWarmUpSeconds);
  await drained(system);
  await otp(settleSeconds, newTimes());

  const aloneTimes = newTimes();
  const alone = { not202: 0, lost: 0 };
  const figuresOf: Record<string, number> = {};
  for (const attack of chosen) {
    await drained(system);
    const before = await otp(Math.ceil(seconds * aloneShare), aloneTimes);
    alone.not202 += before.not202;
    alone.lost += before.lost;
    const besideTimes = newTimes();
    const attacking = start(attack, seconds + 2 * leadSeconds);
    const { not202, lost } = await otp(seconds, besideTimes);
    const { sent, statuses } = await attacking;
    process.stderr.write(`${attack}: ${sent} sent, answers ${JSON.stringify(statuses)}\n`);
    Object.assign(figuresOf, {
      ...latencyFigures(`${attack}_submit`, besideTimes.submit.summary(), ['p99']),
      ...latencyFigures(`${attack}_whole`, besideTimes.whole.summary(), ['p99']),
      [`${attack}_not_202`]: not202,
      [`${attack}_lost`]: lost,
      [`${attack}_sent`]: sent,
      [`${attack}_refused`]: (statuses['429'] ?? 0) + (statuses['401'] ?? 0) + (statuses['422'] ?? 0),
    });
  }
  const figures: Record<string, number> = {
    ...latencyFigures('alone_submit', aloneTimes.submit.summary(), ['p50', 'p99']),
    ...latencyFigures('alone_whole', aloneTimes.whole.summary(), ['p50', 'p99']),
    alone_not_202: alone.not202,
    alone_lost: alone.lost,
    ...figuresOf,
  };
  for (const attack of chosen) {
    const { [`${attack}_submit_p99_ms`]: besideMs = Number.NaN, alone_submit_p99_ms: aloneMs = Number.NaN } = figures;
    figures[`${attack}_times_alone`] = besideMs / aloneMs;
  }
  return {
    load: `open loop, ${otpPerSecond} OTP/s of one account for ${seconds} s beside each of ${chosen.length} attacks and a third of it alone before, one ingress thread`,
    figures,
  };
}

/** Resolves when no accepted message waits for a carrier. */
async function drained(system: WholeSystem): Promise<void> {
  const waiting = ['stream_waiting_messages', 'carrier_overflow_waiting', 'carrier_oldest_waiting_seconds'];
  const isEmpty = async () => {
    const values = await Promise.all(waiting.map((name) => system.metric(`heliograph_${name}`)));
    return values.every((value) => value === 0);
  };
  await until('nothing waits', isEmpty, { limitMs: drainedWithinMs, everyMs: 500 });
}

/** `submit`: from acceptance to the SMSC peer; `whole`: from the intended send time. */
type Times = { readonly submit: LatencyHistogram; readonly whole: LatencyHistogram };

const newTimes = (): Times => ({ submit: new LatencyHistogram(), whole: new LatencyHistogram() });

type Offer = { readonly forSeconds: number; readonly seed: number; readonly firstNonce: number };

/** Sends the account's OTP and adds what each took to `times`. */
async function offerOtp(
  system: WholeSystem,
  smscPeer: SmscPeer,
  { forSeconds, seed, firstNonce }: Offer,
  times: Times,
): Promise<{ readonly not202: number; readonly lost: number }> {
  const task: LoadTask = {
    port: system.httpPort,
    key: system.keys.liveKey,
    ratePerSecond: otpPerSecond,
    seconds: forSeconds,
    seed: seed + firstNonce,
    connections: 16,
    recipientPrefix: '13',
    sender: 'HELIOGRAPH',
    category: 'otp',
    firstNonce,
    timed: true,
  };
  const load = await runChild<LoadTask, LoadResult>('http-load.ts', task, (forSeconds + 60) * 1_000);
  const nonces = [...load.acceptedNonces];
  const haveCome = async () => {
    const come = await smscPeer.arrivals();
    return nonces.every((nonce) => come.has(nonce));
  };
  await until('every accepted OTP at the SMSC peer', haveCome, { limitMs: 30_000, everyMs: 100 }).catch(
    (error: unknown) => ignoring(error, 'what has not come is counted as lost'),
  );
  const arrivals = await smscPeer.arrivals();
  const intendedUs = (index: number) => load.lastIntendedUs - ((load.offered - 1 - index) * 1e6) / otpPerSecond;
  for (let index = 0; index < load.offered; index += 1) {
    const arrival = arrivals.get(firstNonce + index);
    if (arrival === undefined) continue;
    times.whole.add(arrival.atUs - intendedUs(index));
    const acceptedAtMs = load.acceptedAtMs[index] ?? 0;
    if (acceptedAtMs > 0) times.submit.add(arrival.atUs - acceptedAtMs * 1_000);
  }
  const not202 = load.offered - load.accepted;
  if (not202 > 0) process.stderr.write(`OTP were answered ${JSON.stringify(load.statuses)}\n`);
  const lost = nonces.filter((nonce) => !arrivals.has(nonce)).length;
  return { not202, lost };
}

/** Another account with an approved sender and a content rule, so that its texts are read. Returns its key. */
async function otherAccount(system: WholeSystem): Promise<string> {
  const cli = async (...words: string[]) => JSON.parse(await system.cli(...words, '--json')) as Record<string, string>;
  const account = await cli('accounts', 'create', '--name', 'Crowd');
  const { key = '' } = await cli('keys', 'create', '--account', account['id'] ?? '');
  const client = jsonClient(system.httpPort, key);
  // The key was created just now.
  const call = (method: string, path: string, body: object) =>
    until(`${method} ${path}`, async () => {
      const reply = await client(path, body, method);
      return reply.status >= 200 && reply.status < 300 && reply.body;
    });
  const sender = await call('POST', '/v1/senders', { name: 'CROWD' });
  await system.cli('senders', 'approve', String(sender['id']));
  const content_rules = { words: ['a a a a a b'], links_denied: ['blocked.example'], links_allowed: [] };
  await call('PATCH', '/v1/account/settings', { content_rules });
  return key;
}
