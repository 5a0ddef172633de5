// The one-second target: one-time passwords through the whole product, 100 a second, while a million promotional
// messages wait for the same three carriers. Then the same with a handset that is slower in the tail, and beside
// faults: a carrier that is killed, one that throttles, a nats-server that restarts, a webhook receiver that is dead. All
// times are taken outside of the product, from the intended time of each HTTP request: to its submit_sm at the
// SMSC peer (platform) and to the answered receipt (delivered). Writes bench/results/otp.svg.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { ignoring } from '../platform/errors.ts';
import { LatencyHistogram } from '../smpp/simulator/latency-histogram.ts';
import { endSystems } from '../test/support/system.ts';
import { type WholeSystem, startWholeSystem } from '../test/support/whole-system.ts';
import type { Bench, BenchOptions } from './harness/bench.ts';
import { latencyFigures } from './harness/latency-figures.ts';
import { cpuBetween, processTree } from './harness/processes.ts';
import { otpPicture } from './harness/otp-picture.ts';
import { type BenchResult, type Target, zero } from './harness/report.ts';
import { type SmscPeer, startSmscPeer } from './harness/smsc-peer.ts';
import type { BacklogResult, BacklogTask } from './load/backlog-load.ts';
import type { OtpLoadResult, OtpLoadTask } from './load/otp-load.ts';
import { runChild } from './load/run-child.ts';

const carriers = [
  { name: 'small', prefix: '13', tps: 200 },
  { name: 'middle', prefix: '15', tps: 500 },
  { name: 'large', prefix: '17', tps: 1_000 },
] as const;
type CarrierName = (typeof carriers)[number]['name'];
const tpsOfAll = carriers.reduce((sum, { tps }) => sum + tps, 0);
const rateDefault = 100;
const backlogDefault = 1_000_000;
const usualHandset = 'lognormal:250,0.4';
const heavyHandset = 'lognormal:250,0.7';
const verifiedShare = 0.75;
const warmUpSeconds = 10;
/** A phase with a fault is not longer: each has its fault in its middle third. */
const faultSecondsMax = 60;
const heavySecondsMax = 120;
const arrivedWithinMs = 90_000;
const noncesOfBacklog = 1_000_000_000;
const noncesOfPhase = 10_000_000;
const picture = join(import.meta.dirname, 'results/otp.svg');

const phaseNames = [
  'steady',
  'heavy_tail',
  'carrier_killed',
  'carrier_throttles',
  'nats_restarted',
  'receiver_dead',
] as const;
type PhaseName = (typeof phaseNames)[number];

export const bench: Bench = {
  about: `the one-second target: ${rateDefault} OTP/s beside a million promotional messages, and beside faults`,
  secondsDefault: 300,
  takes: ['count', 'rate', 'only'],
  run,
};

type Setting = {
  readonly system: WholeSystem;
  readonly smscPeers: Readonly<Record<CarrierName, SmscPeer>>;
  readonly rate: number;
  readonly seed: number;
};

async function run({
  seconds,
  seed,
  count = backlogDefault,
  rate = rateDefault,
  only,
}: BenchOptions): Promise<BenchResult> {
  const chosen = phaseNames.filter((name) => only === undefined || only.includes(name));
  if (chosen.length === 0) throw new Error(`--only expects some of ${phaseNames.join(', ')}`);
  const smscPeers = {
    small: await startPeer('small'),
    middle: await startPeer('middle'),
    large: await startPeer('large'),
  };
  const system = await startWholeSystem(configuration(smscPeers));
  try {
    return await measure({ system, smscPeers, rate, seed }, chosen, seconds, count);
  } finally {
    await system.stop();
    await Promise.all(Object.values(smscPeers).map((smscPeer) => smscPeer.stop()));
    await endSystems();
  }
}

function startPeer(name: CarrierName): Promise<SmscPeer> {
  const tps = carriers.find((each) => each.name === name)?.tps ?? 0;
  return startSmscPeer(name, { tps, latencyMs: usualHandset, responseMs: 'lognormal:15,0.4' });
}

