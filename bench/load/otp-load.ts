// People who ask for one-time passwords, a process of its own: open loop, each with a number, an address and a device of
// their own. Most enter the code some seconds later, as their SMS shows it. The brand of the text carries the nonce and the
// intended send time to the SMSC peer.
import { lettersMark } from '../../smpp/simulator/nonces.ts';
import { epochUs, systemClock } from '../../platform/clock.ts';
import { type Random, seededRandom } from '../../platform/random.ts';
import { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import { serveTask } from './child.ts';
import { jsonClient } from './json-client.ts';
import { openLoop } from './open-loop.ts';
import { PhoneCodes } from './otp-codes.ts';

export type OtpLoadTask = {
  readonly port: number;
  readonly key: string;
  /** Where the SMSC peers answer what codes came: otp-codes.ts. */
  readonly codesPorts: readonly number[];
  readonly ratePerSecond: number;
  readonly seconds: number;
  /** Before them: what is sent while this process compiles its code is in no time. */
  readonly secondsBefore: number;
  readonly seed: number;
  readonly sender: string;
  /** In turn the first digits of the ten of a national number; the others are random. */
  readonly prefixes: readonly string[];
  /** The nonces are firstNonce, firstNonce + 1, … */
  readonly firstNonce: number;
  /** The share of codes that is entered. */
  readonly verifiedShare: number;
};

export type OtpLoadResult = {
  /** Starts before this one are in no time. */
  readonly firstTimed: number;
  /** Of each start: its intended time in epoch µs as the text carries it, and whether it was answered 201. */
  readonly intendedUs: Float64Array;
  readonly accepted: Uint8Array;
  /** Its id where it was. */
  readonly ids: readonly (string | undefined)[];
  /** Answers to starts that were not 201, by status. */
  readonly refused: Readonly<Record<string, number>>;
  /** How late the load generator itself was with a start; included in every other time. */
  readonly late: ReturnType<LatencyHistogram['summary']>;
  readonly accept: ReturnType<LatencyHistogram['summary']>;
  readonly verify: ReturnType<LatencyHistogram['summary']>;
  /** Verifications whose answer was not `valid: true`. */
  readonly notValid: number;
  /** People who would have entered their code, and whose SMS has not come. */
  readonly withoutCode: number;
};

const enteredAfter = parseLatency('lognormal:5000,0.4')!;
const nationalDigits = 10;
const smsWithinMs = 60_000;

async function run(task: OtpLoadTask): Promise<OtpLoadResult> {
  const random = seededRandom(task.seed);
  const firstTimed = Math.round(task.ratePerSecond * task.secondsBefore);
  const total = firstTimed + Math.round(task.ratePerSecond * task.seconds);
  const intendedUs = new Float64Array(total);
  const accepted = new Uint8Array(total);
  const ids = Array.from<string | undefined>({ length: total });
  const refused: Record<string, number> = {};
  const [late, accept, verify] = [new LatencyHistogram(), new LatencyHistogram(), new LatencyHistogram()];
  const post = jsonClient(task.port, task.key);
  const phones = new PhoneCodes(task.codesPorts);
  let notValid = 0;
  let withoutCode = 0;
  const one = async (index: number, intendedMs: number) => {
    const who = { client_ip: address(random), device_id: `phone ${digits(random, 12)}` };
    const brand = mark(task, index, intendedUs);
    const body = { to: recipient(random, task, index), from: task.sender, brand, ...who };
    const isVerified = random.unit() < task.verifiedShare;
    const pauseMs = enteredAfter(random);
    const isTimed = index >= firstTimed;
    if (isTimed) late.add((systemClock.monotonicMs() - intendedMs) * 1_000);
    const started = await post('/v1/otp', body);
    if (isTimed) accept.add((systemClock.monotonicMs() - intendedMs) * 1_000);
    if (started.status !== 201) {
      const answer = `${started.status} ${JSON.stringify(started.body['code'])}`;
      refused[answer] = (refused[answer] ?? 0) + 1;
      return;
    }
    accepted[index] = 1;
    ids[index] = String(started.body['id']);
    if (!isVerified) return;
    await systemClock.sleep(pauseMs);
    const code = await phones.codeOf(task.firstNonce + index, smsWithinMs);
    if (code === null) return void (withoutCode += 1);
    const askedMs = systemClock.monotonicMs();
    const verdict = await post(`/v1/otp/${String(started.body['id'])}/verify`, { code, ...who });
    if (isTimed) verify.add((systemClock.monotonicMs() - askedMs) * 1_000);
    if (verdict.body['valid'] !== true) notValid += 1;
  };
  const running: Promise<void>[] = [];
  await openLoop(total, task.ratePerSecond, (index, intendedMs) => {
    intendedUs[index] = Math.round(epochUs(intendedMs));
    running.push(one(index, intendedMs));
  });
  await Promise.all(running);
  phones.stop();
  const times = { late: late.summary(), accept: accept.summary(), verify: verify.summary() };
  return { firstTimed, intendedUs, accepted, ids, refused, ...times, notValid, withoutCode };
}

/** In letters, because a brand has no long numbers. */
function mark({ firstNonce }: OtpLoadTask, index: number, intendedUs: Float64Array): string {
  return lettersMark(firstNonce + index, intendedUs[index] ?? 0);
}

function recipient(random: Random, { prefixes }: OtpLoadTask, index: number): string {
  const prefix = prefixes[index % prefixes.length] ?? '';
  return `+880${prefix}${digits(random, nationalDigits - prefix.length)}`;
}

/** Of IPv4, as a mobile network shares them among its subscribers. */
function address(random: Random): string {
  return ['100', ...[1, 2, 3].map(() => Math.floor(random.unit() * 256))].join('.');
}

function digits(random: Random, count: number): string {
  return Array.from({ length: count }, () => Math.floor(random.unit() * 10)).join('');
}

serveTask(run);
