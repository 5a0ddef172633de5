// OTP under load: one account's promotional backlog keeps a carrier at its contract while several accounts send OTP,
// that account too; then one account floods the OTP lane itself, ten times as fast as the carrier accepts, and the
// others still send theirs. Measured at the SMSC peer by nonce, from the intended time of each OTP. Accounts that share
// a shard with the flood are reported separately: only the move of its excess to overflow protects them.
import type { AccountId } from '../model/ids.ts';
import { until } from '../platform/deadline.ts';
import { limits } from '../platform/limits.ts';
import { LatencyHistogram } from '../smpp/simulator/latency-histogram.ts';
import { newAccountInShard } from '../test/support/account-in-shard.ts';
import { type CarrierLink, openCarrierLink, openLoad } from './harness/carrier-link.ts';
import { latencyFigures } from './harness/latency-figures.ts';
import { servedPerS } from './harness/rates.ts';
import { type BenchResult, zero } from './harness/report.ts';
import { type BusLoadResult, offerToBus } from './load/bus-load.ts';
import { type Bench, type BenchOptions, withStarted } from './harness/bench.ts';

const tps = 1_000;
const window = 50;
const otpRateDefault = 100;
const floodRate = tps * 10;
/** The flood must be several times what the carrier accepts; otherwise the generator could not offer it. */
const floodOfferedMin = tps * 5;
const backlogDefault = 100_000;
const steadyAfterSeconds = 3;
const nonces = { backlog: 1, otp: 10_000_000, flood: 20_000_000, others: 30_000_000 };

export const bench: Bench<'seconds' | 'count' | 'rate'> = {
  about: 'OTP of several accounts behind a promotional backlog, and beside a flood of OTP',
  takes: 'about two minutes',
  options: {
    seconds: { about: 'seconds of OTP in each of the two parts', default: 20 },
    count: { about: 'promotional messages in the backlog', default: backlogDefault },
    rate: { about: 'OTP a second', default: otpRateDefault },
  },
  targets: () => [
    { figure: 'otp_accept_to_submit_p999_ms', op: '<=', bound: 100 },
    { figure: 'flood_others_p999_ms', op: '<=', bound: 100 },
    { figure: 'flood_same_shard_p999_ms', op: '<=', bound: 100 },
    { figure: 'carrier_rate_per_s', op: '>=', bound: tps * 0.9 },
    { figure: 'flood_offered_per_s', op: '>=', bound: floodOfferedMin },
    ...zero('backlog_refused', 'flood_refused', 'throttled', 'lost', 'duplicated'),
  ],
  run,
};

async function run({ seconds, count, rate }: BenchOptions<'seconds' | 'count' | 'rate'>): Promise<BenchResult> {
  const link = openCarrierLink({ tps, window, responseMs: 'lognormal:30,0.5', latencyMs: 'fixed:500' });
  return withStarted(link, (opened) => measure(opened, { seconds, count, otpRate: rate }));
}

type Wanted = { readonly seconds: number; readonly count: number; readonly otpRate: number };

