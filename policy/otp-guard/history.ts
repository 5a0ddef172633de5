// What the guard remembers of one block of an account's numbers: who waits for a code to be entered, what was verified,
// and the statistics of the tests. Numbers appear as their open digits only.
import { FadingCount } from './fading-count.ts';
import type { Conversion } from './conversion.ts';
import type { GuardModes, NumberBlock, OpenDigits } from './contract.ts';
import { thresholds } from './thresholds.ts';
import { UndeliveredRun, type UsualCodes } from './undelivered-run.ts';

/** The rules that have a statistic, in the order in which they are asked. */
export const conversionTests = ['conversion', 'partial_conversion'] as const;
export type ConversionTest = (typeof conversionTests)[number];

/** A statistic that reached its threshold. */
export type Alarm = Pick<NumberBlock, 'statistic' | 'threshold'> & { readonly rule: ConversionTest | 'sequence' };

export class History {
  readonly prefix: string;
  readonly openDigits: OpenDigits;
  /** The open digits of numbers whose code was sent in the last two minutes and not entered. */
  readonly pending = new Set<number>();
  /** Of these, of 10^4 numbers, those whose code is only about to be sent. */
  readonly notAccepted = new Set<number>();
  /** How many times the codes of these numbers were sent again. */
  resends = 0;
  /** The carrier of the last code. */
  carrier = '';
  lastVerifiedAtMs = Number.NEGATIVE_INFINITY;
  readonly undelivered = new UndeliveredRun();
  /** They do not depend on the modes of the rules: who acts on them asks for the modes. */
  readonly #statistics: Record<ConversionTest, number> = { conversion: 0, partial_conversion: 0 };
  /**
   * Since when an alarm waits, because receipts fell too: of the tests that are on together, of each other one by itself.
   */
  #alarmsSinceMs: Partial<Record<ConversionTest | 'on', number>> = {};
  #lastMissed = -1;
  readonly #verified = new FadingCount(thresholds.maturityMs);
  #givenUp = new FadingCount(thresholds.maturityMs);
  readonly #usual = new FadingCount(thresholds.usualMs);

  constructor(prefix: string, openDigits: OpenDigits) {
    this.prefix = prefix;
    this.openDigits = openDigits;
  }

  /**
   * Messages of the numbers that wait, less those that verifications of the last minutes make credible: a code that is
   * sent again costs as much as another one.
   */
  unproven(nowMs: number): number {
    return this.pending.size + this.resends + this.#givenUp.value(nowMs) - this.#verified.value(nowMs);
  }

  /** There was no more room for a code that waits: its messages still count for about as long. */
  giveUp(messages: number, nowMs: number): void {
    this.#givenUp.add(nowMs, messages);
  }

  /** The numbers that wait and whose code was accepted. */
  *accepted(): Iterable<number> {
    for (const openDigits of this.pending) if (!this.notAccepted.has(openDigits)) yield openDigits;
  }

  /**
   * How many messages may wait: a fixed number, fewer in a suspicious block, or five times what is usual here in two
   * minutes.
   */
  cap(nowMs: number, usualConversion: number, modes: GuardModes): number {
    const anHour = this.#usual.value(nowMs) / usualConversion;
    const usual = (anHour * thresholds.maturityMs) / thresholds.usualMs;
    const fixed =
      thresholds.velocity[this.openDigits] * (this.isSuspiciousTo(modes) ? thresholds.velocitySuspicious : 1);
    return Math.max(fixed, thresholds.velocityTimesUsual * usual);
  }

  verified(nowMs: number): void {
    this.#verified.add(nowMs);
    this.#usual.add(nowMs);
    this.lastVerifiedAtMs = nowMs;
  }

