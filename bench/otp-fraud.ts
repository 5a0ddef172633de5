// What the guard against fraud with one-time passwords catches and what it costs: simulated attacks beside ordinary use,
// and ordinary use that looks unusual, in virtual time. It runs the deciders of policy/otp-guard with the settings a new
// installation has; no message is sent. A refusal counts as right when a fraudster asked.
import { limits } from '../platform/limits.ts';
import { MinHeap } from '../platform/min-heap.ts';
import { seededRandom } from '../platform/random.ts';
import { GuardBlocks } from '../policy/otp-guard/blocks.ts';
import type { GuardEvent } from '../policy/otp-guard/contract.ts';
import { OtpGuard } from '../policy/otp-guard/guard.ts';
import { guardModesDefault } from '../policy/otp/contract.ts';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';
import { quantile } from './harness/latency-figures.ts';
import type { BenchResult, Target } from './harness/report.ts';
import { type Scenario, scenarios } from './load/otp-scenarios.ts';
import { OtpApiLimits, type StartedCode } from './load/otp-api-limits.ts';
import type { CodeRequest } from './load/otp-traffic.ts';

const accountId = 'acc_bench';
const carrier = 'carrier';
const advanceEveryMs = 1_000;
const receiptMs = 3_000;
const receiptShare = 0.97;
export const bench: Bench<'seed'> = {
  about: 'the fraud guard of one-time passwords: caught, leaked and wrongly refused in simulated attacks',
  takes: 'the time to compute it; nothing is sent and nothing waits',
  options: {
    seed: seedOption,
  },
  targets,
  run,
};

async function run({ seed }: BenchOptions<'seed'>): Promise<BenchResult> {
  const results = new Map(scenarios.map((scenario) => [scenario.name, play(scenario, seed)]));
  const figures: Record<string, number> = {};
  for (const [name, result] of results) {
    for (const [figure, value] of Object.entries(figuresOf(result))) figures[`${name}_${figure}`] = value;
  }
  return {
    load: `${scenarios.length} scenarios in virtual time, 5 codes/s of ordinary use, 70 % of them entered`,
    figures,
  };
}

function targets(): Target[] {
  // All that block numbers: an attack from one address is challenged.
  const attacks = scenarios.filter(
    ({ name, isAttack, isWide, isBeyond }) =>
      isAttack === true && isWide !== true && isBeyond !== true && !name.endsWith('one_ip'),
  );
  return [
    { figure: 'sequential_recall', op: '>=', bound: 0.95 },
    { figure: 'random_recall', op: '>=', bound: 0.95 },
    { figure: 'drip_recall', op: '>=', bound: 0.6 },
    // Of five and a half minutes two are over before the first code is judged.
    { figure: 'limited_high_rate_recall', op: '>=', bound: 0.5 },
    { figure: 'beyond_memory_recall', op: '>=', bound: 0.5 },
    // Of each block, not on average.
    ...attacks.map(({ name }) => ({ figure: `${name}_leaked_per_block_max`, op: '<=' as const, bound: 60 })),
    ...scenarios.map(({ name, outage }) => {
      return { figure: `${name}_refused_per_million`, op: '<=' as const, bound: outage === undefined ? 1_000 : 0 };
    }),
    { figure: 'unreachable_recall', op: '>=', bound: 0.95 },
  ];
}

type Result = {
  asked: Record<'fraud' | 'honest', number>;
  refused: Record<'fraud' | 'honest', number>;
  challenged: Record<'fraud' | 'honest', number>;
  /** Refused by `otp.limits`. */
  limited: Record<'fraud' | 'honest', number>;
  /** Messages of fraudsters to a block before each time it was blocked, also those of codes that are sent again. */
  readonly leaks: number[];
  readonly toBlockMs: number[];
  readonly releasedAfterMs: number[];
  suspended: number;
  probes: number;
};

type Timed = { readonly atMs: number; readonly act: () => void };

