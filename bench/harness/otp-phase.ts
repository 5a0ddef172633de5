// One phase of the OTP bench: offers the load, waits until every accepted OTP and its receipt have come, and counts them at
// the SMSC peers.
import { systemClock } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';
import type { WholeSystem } from '../../test/support/whole-system.ts';
import type { Backlog } from '../load/backlog.ts';
import type { OtpLoadResult, OtpLoadTask } from '../load/otp-load.ts';
import { runChild } from '../load/child.ts';
import { latencyFigures } from './latency-figures.ts';
import type { Phase } from './otp-faults.ts';
import { type Setting, carriers, usualHandset, verifiedShare } from './otp-setting.ts';
import { cpuBetween, processTree } from './processes.ts';
import type { SmscPeer } from './smsc-peer.ts';

const arrivedWithinMs = 90_000;
const noncesOfPhase = 10_000_000;
/** The load generator and what it calls are slow in its first seconds; what it sends is counted, its times are not. */
const secondsBefore = 3;

export type Outcome = {
  readonly figures: Record<string, number>;
  readonly platform: LatencyHistogram;
  readonly delivered: LatencyHistogram;
  readonly handset: LatencyHistogram;
};

export async function runPhase(
  { system, smscPeers, rate, seed }: Setting,
  backlog: Backlog,
  nth: number,
  { seconds, handset, disturb }: Phase & { readonly seconds: number },
): Promise<Outcome> {
  const peers = Object.values(smscPeers);
  const setHandset = (latencyMs: string) => Promise.all(peers.map((smscPeer) => smscPeer.setLatency(latencyMs)));
  if (handset !== undefined) await setHandset(handset);
  const handsetBefore = await handsetOf(peers);
  const throttledBefore = await throttledOf(peers);
  const waitingAtBegin = await backlog.waiting();
  const firstNonce = nth * noncesOfPhase;
  const task: OtpLoadTask = {
    port: system.httpPort,
    key: system.keys.liveKey,
    codesPorts: peers.map(({ codesPort }) => codesPort),
    ratePerSecond: rate,
    seconds,
    secondsBefore,
    seed: seed + firstNonce,
    sender: 'HELIOGRAPH',
    prefixes: carriers.map(({ prefix }) => prefix),
    firstNonce,
    verifiedShare,
  };
  const before = processTree(system.process.pid ?? 0);
  const beganMs = systemClock.monotonicMs();
  const [load] = await Promise.all([
    runChild<OtpLoadTask, OtpLoadResult>('otp-load.ts', task, (seconds + 120) * 1_000),
    disturb?.(seconds),
  ]);
  const cpu = cpuBetween(before, processTree(system.process.pid ?? 0));
  const tookMs = systemClock.monotonicMs() - beganMs;
  const waitingAtEnd = await backlog.waiting();
  const came = await arrivedOf(peers, load, firstNonce);
  const reportedUnknown = await countOf(system, came.missing, isUnknown);
  const hedged = await countOf(system, came.twice, isHedged);
  if (handset !== undefined) await setHandset(usualHandset);
  const handsetTimes = difference(await handsetOf(peers), handsetBefore);
  process.stderr.write(
    `cores used: ${[...cpu].map(([name, us]) => `${name} ${(us / (tookMs * 1_000)).toFixed(2)}`).join(', ')}\n`,
  );
  if (Object.keys(load.refused).length > 0) process.stderr.write(`starts answered ${JSON.stringify(load.refused)}\n`);
  return {
    ...came,
    handset: handsetTimes,
    figures: {
      ...latencyFigures('platform', came.platform.summary()),
      ...latencyFigures('delivered', came.delivered.summary()),
      ...latencyFigures('handset_alone', handsetTimes.summary()),
      ...latencyFigures('load_late', load.late, ['p99', 'p999']),
      ...latencyFigures('accept', load.accept, ['p99', 'p999']),
      ...latencyFigures('verify', load.verify, ['p99']),
      otp: load.accepted.reduce((sum, one) => sum + one, 0),
      refused: load.accepted.reduce((sum, one) => sum + (1 - one), 0),
      verified_wrongly: load.notValid,
      without_code: load.withoutCode,
      over_one_second: came.delivered.count - came.delivered.countUpTo(1_000),
      without_receipt: came.withoutReceipt,
      // Written to a carrier that went away before it read them: reported as unknown, and not sent twice.
      reported_unknown: reportedUnknown,
      lost: came.missing.length - reportedUnknown,
      // Second copies that hedging sent on purpose (docs/otp.md).
      hedged,
      duplicated: came.duplicated - hedged,
      throttled: (await throttledOf(peers)) - throttledBefore,
      cores_used: [...cpu.values()].reduce((sum, us) => sum + us, 0) / (tookMs * 1_000),
      waiting_at_begin: waitingAtBegin,
      waiting_at_end: waitingAtEnd,
    },
  };
}

