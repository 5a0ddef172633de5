// The one-second target: one-time passwords through the whole product, 100 a second, while a million promotional
// messages wait for the same three carriers. Then the same with a handset that is slower in the tail, with and without
// second copies (docs/otp.md, Hedging), and beside faults: a carrier that is killed, one that throttles, a nats-server
// that restarts, a webhook receiver that is away and one that never answers. All times are taken outside of the product,
// from the intended time of each HTTP request: to its submit_sm at the SMSC peer (platform) and to the answered receipt (delivered). Writes
// bench/results/otp.svg.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, BenchOptions } from './harness/bench.ts';
import { withSystem } from './harness/configuration.ts';
import { type PhaseName, phaseNames, phaseOf } from './harness/otp-faults.ts';
import { type Outcome, runPhase } from './harness/otp-phase.ts';
import { otpPicture } from './harness/otp-picture.ts';
import { type BenchResult, type Target, zero } from './harness/report.ts';
import {
  type Setting,
  configuration,
  setHedging,
  startPeer,
  tpsOfAll,
  usualHandset,
  verifiedShare,
} from './harness/otp-setting.ts';
import { Backlog } from './load/backlog.ts';

const rateDefault = 100;
const backlogDefault = 1_000_000;
const warmUpSeconds = 10;
const picture = join(import.meta.dirname, 'results/otp.svg');

export const bench: Bench = {
  about: `the one-second target: ${rateDefault} OTP/s beside a million promotional messages, and beside faults`,
  secondsDefault: 300,
  takes: ['count', 'rate', 'only'],
  run,
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
  return withSystem(configuration(smscPeers), smscPeers, (system) =>
    measure({ system, smscPeers, rate, seed }, chosen, seconds, count),
  );
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
      name === 'steady' || phase.handset !== undefined ? count : Math.min(count, tpsOfAll * phaseSeconds * 1.5),
    );
    process.stderr.write(`${name}: ${Math.round(await backlog.waiting())} promotional messages wait\n`);
    if (phase.hedging === false) await setHedging(setting, false);
    const outcome = await runPhase(setting, backlog, nth + 1, { ...phase, seconds: phaseSeconds });
    if (phase.hedging === false) await setHedging(setting, true);
    // At once: a later phase may fail, and all of them take half an hour.
    process.stderr.write(`${name}: ${JSON.stringify(outcome.figures)}\n`);
    for (const [figure, value] of Object.entries(outcome.figures)) figures[`${name}_${figure}`] = value;
    if (name === 'steady') {
      drawPicture(setting, outcome, count);
      targets.push(
        { figure: 'steady_platform_p999_ms', op: '<=', bound: 50 },
        { figure: 'steady_delivered_p999_ms', op: '<=', bound: 1_000 },
        { figure: 'steady_waiting_at_begin', op: '>=', bound: count },
        ...zero('steady_refused', 'steady_without_receipt', 'steady_without_code', 'steady_verified_wrongly'),
      );
    }
    // No carrier gets more than its contract, however slow its subscribers' handsets are.
    if (name === 'steady' || phase.handset !== undefined) targets.push(...zero(`${name}_throttled`));
    targets.push(...zero(`${name}_lost`, `${name}_duplicated`));
  }
  return {
    load: `${setting.rate} OTP/s, each of another number, address and device, ${verifiedShare * 100} % entered as the SMS shows them, to carriers of 200, 500 and 1,000 TPS, handset ${usualHandset} ms, ${count} promotional messages waiting`,
    figures,
    targets,
  };
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