  /**
   * A code whose two minutes are over. Those entered wait as long as the others, so that the end of a busy time, when only
   * misses are left, is no alarm. The same number missed twice in a row counts once: one person tried again. `waited`: as in
   * nextStatistic.
   */
  judge(isVerified: boolean, to: string, { usual, partial }: Conversion, waited = 1): void {
    const openDigits = openDigitsOf(to, this.openDigits);
    if (!isVerified && openDigits === this.#lastMissed) return;
    this.#lastMissed = isVerified ? -1 : openDigits;
    // Beyond its threshold a statistic says nothing more, and an ordinary block must come back.
    const most = thresholds.alarm[this.openDigits] * 1.5;
    const next = (statistic: number, fraud: number) =>
      Math.min(most, nextStatistic(statistic, isVerified, usual, fraud, waited));
    const statistics = this.#statistics;
    statistics.conversion = next(statistics.conversion, thresholds.fraudConversion);
    if (partial !== null) statistics.partial_conversion = next(statistics.partial_conversion, partial);
  }

  /** Null: the test has not reached its threshold. */
  alarm(rule: ConversionTest): Alarm | null {
    const [statistic, threshold] = [this.#statistics[rule], thresholds.alarm[this.openDigits]];
    return statistic >= threshold ? { rule, statistic, threshold } : null;
  }

  /** How long an alarm of the test has waited; 0 at first. */
  alarmWaitedMs(rule: ConversionTest, { [rule]: mode }: GuardModes, nowMs: number): number {
    const waiting = mode === 'on' ? 'on' : rule;
    this.#alarmsSinceMs[waiting] ??= nowMs;
    return nowMs - this.#alarmsSinceMs[waiting];
  }

  /** Its misses were those of an outage, or it is blocked now and restarts near its threshold. */
  restart(share: RestartShare): void {
    this.restartTest('conversion', share);
    this.#alarmsSinceMs = {};
    const { conversion, partial_conversion: partial } = this.#statistics;
    this.#statistics.partial_conversion = Math.min(partial, conversion);
  }

  /** The same for one test, which blocks nothing: in shadow mode, or off. */
  restartTest(rule: ConversionTest, share: RestartShare): void {
    delete this.#alarmsSinceMs[rule];
    this.#statistics[rule] = thresholds.alarm[this.openDigits] * share;
  }

  /** A person said that its numbers are legitimate: what was counted against them is forgotten. */
  forgetCounts(): void {
    this.restart(0);
    this.#lastMissed = -1;
    this.#givenUp = new FadingCount(thresholds.maturityMs);
  }

  /** The codes that were usual here before those that do not arrive. */
  usualCodes(usualConversion: number): UsualCodes {
    const { sinceMs } = this.undelivered;
    const { excusedCodes } = thresholds.undelivered;
    const codesMax = this.openDigits === 4 ? excusedCodes : this.#usual.value(sinceMs) / usualConversion;
    return { perMs: this.#usual.rate(sinceMs) / usualConversion, codesMax };
  }

  /** Whether a new history would say the same but for what is usual. */
  get isIdle(): boolean {
    return this.pending.size === 0 && Math.max(...Object.values(this.#statistics)) === 0;
  }

  /** By any test, whatever its mode: what is counted here says nothing about other numbers, nor what is usual. */
  get isSuspicious(): boolean {
    return conversionTests.some((rule) => this.#isSuspiciousBy(rule));
  }

  /** By a test that is on: only such a one changes what is refused. */
  isSuspiciousTo(modes: GuardModes): boolean {
    return conversionTests.some((rule) => modes[rule] === 'on' && this.#isSuspiciousBy(rule));
  }

  #isSuspiciousBy(rule: ConversionTest): boolean {
    return this.#statistics[rule] > thresholds.alarm[this.openDigits] * thresholds.suspiciousShare;
  }

  /** Whether codes are entered here, so that a block of 10^6 numbers around it does not concern it. */
  isSpared(nowMs: number, modes: GuardModes): boolean {
    return nowMs - this.lastVerifiedAtMs <= thresholds.sparedMs && !this.isSuspiciousTo(modes);
  }
}

/** Of the threshold. */
type RestartShare = 0 | typeof thresholds.afterBlock;

/** A block of numbers is named by what they begin with. */
export function prefixOf(to: string, openDigits: OpenDigits): string {
  return to.slice(0, -openDigits);
}

export function openDigitsOf(to: string, openDigits: OpenDigits): number {
  return Number(to.slice(-openDigits));
}

/**
 * The cumulative sum test (Page 1954) for a fall of the share of codes that are entered: each code adds the logarithm of its
 * likelihood under fraud over that under ordinary use, and the sum never falls below 0. The statistic after one more code.
 * `usual` and `fraud` are the shares of codes entered in ordinary use and under fraud. `waited`: the share of those who
 * enter their code that have done so by now; a miss that is judged sooner says less.
 *
 * ```ts
 * nextStatistic(0, false, 0.7, 0.05); // 1.15: one miss
 * nextStatistic(3, true, 0.7, 0.05); // 0.36: a verification takes 2.64
 * nextStatistic(0, false, 0.7, 0.05, 0.5); // 0.41: a miss when half of those who enter theirs have
 * ```
 */
export function nextStatistic(
  statistic: number,
  isVerified: boolean,
  usual: number,
  fraud: number,
  waited = 1,
): number {
  const step = isVerified ? Math.log(fraud / usual) : Math.log((1 - fraud * waited) / (1 - usual * waited));
  return Math.max(0, statistic + step);
}
