// The time that all machines on one NATS agree on. Once a second each machine compares the timestamp of a record by the
// nats-server with its monotonic time, and receives the findings of the others. `nowMs` follows the server's clock, or
// that of most machines when the server's is wrong; a step of this machine's wall clock does not move it. A machine
// whose wall clock is more than a second off reports so, and roles check `agrees` before they serve.
import { withDeadline } from '../../platform/deadline.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
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

const clockOffsetSubject = 'notify.clocks';
type ClockOffset = { readonly node: string; readonly offsetMs: number };
const clockOffsets = broadcast<ClockOffset>(limits.heartbeats.bytesMax, ({ node, offsetMs }) =>
  typeof node === 'string' && typeof offsetMs === 'number' && Number.isFinite(offsetMs) ? { node, offsetMs } : null,
);
const { everyMs, askMs, offMsMax, staleMs, roundsToBelieve, nodesMax, roundTripMsMax } = limits.clusterClock;

type Reported = { readonly offsetMs: number; readonly atMs: number };

/** For a single machine: the nats-server uses the same clock. */
export function ownClock(clock: Clock = systemClock): ClusterClock {
  return { ...clock, agrees: true, stop() {} };
}

/** Resolves after the first comparison, whatever its result. */
export async function clusterClock(bus: Bus, options: ClusterClockOptions): Promise<ClusterClock> {
  const clock = new FollowedClock(bus, options);
  await clock.start();
  return clock;
}

class FollowedClock implements ClusterClock {
  readonly #bus: Bus;
  readonly #node: string;
  readonly #replicas: number;
  readonly #clock: Clock;
  readonly #reported = new Map<string, Reported>();
  readonly #cancels: Cancel[] = [];
  /** The cluster's time less monotonic time; null until it is known. */
  #aheadMs: number | null = null;
  /** Consecutive comparisons that found another time, or another verdict. */
  #otherTimes = 0;
  #otherVerdicts = 0;
  #judged = false;
  #agrees = false;
  #serverWrong = false;
  #looking = false;
  #stopped = false;

  constructor(bus: Bus, { node, replicas = 1, clock = systemClock }: ClusterClockOptions) {
    this.#bus = bus;
    this.#node = node;
    this.#replicas = replicas;
    this.#clock = clock;
  }

  async start(): Promise<void> {
    this.#cancels.push(clockOffsets.watch(this.#bus, clockOffsetSubject, (offset) => this.#hear(offset)));
    await openBucket(this.#bus, 'clock', this.#replicas);
    await this.#look();
    this.#cancels.push(this.#clock.every(everyMs, () => void this.#look()));
  }

  get agrees(): boolean {
    return this.#agrees;
  }

  nowMs(): number {
    return this.#aheadMs === null ? this.#clock.nowMs() : Math.round(this.#clock.monotonicMs() + this.#aheadMs);
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  after(delayMs: number, run: () => void): Cancel {
    return this.#clock.after(delayMs, run);
  }

  every(intervalMs: number, run: () => void): Cancel {
    return this.#clock.every(intervalMs, run);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(delayMs, signal);
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#cancels) cancel();
  }

  /** Without an answer the last state stays: monotonic time goes on. */
  async #look(): Promise<void> {
    if (this.#looking || this.#stopped || !this.#bus.connected()) return;
    this.#looking = true;
    try {
      const stamp = await serverStamp(this.#bus, this.#node, this.#clock);
      if (stamp !== null && !this.#stopped) this.#judge(stamp);
    } catch (error) {
      ignoring(error, `the server's clock cannot be read for now: ${messageOf(error)}`);
    } finally {
      this.#looking = false;
    }
  }

  #judge({ fromMs, toMs }: Stamp): void {
    const monotonicMs = this.#clock.monotonicMs();
    const offsetMs = (fromMs + toMs) / 2 + monotonicMs - this.#clock.nowMs();
    this.#reported.set(this.#node, { offsetMs, atMs: monotonicMs });
    clockOffsets.publish(this.#bus, clockOffsetSubject, { node: this.#node, offsetMs });
    for (const [node, { atMs }] of this.#reported) if (monotonicMs - atMs > staleMs) this.#reported.delete(node);

    const aheadMs = serverAheadMs([...this.#reported.values()].map((each) => each.offsetMs));
    const isServerWrong = Math.abs(aheadMs) > offMsMax;
    this.#follow(fromMs, toMs, isServerWrong ? aheadMs : 0);
    const ownAheadMs = aheadMs - offsetMs;
    metrics.clockOffset.set(ownAheadMs / 1_000);
    this.#become(Math.abs(ownAheadMs) <= offMsMax + (toMs - fromMs) / 2, ownAheadMs);
    if (isServerWrong !== this.#serverWrong) this.#askServerTime(isServerWrong, aheadMs);
  }

  /** Corrects as little as the timestamp requires; jumps only when several comparisons in a row require it. */
  #follow(fromMs: number, toMs: number, lessMs: number): void {
    const [lowMs, highMs] = [fromMs - lessMs, toMs - lessMs];
    if (this.#aheadMs === null) {
      this.#aheadMs = (lowMs + highMs) / 2;
      return;
    }
    const nextMs = Math.min(highMs, Math.max(lowMs, this.#aheadMs));
    this.#otherTimes = Math.abs(nextMs - this.#aheadMs) > offMsMax ? this.#otherTimes + 1 : 0;
    if (this.#otherTimes > 0 && this.#otherTimes < roundsToBelieve) return;
    this.#otherTimes = 0;
    this.#aheadMs = nextMs;
  }

  #become(agrees: boolean, ownAheadMs: number): void {
    const isFirst = !this.#judged;
    this.#judged = true;
    if (!isFirst && agrees === this.#agrees) {
      this.#otherVerdicts = 0;
      return;
    }
    this.#otherVerdicts += 1;
    // One comparison may coincide with a change at the others; the first one is used at once.
    if (!isFirst && this.#otherVerdicts < roundsToBelieve) return;
    this.#otherVerdicts = 0;
    this.#agrees = agrees;
    const facts = { node: this.#node, aheadSeconds: ownAheadMs / 1_000 };
    if (!agrees)
      log.error(
        { alarm: 'clock_wrong', ...facts },
        'this machine’s clock differs from the others’: it accepts no work until they agree',
      );
    else if (!isFirst) log.warn(facts, 'this machine’s clock agrees again: it accepts work');
  }

  #askServerTime(isWrong: boolean, aheadMs: number): void {
    this.#serverWrong = isWrong;
    const facts = { aheadSeconds: aheadMs / 1_000, machines: this.#reported.size };
    if (isWrong)
      log.error({ alarm: 'server_clock_wrong', ...facts }, 'the nats-server’s clock is wrong: most machines agree');
    else log.warn(facts, 'the nats-server’s clock is right again');
  }

  #hear({ node, offsetMs }: ClockOffset): void {
    if (node === this.#node || (this.#reported.size >= nodesMax && !this.#reported.has(node))) return;
    this.#reported.set(node, { offsetMs, atMs: this.#clock.monotonicMs() });
  }
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