function play(scenario: Scenario, seed: number): Result {
  const random = seededRandom(seed);
  const blocks = new GuardBlocks(limits.otpGuard.blocksShare);
  const guard = new OtpGuard(
    guardModesDefault,
    limits.otpGuard,
    () => blocks,
    () => false,
  );
  const result: Result = {
    ...{
      asked: none(),
      refused: none(),
      challenged: none(),
      limited: none(),
      leaks: [],
      toBlockMs: [],
      releasedAfterMs: [],
    },
    ...{ suspended: 0, probes: 0 },
  };
  const counts = new BlockCounts(result);
  const later = new MinHeap<Timed>((one, other) => one.atMs < other.atMs);
  const note = (events: readonly GuardEvent[], nowMs: number) => {
    for (const event of events) counts.note(event, nowMs);
  };
  const fell = ({ to, atMs, isFraud }: Pick<CodeRequest, 'to' | 'atMs' | 'isFraud'>) => {
    const { outage, isUnreachable } = scenario;
    if (isFraud && isUnreachable === true) return true;
    return outage !== undefined && atMs >= outage.fromMs && atMs < outage.untilMs && to.startsWith(outage.prefix ?? '');
  };
  const api = scenario.limits === true ? new OtpApiLimits() : null;
  const question = {
    accountId,
    device: null,
    challengePassed: false,
    isResend: false,
    destinations: ['+880'],
  };

  /** True when it was refused. */
  const ask = (request: CodeRequest): boolean => {
    const { atMs, to, ip, isFraud, verifiedAfterMs } = request;
    const who = isFraud ? 'fraud' : 'honest';
    result.asked[who] += 1;
    const { refusal, isProbe } = guard.decide({ ...question, to, ip }, atMs, random.unit());
    // A person passes a challenge; a fraudster's programme does not.
    if (refusal?.action === 'challenge') result.challenged[who] += 1;
    if (refusal !== null && (refusal.action === 'block' || isFraud)) {
      result.refused[who] += 1;
      return true;
    }
    const code = api?.start(request) ?? null;
    if (api !== null && code === null) {
      result.limited[who] += 1;
      return true;
    }
    note(guard.sent({ accountId, to, ip, device: null, carrier, isProbe }, atMs), atMs);
    if (isFraud && isProbe) result.probes += 1;
    else if (isFraud) counts.sent(to, atMs);
    for (const afterMs of request.resendsAfterMs) {
      if (verifiedAfterMs !== null && verifiedAfterMs < afterMs) continue;
      later.add({ atMs: atMs + afterMs, act: () => resend({ ...request, atMs: atMs + afterMs }, code) });
    }
    if (fell(request)) return false;
    if (random.unit() < receiptShare) {
      later.add({ atMs: atMs + receiptMs, act: () => guard.received({ accountId, to }) });
    }
    if (verifiedAfterMs !== null) {
      const enteredAtMs = atMs + verifiedAfterMs;
      later.add({
        atMs: enteredAtMs,
        act: () => {
          if (code !== null) api?.verify(code, enteredAtMs);
          note(guard.verified({ accountId, to }, enteredAtMs), enteredAtMs);
        },
      });
    }
    return false;
  };

  /** The same code once more: only blocks and limits refuse it. `code`: without limits null. */
  const resend = ({ atMs, to, ip, isFraud }: CodeRequest, code: StartedCode | null): void => {
    const who = isFraud ? 'fraud' : 'honest';
    result.asked[who] += 1;
    const { refusal } = guard.decide({ ...question, to, ip, isResend: true }, atMs, random.unit());
    if (refusal !== null) {
      result.refused[who] += 1;
      return;
    }
    if (api !== null && (code === null || !api.resend(code, atMs))) {
      result.limited[who] += 1;
      return;
    }
    note(guard.resent({ accountId, to, ip, device: null, carrier: '', isProbe: false }, atMs), atMs);
    if (isFraud) counts.sent(to, atMs);
  };

  for (const source of scenario.sources) follow(source(random), later, ask);
  for (let tickMs = 0; later.first !== undefined; tickMs += advanceEveryMs) {
    for (let next = later.first; next !== undefined && next.atMs <= tickMs; next = later.first) {
      later.removeFirst();
      next.act();
    }
    note(guard.advance(tickMs), tickMs);
  }
  return result;
}

/** Each request of a source puts the next one in line. */
function follow(
  source: Generator<CodeRequest, void, boolean>,
  later: MinHeap<Timed>,
  ask: (request: CodeRequest) => boolean,
) {
  const take = (next: IteratorResult<CodeRequest, void>) => {
    if (next.done === true) return;
    const request = next.value;
    later.add({ atMs: request.atMs, act: () => take(source.next(ask(request))) });
  };
  take(source.next(false));
}

/** What was sent to each prefix before it was blocked. */
class BlockCounts {
  readonly #result: Result;
  readonly #leaks = new Map<string, { count: number; sinceMs: number }>();
  readonly #blockedAtMs = new Map<string, number>();

  constructor(result: Result) {
    this.#result = result;
  }

  sent(to: string, atMs: number): void {
    const leak = this.#leaks.get(to.slice(0, -4)) ?? { count: 0, sinceMs: atMs };
    leak.count += 1;
    this.#leaks.set(to.slice(0, -4), leak);
  }

  note(event: GuardEvent, atMs: number): void {
    if (event.kind === 'suspended' || event.kind === 'unreachable') this.#result.suspended += 1;
    if (event.kind === 'released')
      this.#result.releasedAfterMs.push(atMs - (this.#blockedAtMs.get(event.prefix) ?? atMs));
    if (event.kind !== 'blocked') return;
    this.#blockedAtMs.set(event.prefix, atMs);
    const leak = this.#leaks.get(event.prefix);
    if (leak === undefined) return;
    this.#result.leaks.push(leak.count);
    this.#result.toBlockMs.push(atMs - leak.sinceMs);
    this.#leaks.delete(event.prefix);
  }
}

function figuresOf({
  probes,
  asked,
  refused,
  challenged,
  limited,
  leaks,
  toBlockMs,
  releasedAfterMs,
  suspended,
}: Result): Record<string, number> {
  const all = refused.fraud + refused.honest;
  const honest = {
    // Whatever refused them.
    refused_per_million: ((refused.honest + limited.honest) / asked.honest) * 1e6,
    challenged_per_million: (challenged.honest / asked.honest) * 1e6,
  };
  const release: Record<string, number> =
    releasedAfterMs.length === 0 ? {} : { released_after_p50_s: quantile(releasedAfterMs, 0.5) / 1_000 };
  if (asked.fraud === 0) return { ...honest, ...release, suspended };
  const caught = {
    recall: (refused.fraud + limited.fraud) / asked.fraud,
    precision: all === 0 ? Number.NaN : refused.fraud / all,
    leaked: asked.fraud - refused.fraud - limited.fraud,
    ...(limited.fraud > 0 && { limited_share: limited.fraud / asked.fraud }),
    probes,
    blocks: leaks.length,
  };
  if (leaks.length === 0) return { ...caught, ...honest };
  return {
    ...caught,
    leaked_per_block_mean: leaks.reduce((sum, each) => sum + each, 0) / leaks.length,
    leaked_per_block_max: Math.max(...leaks),
    to_block_p50_s: quantile(toBlockMs, 0.5) / 1_000,
    to_block_p95_s: quantile(toBlockMs, 0.95) / 1_000,
    ...honest,
    ...release,
  };
}

const none = () => ({ fraud: 0, honest: 0 });
