// The time that all machines on one NATS agree on. Once a second each machine compares the timestamp of a record by the
// nats-server with its monotonic time, and receives the findings of the others. `nowMs` follows the server's clock, or
// that of most machines when the server's is wrong; a step of this machine's wall clock does not move it. A machine
// whose wall clock is more than a second off reports so, and roles check `agrees` before they serve.
import { withDeadline } from '../../platform/deadline.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Bus } from './connect.ts';
import { openBucket } from './ensure.ts';
import { broadcast } from './heartbeat.ts';
import { streamOfBucket, subjectInBucket } from './streams.ts';

export type ClusterClock = Clock & {
  /** False: this machine's clock differs from the others', or that is not known yet. It accepts no work then. */
  readonly agrees: boolean;
  stop(): void;
};

type ClusterClockOptions = {
  /** The name of this node among those that share the bus. */
  readonly node: string;
  readonly replicas?: number;
  readonly clock?: Clock;
};

type ClockOffset = { readonly node: string; readonly offsetMs: number };
const clockOffsets = broadcast<ClockOffset>('notify.clocks', limits.heartbeats.bytesMax, ({ node, offsetMs }) =>
  typeof node === 'string' && typeof offsetMs === 'number' && Number.isFinite(offsetMs) ? { node, offsetMs } : null,
);
const { everyMs, askMs, offMsMax, staleMs, roundsToBelieve, nodesMax, roundTripMsMax, firstLooksMax } =
  limits.clusterClock;

/** For a single machine: the nats-server uses the same clock. */
export function ownClock(): ClusterClock {
  return { ...systemClock, agrees: true, stop() {} };
}

/**
 * Resolves after the first comparison, whatever its result. On a busy machine answers may be too late to be useful: then
 * it compares again, up to firstLooksMax times, and `agrees` stays false until one is in time.
 */
export async function clusterClock(
  bus: Bus,
  { node: ownNode, replicas = 1, clock = systemClock }: ClusterClockOptions,
): Promise<ClusterClock> {
  const reported = new Map<string, { readonly offsetMs: number; readonly atMs: number }>();
  /** The cluster's time less monotonic time; null until it is known. */
  let aheadOfMonotonicMs: number | null = null;
  /** Consecutive comparisons that found another time, or another verdict. */
  let otherTimes = 0;
  let otherVerdicts = 0;
  let judged = false;
  let agrees = false;
  let serverWrong = false;
  let looking = false;
  let stopped = false;

  /** Without an answer the last state stays: monotonic time goes on. */
  async function look(): Promise<void> {
    if (looking || stopped || !bus.connected()) return;
    looking = true;
    try {
      const stamp = await serverStamp(bus, ownNode, clock);
      if (stamp !== null && !stopped) judge(stamp);
    } catch (error) {
      ignoring(error, `the server's clock cannot be read for now: ${messageOf(error)}`);
    } finally {
      looking = false;
    }
  }

  function judge({ fromMs, toMs }: Stamp): void {
    const monotonicMs = clock.monotonicMs();
    const offsetMs = (fromMs + toMs) / 2 + monotonicMs - clock.nowMs();
    reported.set(ownNode, { offsetMs, atMs: monotonicMs });
    clockOffsets.publish(bus, { node: ownNode, offsetMs });
    for (const [node, { atMs }] of reported) if (monotonicMs - atMs > staleMs) reported.delete(node);

    const serverMs = serverAheadMs([...reported.values()].map((each) => each.offsetMs));
    const isServerWrong = Math.abs(serverMs) > offMsMax;
    follow(fromMs, toMs, isServerWrong ? serverMs : 0);
    const ownAheadMs = serverMs - offsetMs;
    metrics.clockOffset.set(ownAheadMs / 1_000);
    become(Math.abs(ownAheadMs) <= offMsMax + (toMs - fromMs) / 2, ownAheadMs);
    if (isServerWrong === serverWrong) return;
    serverWrong = isServerWrong;
    const facts = { aheadSeconds: serverMs / 1_000, machines: reported.size };
    if (isServerWrong)
      log.error({ alarm: 'server_clock_wrong', ...facts }, 'the nats-server’s clock is wrong: most machines agree');
    else log.warn(facts, 'the nats-server’s clock is right again');
  }

  /** Corrects as little as the timestamp requires; jumps only when several comparisons in a row require it. */
  function follow(fromMs: number, toMs: number, lessMs: number): void {
    const [lowMs, highMs] = [fromMs - lessMs, toMs - lessMs];
    if (aheadOfMonotonicMs === null) {
      aheadOfMonotonicMs = (lowMs + highMs) / 2;
      return;
    }
    const nextMs = Math.min(highMs, Math.max(lowMs, aheadOfMonotonicMs));
    otherTimes = Math.abs(nextMs - aheadOfMonotonicMs) > offMsMax ? otherTimes + 1 : 0;
    if (otherTimes > 0 && otherTimes < roundsToBelieve) return;
    otherTimes = 0;
    aheadOfMonotonicMs = nextMs;
  }

  function become(verdict: boolean, ownAheadMs: number): void {
    const isFirst = !judged;
    judged = true;
    if (!isFirst && verdict === agrees) {
      otherVerdicts = 0;
      return;
    }
    otherVerdicts += 1;
    // One comparison may coincide with a change at the others; the first one is used at once.
    if (!isFirst && otherVerdicts < roundsToBelieve) return;
    otherVerdicts = 0;
    agrees = verdict;
    const facts = { node: ownNode, aheadSeconds: ownAheadMs / 1_000 };
    if (!agrees)
      log.error(
        { alarm: 'clock_wrong', ...facts },
        'this machine’s clock differs from the others’: it accepts no work until they agree',
      );
    else if (!isFirst) log.warn(facts, 'this machine’s clock agrees again: it accepts work');
  }

  const stopHearing = clockOffsets.watch(bus, ({ node, offsetMs }) => {
    if (node === ownNode || (reported.size >= nodesMax && !reported.has(node))) return;
    reported.set(node, { offsetMs, atMs: clock.monotonicMs() });
  });
  await openBucket(bus, 'clock', replicas);
  for (let looks = 0; !judged && looks < firstLooksMax; looks += 1) await look();
  const stopLooking = clock.every(everyMs, () => void look());
  return {
    ...clock,
    nowMs: () => (aheadOfMonotonicMs === null ? clock.nowMs() : Math.round(clock.monotonicMs() + aheadOfMonotonicMs)),
    get agrees() {
      return agrees;
    },
    stop() {
      stopped = true;
      stopHearing();
      stopLooking();
    },
  };
}

