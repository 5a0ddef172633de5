// Pacing at the contract's limit: a carrier of 10, 100, 1,000 and 5,000 segments per second, each against a simulator
// that counts any second, wherever it begins, and throttles the excess. More is offered than the contract, from idle;
// then the actors' event loop is blocked for two seconds, and everything it missed must not come in a burst. The
// achieved rate is counted at the SMSC peer, over the given seconds from the first arrival after idle or the stall.
import type { AccountId } from '../model/ids.ts';
import { systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { type CarrierLink, openCarrierLink } from './harness/carrier-link.ts';
import type { Arrival } from './harness/smsc-peer.ts';
import { type BenchResult, zero } from './harness/report.ts';
import { offerToBus } from './load/bus-load.ts';
import type { Bench, BenchOptions } from './harness/bench.ts';

const contractsDefault = [10, 100, 1_000, 5_000];
const stallMs = 2_000;
const idleMs = 2_000;
/** Enough to stay ahead of the contract, little enough to leave the machine to what is measured. */
const offeredShare = 1.1;
const account = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId;

export const bench: Bench<'seconds' | 'contracts'> = {
  about: `the rate achieved at contracts of ${contractsDefault.join(', ')} per second, from idle and after a stall`,
  takes: 'about three minutes',
  options: {
    seconds: { about: 'seconds in which the rate is counted, from idle and again after the stall', default: 15 },
    contracts: { about: 'segments a second of the carriers, one carrier after the other', default: contractsDefault },
  },
  targets: ({ contracts }) => [
    ...contracts.flatMap(figuresOf).map((figure) => ({ figure, op: '>=' as const, bound: 97 })),
    ...zero('throttled', 'lost', 'duplicated'),
  ],
  run,
};

/** Figures: what was sent of what a contract allows, in percent. */
function figuresOf(tps: number): readonly [idle: string, afterStall: string] {
  return [`contract_${tps}_share_percent`, `contract_${tps}_after_stall_share_percent`];
}

async function run({ seconds, contracts }: BenchOptions<'seconds' | 'contracts'>): Promise<BenchResult> {
  const figures: Record<string, number> = {};
  const total = { throttled: 0, lost: 0, duplicated: 0 };
  for (const tps of contracts) {
    const link = await openCarrierLink({ tps, window: 500, responseMs: 'uniform:1,10', latencyMs: 'fixed:200' });
    try {
      const found = await measure(link, tps, seconds);
      const [idle, afterStall] = figuresOf(tps);
      figures[idle] = found.shares.idle;
      figures[afterStall] = found.shares.afterStall;
      figures[`contract_${tps}_peak_per_s`] = found.peakPerS;
      for (const each of ['throttled', 'lost', 'duplicated'] as const) total[each] += found[each];
    } finally {
      await link.stop();
    }
  }
  return {
    load: `${offeredShare} × the contract, open loop; ${seconds} s from idle, a stall of ${stallMs / 1_000} s, ${seconds} s after it`,
    figures: { ...figures, ...total },
  };
}

async function measure(link: CarrierLink, tps: number, seconds: number) {
  const host = await link.startActors();
  await systemClock.sleep(idleMs);
  const offeredSeconds = seconds * 2 + stallMs / 1_000 + 2;
  const count = Math.ceil(tps * offeredShare * offeredSeconds);
  const offered = offerToBus({
    ...link.load,
    category: 'transactional',
    accounts: [account],
    count,
    ratePerSecond: tps * offeredShare,
    firstNonce: 1,
  });
  await systemClock.sleep((seconds + 1) * 1_000);
  host.stallThread(0, stallMs);
  const { accepted } = await offered;
  await until('all have come', async () => (await link.smscPeer.stats()).nonces.distinct >= accepted, {
    limitMs: (offeredSeconds + 30) * 1_000,
    everyMs: 250,
  });
  const [{ nonces, submits }, arrivals] = [await link.smscPeer.stats(), await link.smscPeer.arrivals()];
  return {
    shares: sharesOf(arrivals, tps, seconds),
    peakPerS: submits.peakPerS,
    throttled: submits.throttled,
    lost: accepted - nonces.distinct,
    duplicated: nonces.duplicated,
  };
}

/** The stall is the longest silence at the SMSC peer. */
function sharesOf(arrivals: ReadonlyMap<number, Arrival>, tps: number, seconds: number) {
  const timesUs = [...arrivals.values()].map((each) => each.atUs).toSorted((one, other) => one - other);
  let resumed = 0;
  let silenceUs = 0;
  for (let at = 1; at < timesUs.length; at += 1) {
    const gapUs = (timesUs[at] as number) - (timesUs[at - 1] as number);
    if (gapUs > silenceUs) [resumed, silenceUs] = [at, gapUs];
  }
  const shareFrom = (first: number) => {
    const endUs = (timesUs[first] ?? 0) + seconds * 1e6;
    // A window that the offered load does not fill says nothing about the pacing.
    if ((timesUs.at(-1) ?? 0) < endUs) return Number.NaN;
    const within = timesUs.filter((atUs, at) => at > first && atUs <= endUs).length;
    return (within / (tps * seconds)) * 100;
  };
  return { idle: shareFrom(0), afterStall: silenceUs > stallMs * 500 ? shareFrom(resumed) : Number.NaN };
}
