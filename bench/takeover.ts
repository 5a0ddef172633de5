// A node dies with its binds: how long until other nodes have opened them, and how long the OTP waited that came
// before, meanwhile and after. Real processes on a cluster of three real nats-servers; kill -9 without a restart, which
// looks from outside like the loss of a machine, except that its kernel still resets the sessions.
import { type Bus, connectBus } from '../cluster/bus/connect.ts';
import type { AccountId } from '../model/ids.ts';
import { systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { limits } from '../platform/limits.ts';
import { type HostChild, nodeNamed, startHostChild } from '../test/support/host-process.ts';
import { statesOf } from '../test/support/invariant.ts';
import { type NatsCluster, startNatsCluster } from '../test/support/nats-cluster.ts';
import { carrierAt, openLoad } from './harness/carrier-link.ts';
import { type SmscPeer, startSmscPeer } from './harness/smsc-peer.ts';
import { median } from './harness/latency-figures.ts';
import { type BenchResult, zero } from './harness/report.ts';
import { offerToBus } from './load/bus-load.ts';
import type { Bench, BenchOptions } from './harness/bench.ts';

const otpRate = 50;
const tps = 300;
const killAfterMs = 2_000;
const settledMs = 2_500;
const roundsDefault = 5;
const accounts = Array.from(
  { length: 20 },
  (_, at) => `acc_01JABCDEFGHJKMNPQRSTVWX${String(at).padStart(3, '0')}` as AccountId,
);
/** The names of nodes and how many binds they share. */
const shapes = { one_bind: { binds: 1, nodes: 2 }, three_binds: { binds: 3, nodes: 3 } } as const;
type Shape = { readonly binds: number; readonly nodes: number };
type Round = {
  readonly movedMs: number;
  readonly worstMs: number;
  readonly sent: number;
  /** Never arrived, and reported as unknown: those with an intent when the node died. */
  readonly unknown: number;
  /** Never arrived and not reported: must be 0. */
  readonly lost: number;
};

export const bench: Bench<'seconds' | 'count'> = {
  about: 'binds and OTP of a node that is killed: until they are at others',
  takes: 'about five minutes',
  options: {
    seconds: { about: `seconds of OTP in each round; the node is killed after ${killAfterMs / 1_000}`, default: 12 },
    count: { about: 'rounds of each shape: one bind at two nodes, three binds at three', default: roundsDefault },
  },
  targets: () => [
    ...Object.keys(shapes).flatMap((name) => [
      { figure: `${name}_binds_moved_max_ms`, op: '<=' as const, bound: 15_000 },
      { figure: `${name}_otp_worst_max_ms`, op: '<=' as const, bound: 5_000 },
    ]),
    ...zero('lost', 'throttled', 'duplicated'),
  ],
  run,
};

async function run({ seconds, count }: BenchOptions<'seconds' | 'count'>): Promise<BenchResult> {
  const cluster = await startNatsCluster();
  const bus = await connectBus(cluster.url(), 'bench');
  const figures: Record<string, number> = {};
  const total = { otp_sent: 0, otp_unknown: 0, lost: 0, throttled: 0, duplicated: 0 };
  try {
    for (const [name, shape] of Object.entries(shapes)) {
      const rounds: Round[] = [];
      for (let nth = 0; nth < count; nth += 1) {
        const smscPeer = await startSmscPeer('bench', { tps, responseMs: 'fixed:10', latencyMs: 'fixed:100' });
        try {
          rounds.push(await oneRound({ cluster, bus, smscPeer, shape, carrier: `${name}-${nth}`, seconds }));
          const { submits, nonces } = await smscPeer.stats();
          total.throttled += submits.throttled;
          total.duplicated += nonces.duplicated;
        } finally {
          await smscPeer.stop();
        }
      }
      total.otp_sent += rounds.reduce((sum, { sent }) => sum + sent, 0);
      total.otp_unknown += rounds.reduce((sum, { unknown }) => sum + unknown, 0);
      total.lost += rounds.reduce((sum, { lost }) => sum + lost, 0);
      addFigures(figures, name, rounds);
    }
  } finally {
    await bus.close();
    await cluster.stop();
  }
  return {
    load: `${otpRate} OTP/s to one carrier; after ${killAfterMs / 1_000} s a node with a bind is killed; ${count} rounds each`,
    figures: { ...figures, ...total },
  };
}

type RoundParts = {
  readonly cluster: NatsCluster;
  readonly bus: Bus;
  readonly smscPeer: SmscPeer;
  readonly shape: Shape;
  readonly carrier: string;
  readonly seconds: number;
};

async function oneRound({ cluster, bus, smscPeer, shape, carrier, seconds }: RoundParts): Promise<Round> {
  const config = carrierAt(smscPeer, { name: carrier, tps, window: 20, binds: shape.binds });
  const { load, close } = openLoad(bus, carrier);
  const nodes: HostChild[] = [];
  try {
    for (let nth = 0; nth < shape.nodes; nth += 1) {
      const shared = nodeNamed(`${carrier}-n${nth}`, 3);
      nodes.push(await startHostChild(cluster.url(nth), [config], { shared }));
      // The first node has the only bind, and keeps it; three are distributed when nothing moves any more.
      await until('the binds are open', async () => (await smscPeer.stats()).binds.now === shape.binds);
    }
    await quiet(smscPeer);
    const count = otpRate * seconds;
    const offered = offerToBus({
      ...load,
      category: 'otp',
      accounts,
      count,
      ratePerSecond: otpRate,
      firstNonce: 1,
    });
    await systemClock.sleep(killAfterMs);
    await nodes[0]?.kill9();
    const killedAtMs = systemClock.monotonicMs();
    await until('its sessions are gone', async () => (await smscPeer.stats()).binds.now < shape.binds, { everyMs: 2 });
    await until('its binds are open elsewhere', async () => (await smscPeer.stats()).binds.now === shape.binds, {
      limitMs: 30_000,
      everyMs: 5,
    });
    const movedMs = systemClock.monotonicMs() - killedAtMs;
    const { intendedUs, messageIds } = await offered;
    // What had an intent when the node died is unknown and never comes: the rest has arrived long before.
    await systemClock.sleep(2 * limits.leases.expireAfterMs);
    const arrivals = await smscPeer.arrivals();
    const waitedMs = Array.from({ length: count }, (_, n) => arrivals.get(n + 1)).flatMap((arrival, n) =>
      arrival === undefined ? [] : [(arrival.atUs - intendedUs(n)) / 1_000],
    );
    const never = messageIds.filter((_, n) => !arrivals.has(n + 1));
    const states = await statesOf(bus);
    const unknown = never.filter((id) => states.get(id)?.status === 'unknown').length;
    return { movedMs, worstMs: Math.max(...waitedMs), sent: count, unknown, lost: never.length - unknown };
  } finally {
    for (const { process, kill9 } of nodes) if (process.signalCode === null && process.exitCode === null) await kill9();
    close();
  }
}

/** No session was opened for a while. */
async function quiet(smscPeer: SmscPeer): Promise<void> {
  let seen = -1;
  let sinceMs = 0;
  const isQuiet = async () => {
    const { total } = (await smscPeer.stats()).binds;
    if (total !== seen) sinceMs = systemClock.monotonicMs();
    seen = total;
    return systemClock.monotonicMs() - sinceMs > settledMs;
  };
  await until('no bind moves any more', isQuiet, { limitMs: 30_000, everyMs: 100 });
}

function addFigures(figures: Record<string, number>, name: string, rounds: readonly Round[]): void {
  const moved = rounds.map(({ movedMs }) => movedMs);
  const worst = rounds.map(({ worstMs }) => worstMs);
  figures[`${name}_binds_moved_median_ms`] = median(moved);
  figures[`${name}_binds_moved_max_ms`] = Math.max(...moved);
  figures[`${name}_otp_worst_median_ms`] = median(worst);
  figures[`${name}_otp_worst_max_ms`] = Math.max(...worst);
}