/** The bounds of the server's time less monotonic time. */
type Stamp = { readonly fromMs: number; readonly toMs: number };

/** Null when the answer took too long to be useful. Needs the bucket. */
async function serverStamp(bus: Bus, key: string, clock: Clock): Promise<Stamp | null> {
  const beganMs = clock.monotonicMs();
  const ack = await bus.jetstream.publish(subjectInBucket('clock', key), new Uint8Array(1), { timeout: askMs });
  const endedMs = clock.monotonicMs();
  if (endedMs - beganMs > roundTripMsMax) return null;
  const stored = await withDeadline(
    'the timestamp of a record',
    askMs,
    bus.manager.streams.getMessage(streamOfBucket('clock'), { seq: ack.seq }),
  );
  if (stored === null) return null;
  const serverMs = stored.time.getTime();
  // The timestamp is truncated to milliseconds.
  return { fromMs: serverMs - endedMs, toMs: serverMs + 1 - beganMs };
}

/** This machine's wall clock less the server's, in milliseconds, for people; null when unknown. */
export async function aheadOfServerMs(bus: Bus, clock: Clock = systemClock): Promise<number | null> {
  const stamp = await serverStamp(bus, 'doctor', clock);
  if (stamp === null) return null;
  return clock.nowMs() - clock.monotonicMs() - (stamp.fromMs + stamp.toMs) / 2;
}

/**
 * Which clock is right: every machine votes with its offset, the server itself with 0, and the median counts; of two
 * middle values the one nearer to the server. `offsets`: the server's clock minus each machine's, in ms. Returns the
 * server's clock minus the right one, in ms.
 */
export function serverAheadMs(offsets: readonly number[]): number {
  const votes = [0, ...offsets].sort((one, other) => one - other);
  const middle = votes.length >> 1;
  const upper = votes[middle] ?? 0;
  if (votes.length % 2 === 1) return upper;
  const lower = votes[middle - 1] ?? 0;
  return Math.abs(lower) <= Math.abs(upper) ? lower : upper;
}
