// The one-second target: one-time passwords through the whole product, 100 a second, while a million promotional
// messages wait for the same three carriers. Then the same with a handset that is slower in the tail, with and without
// second copies (docs/otp.md, Hedging), and beside faults: a carrier that is killed, one that throttles, a nats-server
// that restarts, a webhook receiver that is away and one that never answers. All times are taken outside of the product,
// from the intended time of each HTTP request: to its submit_sm at the SMSC peer (platform) and to the answered receipt
// (delivered).
import { writeFileSync } from 'node:fs';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';
import { withSystem } from './harness/configuration.ts';
import { type PhaseName, faultSecondsMax, heavySecondsMax, phaseNames, phaseOf, phases } from './harness/otp-faults.ts';
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
const warmUpSeconds = 10;

type Taken = 'seconds' | 'count' | 'rate' | 'only' | 'picture' | 'seed';
type Wanted = BenchOptions<Taken>;

export const bench: Bench<Taken> = {
  about: `the one-second target: ${rateDefault} OTP/s beside a million promotional messages, and beside faults`,
  takes: 'half an hour; with `--only steady` about ten minutes',
  options: {
    seconds: {
      about: `seconds of the phase steady; heavy tails take ${heavySecondsMax} at most, faults ${faultSecondsMax}`,
      default: 300,
    },
    count: {
      about: 'promotional messages that wait when a phase begins; less in phases with a fault',
      default: 1_000_000,
    },
    rate: { about: 'OTP a second', default: rateDefault },
    only: { about: 'the phases to run', parts: phases },
    picture: { about: 'the file for a picture of the phase steady (SVG)', default: null },
    seed: seedOption,
  },
  targets: ({ only, count }) => only.flatMap((name) => targetsOf(name as PhaseName, count)),
  run,
};

async function run(wanted: Wanted): Promise<BenchResult> {
  const smscPeers = {
    small: await startPeer('small'),
    middle: await startPeer('middle'),
    large: await startPeer('large'),
  };
  return withSystem(configuration(smscPeers), smscPeers, (system) =>
    measure({ system, smscPeers, rate: wanted.rate, seed: wanted.seed }, wanted),
  );
}

async function measure(setting: Setting, { seconds, count, only, picture }: Wanted): Promise<BenchResult> {
  const backlog = new Backlog(setting);
  await runPhase(setting, backlog, 0, { seconds: warmUpSeconds });
  const figures: Record<string, number> = {};
  for (const [nth, name] of phaseNames.filter((each) => only.includes(each)).entries()) {
    const phase = phaseOf(name, setting);
    const phaseSeconds = Math.min(seconds, phase.secondsMax);
    // What waits is sent meanwhile: this many more wait at the beginning of a phase that is not the last.
    await backlog.fill(waitsAll(name) ? count : Math.min(count, tpsOfAll * phaseSeconds * 1.5));
    process.stderr.write(`${name}: ${Math.round(await backlog.waiting())} promotional messages wait\n`);
    if (phase.hedging === false) await setHedging(setting, false);
    const outcome = await runPhase(setting, backlog, nth + 1, { ...phase, seconds: phaseSeconds });
    if (phase.hedging === false) await setHedging(setting, true);
    // At once: a later phase may fail, and all of them take half an hour.
    process.stderr.write(`${name}: ${JSON.stringify(outcome.figures)}\n`);
    for (const [figure, value] of Object.entries(outcome.figures)) figures[`${name}_${figure}`] = value;
    if (name === 'steady' && picture !== null) drawPicture(picture, setting, outcome, count);
  }
  return {
    load: `${setting.rate} OTP/s, each of another number, address and device, ${verifiedShare * 100} % entered as the SMS shows them, to carriers of 200, 500 and 1,000 TPS, handset ${usualHandset} ms, ${count} promotional messages waiting`,
    figures,
  };
}

function targetsOf(name: PhaseName, count: number): Target[] {
  const steady: Target[] = [
    { figure: 'steady_platform_p999_ms', op: '<=', bound: 50 },
    { figure: 'steady_delivered_p999_ms', op: '<=', bound: 1_000 },
    { figure: 'steady_waiting_at_begin', op: '>=', bound: count },
    ...zero('steady_refused', 'steady_without_receipt', 'steady_without_code', 'steady_verified_wrongly'),
  ];
  return [
    ...(name === 'steady' ? steady : []),
    // No carrier gets more than its contract, however slow its subscribers' handsets are.
    ...(waitsAll(name) ? zero(`${name}_throttled`) : []),
    ...zero(`${name}_lost`, `${name}_duplicated`),
  ];
}

/** Nothing goes wrong in it: the carriers are at their contracts to its end. */
function waitsAll(name: PhaseName): boolean {
  return name === 'steady' || name === 'heavy_tail' || name === 'heavy_tail_unhedged';
}

function drawPicture(file: string, { rate }: Setting, { platform, delivered, handset }: Outcome, count: number): void {
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
  writeFileSync(file, svg);
}