async function measure(link: CarrierLink, { seconds, count, otpRate }: Wanted): Promise<BenchResult> {
  const others = accountOfEachShard();
  const flooding = accountOfEachShard()[0] as AccountId;
  const accounts = [flooding, ...others];
  const backlog = await offerToBus({
    ...link.load,
    category: 'promotional',
    accounts: [flooding],
    count,
    ratePerSecond: Number.POSITIVE_INFINITY,
    firstNonce: nonces.backlog,
  });
  await link.startActors();
  await until('the carrier is at its contract', async () => isSteady((await link.smscPeer.stats()).submits), {
    limitMs: 30_000,
  });

  const otpCount = Math.round(otpRate * seconds);
  const otp = { ...link.load, category: 'otp' as const, count: otpCount, ratePerSecond: otpRate };
  const behind = await offerToBus({ ...otp, accounts, firstNonce: nonces.otp });

  const floodCount = tps * (seconds + 2);
  // Entry points give each account a share of their publish slots: the flood has slots of its own.
  const ofFlood = openLoad(link.bus, link.carrier);
  const flood = offerToBus({
    ...otp,
    ...ofFlood.load,
    accounts: [flooding],
    count: floodCount,
    ratePerSecond: floodRate,
    firstNonce: nonces.flood,
  });
  const beside = await offerToBus({ ...otp, accounts: others, firstNonce: nonces.others });
  const { accepted: floodAccepted, offeredPerS: floodOfferedPerS } = await flood.finally(ofFlood.close);
  const wanted = [...noncesFrom(nonces.otp, otpCount), ...noncesFrom(nonces.others, otpCount)];
  await until('every OTP has come', async () => hasAll(await link.smscPeer.arrivals(), wanted), {
    limitMs: (seconds + 60) * 1_000,
    everyMs: 1_000,
  });

  const arrivals = await link.smscPeer.arrivals();
  const { submits, nonces: counted } = await link.smscPeer.stats();
  const latencies = (load: BusLoadResult, firstNonce: number, of: (n: number) => boolean) => {
    const histogram = new LatencyHistogram();
    for (let n = 0; n < otpCount; n += 1) {
      const arrival = arrivals.get(firstNonce + n);
      if (arrival !== undefined && of(n)) histogram.add(arrival.atUs - load.intendedUs(n));
    }
    return histogram.summary();
  };
  const carrierUs = [...arrivals.values()]
    .map(({ atUs }) => atUs)
    .filter((atUs) => atUs >= behind.intendedUs(0) && atUs <= behind.intendedUs(otpCount - 1));
  const all = latencies(behind, nonces.otp, () => true);
  const own = latencies(behind, nonces.otp, (n) => n % accounts.length === 0);
  const besideIts = latencies(behind, nonces.otp, (n) => n % accounts.length === 1);
  const sharesShard = (n: number) => n % others.length === 0;
  const elsewhere = latencies(beside, nonces.others, (n) => !sharesShard(n));
  const neighbours = latencies(beside, nonces.others, sharesShard);
  return {
    load: `a backlog of ${backlog.accepted} promotional messages at ${tps}/s, ${otpRate} OTP/s of ${accounts.length} accounts; then ${floodCount} OTP of one account at ${floodRate}/s beside them`,
    figures: {
      ...latencyFigures('otp_accept_to_submit', all, ['p50', 'p99', 'p999', 'max']),
      ...latencyFigures('own_account', own, ['p999']),
      ...latencyFigures('same_shard', besideIts, ['p999']),
      ...latencyFigures('flood_others', elsewhere),
      ...latencyFigures('flood_same_shard', neighbours),
      carrier_rate_per_s: servedPerS(carrierUs),
      flood_offered_per_s: floodOfferedPerS,
      backlog_refused: count - backlog.accepted,
      flood_refused: floodCount - floodAccepted,
      throttled: submits.throttled,
      lost: wanted.length - wanted.filter((nonce) => arrivals.has(nonce)).length,
      duplicated: counted.duplicated,
    },
  };
}

/** The target is a campaign in progress: a process that has just begun learns its carrier first. */
function isSteady({ accepted, lastPerS }: { accepted: number; lastPerS: number }): boolean {
  return accepted > steadyAfterSeconds * tps && lastPerS > tps * 0.9;
}

/** New accounts, one in each shard, the first in shard 0. */
function accountOfEachShard(): AccountId[] {
  return Array.from({ length: limits.bus.accountShards }, (_, shard) => newAccountInShard(shard));
}

function noncesFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, n) => first + n);
}

function hasAll(arrivals: ReadonlyMap<number, unknown>, wanted: readonly number[]): boolean {
  return wanted.every((nonce) => arrivals.has(nonce));
}