async function measure(
  setting: Setting,
  chosen: readonly PhaseName[],
  seconds: number,
  count: number,
): Promise<BenchResult> {
  const backlog = new Backlog(setting);
  await runPhase(setting, backlog, 0, { seconds: warmUpSeconds });
  const figures: Record<string, number> = {};
  const targets: Target[] = [];
  for (const [nth, name] of chosen.entries()) {
    const phase = phaseOf(name, setting);
    const phaseSeconds = Math.min(seconds, phase.secondsMax);
    // What waits is sent meanwhile: this many more wait at the beginning of a phase that is not the last.
    await backlog.fill(
      name === 'steady' || name === 'heavy_tail' ? count : Math.min(count, tpsOfAll * phaseSeconds * 1.5),
    );
    process.stderr.write(`${name}: ${Math.round(await backlog.waiting())} promotional messages wait\n`);
    const outcome = await runPhase(setting, backlog, nth + 1, { ...phase, seconds: phaseSeconds });
    for (const [figure, value] of Object.entries(outcome.figures)) figures[`${name}_${figure}`] = value;
    if (name === 'steady') {
      drawPicture(setting, outcome, count);
      targets.push(
        { figure: 'steady_platform_p999_ms', op: '<=', bound: 50 },
        { figure: 'steady_delivered_p999_ms', op: '<=', bound: 1_000 },
        { figure: 'steady_waiting_at_begin', op: '>=', bound: count },
        ...zero('steady_refused', 'steady_throttled', 'steady_without_receipt'),
      );
    }
    targets.push(...zero(`${name}_lost`, `${name}_duplicated`));
  }
  return {
    load: `${setting.rate} OTP/s, ${verifiedShare * 100} % of them verified, to carriers of 200, 500 and 1,000 TPS, handset ${usualHandset} ms, ${count} promotional messages waiting`,
    figures,
    targets,
  };
}

type Phase = {
  /** The handset of all carriers while it runs. */
  readonly handset?: string;
  /** Runs beside the load; resolves when what it disturbed is whole again. */
  disturb?(seconds: number): Promise<void>;
};

function phaseOf(name: PhaseName, { system, smscPeers }: Setting): Phase & { readonly secondsMax: number } {
  const third = (seconds: number) => systemClock.sleep((seconds * 1_000) / 3);
  const secondsMax = faultSecondsMax;
  switch (name) {
    case 'steady':
      return { secondsMax: Number.POSITIVE_INFINITY };
    case 'heavy_tail':
      return { secondsMax: heavySecondsMax, handset: heavyHandset };
    case 'carrier_killed':
      return {
        secondsMax,
        async disturb(seconds) {
          await third(seconds);
          await smscPeers.middle.down();
          await third(seconds);
          await smscPeers.middle.up();
        },
      };
    case 'carrier_throttles':
      return {
        secondsMax,
        async disturb(seconds) {
          await third(seconds);
          await smscPeers.middle.setFault('throttle');
          await third(seconds);
          await smscPeers.middle.setFault(null);
        },
      };
    case 'nats_restarted':
      return {
        secondsMax,
        async disturb(seconds) {
          await third(seconds);
          await system.restart('nats-server');
        },
      };
    case 'receiver_dead':
      return {
        secondsMax,
        async disturb(seconds) {
          const remove = await deadReceiver(system);
          await systemClock.sleep(seconds * 1_000);
          await remove();
        },
      };
  }
}

/** An endpoint of the account at a port where nobody listens, for every event. Resolves with its removal. */
async function deadReceiver({ httpPort, keys }: WholeSystem): Promise<() => Promise<void>> {
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${keys.liveKey}`, 'content-type': 'application/json' };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, string>);
  };
  const events = ['sms.submitted', 'sms.delivered'];
  const { id = '' } = await call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/dead', events });
  return async () => {
    await call('DELETE', `/v1/webhooks/${id}`);
  };
}

type Outcome = {
  readonly figures: Record<string, number>;
  readonly platform: LatencyHistogram;
  readonly delivered: LatencyHistogram;
  readonly handset: LatencyHistogram;
};

async function runPhase(
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
    ratePerSecond: rate,
    seconds,
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
  const reportedUnknown = await countUnknown(system, came.missing);
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
      ...latencyFigures('accept', load.accept, ['p99']),
      ...latencyFigures('verify', load.verify, ['p99']),
      otp: load.accepted.reduce((sum, one) => sum + one, 0),
      refused: load.accepted.reduce((sum, one) => sum + (1 - one), 0),
      verified_wrongly: load.notValid,
      over_one_second: came.delivered.count - came.delivered.countUpTo(1_000),
      without_receipt: came.withoutReceipt,
      // Written to a carrier that went away before it read them: reported as unknown, and not sent twice.
      reported_unknown: reportedUnknown,
      lost: came.missing.length - reportedUnknown,
      duplicated: came.duplicated,
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
  duplicated: number;
  withoutReceipt: number;
};

/** How many of these OTP the client is told that nobody knows whether they were sent. */
async function countUnknown({ httpPort, keys }: WholeSystem, ids: readonly string[]): Promise<number> {
  let unknown = 0;
  for (const id of ids) {
    const headers = { authorization: `Bearer ${keys.liveKey}` };
    const isUnknown = async () => {
      const answer = await fetch(`http://127.0.0.1:${httpPort}/v1/otp/${id}`, { headers });
      const { sends = [] } = (await answer.json()) as { sends?: { status: string }[] };
      return sends.some(({ status }) => status === 'unknown');
    };
    const found = await until('its status is unknown', isUnknown, { limitMs: 10_000, everyMs: 1_000 }).catch(
      (error: unknown) => void ignoring(error, 'it is counted as lost'),
    );
    if (found === true) unknown += 1;
  }
  return unknown;
}

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
    duplicated: 0,
    withoutReceipt: 0,
  };
  for (const index of accepted) {
    const intendedUs = load.intendedUs[index] ?? 0;
    const arrivals = seen.arrivals.flatMap((each) => each.get(firstNonce + index) ?? []);
    if (arrivals.length === 0) came.missing.push(load.ids[index] ?? '');
    else came.platform.add(Math.min(...arrivals.map(({ atUs }) => atUs)) - intendedUs);
    came.duplicated += Math.max(0, arrivals.reduce((sum, each) => sum + each.count, 0) - 1);
    const receiptAtUs = seen.receiptAtUs.get(intendedUs);
    if (receiptAtUs === undefined) came.withoutReceipt += 1;
    else came.delivered.add(receiptAtUs - intendedUs);
  }
  return came;
}