type Came = Pick<Outcome, 'platform' | 'delivered'> & {
  /** The ids of accepted OTP that came to no SMSC peer. */
  readonly missing: string[];
  /** The ids of those that came more than once. */
  readonly twice: string[];
  duplicated: number;
  withoutReceipt: number;
};

type Send = { readonly status: string | null; readonly hedged_by: string | null };

/** Of how many of these OTP the client is informed within some seconds that their messages are so. */
async function countOf(
  { httpPort, keys }: WholeSystem,
  ids: readonly string[],
  isSo: (sends: readonly Send[]) => boolean,
): Promise<number> {
  const headers = { authorization: `Bearer ${keys.liveKey}` };
  let count = 0;
  for (const id of ids) {
    const look = async () => {
      const answer = await fetch(`http://127.0.0.1:${httpPort}/v1/otp/${id}`, { headers });
      return isSo(((await answer.json()) as { sends?: Send[] }).sends ?? []);
    };
    const found = await until('the messages of an OTP are known', look, { limitMs: 10_000, everyMs: 1_000 }).catch(
      (error: unknown) => void ignoring(error, 'it is not counted'),
    );
    if (found === true) count += 1;
  }
  return count;
}

/** Nobody knows whether it was sent. */
const isUnknown = (sends: readonly Send[]) => sends.some(({ status }) => status === 'unknown');

/** It has a second copy that was sent on purpose. */
const isHedged = (sends: readonly Send[]) => sends.some(({ hedged_by: rule }) => typeof rule === 'string');

/** Waits for every OTP that was accepted, and reads when each came and when its receipt was answered. */
async function arrivedOf(peers: readonly SmscPeer[], load: OtpLoadResult, firstNonce: number): Promise<Came> {
  const accepted = [...load.accepted.keys()].filter((index) => load.accepted[index] === 1);
  const look = async () => {
    const arrivals = await Promise.all(peers.map((smscPeer) => smscPeer.arrivals()));
    const times = await Promise.all(peers.map((smscPeer) => smscPeer.times()));
    const receiptAtUs = new Map<number, number>();
    for (const { receipts } of times) {
      for (let at = 0; at < receipts.length; at += 2) {
        const [intendedUs, ackedAtUs] = [receipts[at] ?? 0, receipts[at + 1] ?? 0];
        receiptAtUs.set(intendedUs, Math.min(ackedAtUs, receiptAtUs.get(intendedUs) ?? Number.POSITIVE_INFINITY));
      }
    }
    return { arrivals, receiptAtUs };
  };
  let seen = await look();
  const hasAll = () =>
    accepted.every(
      (index) =>
        seen.receiptAtUs.has(load.intendedUs[index] ?? 0) && seen.arrivals.some((each) => each.has(firstNonce + index)),
    );
  const limitMs = arrivedWithinMs;
  await until('every OTP and its receipt', async () => hasAll() || void (seen = await look()), {
    limitMs,
    everyMs: 2_000,
  }).catch((error: unknown) => ignoring(error, 'what has not come is counted'));
  const came = {
    platform: new LatencyHistogram(),
    delivered: new LatencyHistogram(),
    missing: [] as string[],
    twice: [] as string[],
    duplicated: 0,
    withoutReceipt: 0,
  };
  for (const index of accepted) {
    const intendedUs = load.intendedUs[index] ?? 0;
    const arrivals = seen.arrivals.flatMap((each) => each.get(firstNonce + index) ?? []);
    if (arrivals.length === 0) came.missing.push(load.ids[index] ?? '');
    else if (index >= load.firstTimed) came.platform.add(Math.min(...arrivals.map(({ atUs }) => atUs)) - intendedUs);
    const copies = arrivals.reduce((sum, each) => sum + each.count, 0);
    came.duplicated += Math.max(0, copies - 1);
    if (copies > 1) came.twice.push(load.ids[index] ?? '');
    const receiptAtUs = seen.receiptAtUs.get(intendedUs);
    if (receiptAtUs === undefined) came.withoutReceipt += 1;
    else if (index >= load.firstTimed) came.delivered.add(receiptAtUs - intendedUs);
  }
  return came;
}

async function throttledOf(peers: readonly SmscPeer[]): Promise<number> {
  const stats = await Promise.all(peers.map((smscPeer) => smscPeer.stats()));
  return stats.reduce((sum, { submits }) => sum + submits.throttled, 0);
}

async function handsetOf(peers: readonly SmscPeer[]): Promise<readonly Float64Array[]> {
  return (await Promise.all(peers.map((smscPeer) => smscPeer.times()))).map(({ handset }) => handset);
}

function difference(now: readonly Float64Array[], before: readonly Float64Array[]): LatencyHistogram {
  return LatencyHistogram.ofCounts(
    now.map((counts, nth) => counts.map((value, step) => value - (before[nth]?.[step] ?? 0))),
  );
}