/** The promotional messages that wait. */
class Backlog {
  readonly #setting: Setting;
  #nextNonce = noncesOfBacklog;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  waiting(): Promise<number> {
    return this.#setting.system.metric('heliograph_stream_waiting_messages');
  }

  /** Resolves when so many wait. The carriers send meanwhile, in proportion to their contracts, so that all have some. */
  async fill(count: number): Promise<void> {
    const { system, seed } = this.#setting;
    for (let missing = count - (await this.waiting()); missing > 0; missing = count - (await this.waiting())) {
      const task: BacklogTask = {
        port: system.httpPort,
        key: system.keys.liveKey,
        count: Math.ceil(missing * 1.1) + tpsOfAll,
        seed: seed + this.#nextNonce,
        sender: 'HELIOGRAPH',
        shares: carriers.map(({ prefix, tps }) => ({ prefix, share: tps / tpsOfAll })),
        firstNonce: this.#nextNonce,
      };
      const { nextNonce, accepted, seconds } = await runChild<BacklogTask, BacklogResult>(
        'backlog-load.ts',
        task,
        1_800_000,
      );
      this.#nextNonce = nextNonce;
      process.stderr.write(`${accepted} promotional messages accepted in ${Math.round(seconds)} s\n`);
    }
  }
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

function drawPicture({ rate }: Setting, { platform, delivered, handset }: Outcome, count: number): void {
  mkdirSync(join(import.meta.dirname, 'results'), { recursive: true });
  const subtitle = `${rate} OTP/s to three carriers while ${count.toLocaleString('en')} promotional messages wait for them; ${platform.count.toLocaleString('en')} OTP`;
  const svg = otpPicture(
    'How long a one-time password takes',
    subtitle,
    [
      { name: 'on the wire (submit_sm)', color: '#0969da', times: platform },
      { name: 'delivered (receipt)', color: '#1a7f37', times: delivered },
      { name: 'the handset alone', color: '#8c959f', times: handset },
    ],
    [
      { name: 'target: p99.9 < 50 ms', ms: 50, share: 0.001 },
      { name: 'target: p99.9 < 1 s', ms: 1_000, share: 0.001 },
    ],
  );
  writeFileSync(picture, svg);
}

function configuration(smscPeers: Readonly<Record<CarrierName, SmscPeer>>): string {
  const carrier = ({ name, tps }: (typeof carriers)[number]) => {
    const { port, systemId, password } = smscPeers[name];
    return `
  - name: ${name}
    tps: ${tps}
    classes: [otp, transactional, promotional]
    binds:
      - { host: 127.0.0.1, port: ${port}, system_id: ${systemId}, password: ${password}, type: transceiver, window: 100, count: 2 }`;
  };
  return `country:
  name: Bench
  calling_code: "+880"
  national_lengths: [10]
  prefixes: { ${carriers.map(({ prefix, name }) => `"${prefix}": ${name}`).join(', ')} }
carriers:${carriers.map(carrier).join('')}
routing:
  fallback: [large, middle, small]
webhooks:
  allow_networks: [127.0.0.0/8]
  allow_http: true
actors: { threads: 1 }
ingress: { threads: 1 }
`;
}
