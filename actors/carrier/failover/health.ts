// A carrier's health: counts what its binds report, evaluates it a few times a second (health-decision.ts), and
// publishes the state when it changes. On the hot path it only adds.
import { sandboxCarrierName } from '../../../config/configuration.ts';
import type { DesiredState } from '../../../cluster/operator-commands/contract.ts';
import type { CarrierState } from '../../../model/carrier-state.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { RecentShare, unusualShare } from '../../../policy/otp-hedging/recent-share.ts';
import { type HealthMemory, type FailoverPolicy, type Signs, decideHealth, freshHealth } from './health-decision.ts';

export type CarrierHealthParts = {
  readonly carrier: string;
  readonly clock: Clock;
  readonly rules: FailoverPolicy;
  /** At every evaluation that changes something, and every second. */
  readonly publish: (state: CarrierState, why: string) => void;
};

const bucketMs = 10_000;
/** A receipt is missing when its submit is this many buckets old. */
const bucketsUntilDue = 6;

export class CarrierHealth {
  readonly #parts: CarrierHealthParts;
  rules: FailoverPolicy;
  #memory: HealthMemory;
  #lookedAtMs: number;
  #publishedAtMs = Number.NEGATIVE_INFINITY;
  #desiredState: DesiredState = 'running';
  #answers = 0;
  #faults = 0;
  #answerMsSum = 0;
  /** Of the one-time passwords that could be hedged: those that were not answered in time. */
  #lateAnswers = new RecentShare(limits.carrierHealth.hedgeableLast);
  /** Those whose receipt did not come in time: of the last ones, and as usual. */
  #lateReceipts = new RecentShare(limits.carrierHealth.hedgeableLast);
  #usualLateReceipts = new RecentShare(limits.carrierHealth.lateReceiptsUsual.last);
  #receipts = 0;
  #due = 0;
  #sendsReceipts = false;
  #submitted: number[] = [0];
  #bucketAtMs: number;

  constructor(parts: CarrierHealthParts) {
    this.#parts = parts;
    this.rules = parts.rules;
    this.#lookedAtMs = parts.clock.monotonicMs();
    this.#bucketAtMs = this.#lookedAtMs;
    this.#memory = freshHealth(this.#lookedAtMs);
  }

  get state(): CarrierState {
    return this.#desiredState === 'running' ? this.#memory.state : 'down';
  }

  get why(): string {
    return this.#desiredState === 'running' ? this.#memory.why : this.#desiredState;
  }

  /** How long it has been without a fault, and when it is good again if none comes; null otherwise. */
  get recovering(): { readonly forMs: number; readonly goodInMs: number } | null {
    const { state, faultSinceMs, clearSinceMs, holdMs } = this.#memory;
    if (this.#desiredState !== 'running' || state === 'good' || faultSinceMs !== null) return null;
    const forMs = this.#parts.clock.monotonicMs() - clearSinceMs;
    return { forMs, goodInMs: Math.max(0, holdMs - forMs) };
  }

  /** An operator's command takes precedence, at once; after it the counts start from zero. */
  command(desiredState: DesiredState): void {
    if (desiredState === this.#desiredState) return;
    this.#desiredState = desiredState;
    this.#endUnpublished(desiredState);
    this.#memory = freshHealth(this.#parts.clock.monotonicMs());
    this.#publish();
  }

  /** Other nodes evaluate it from now on; when it is ours again the counts start from zero. */
  forget(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    this.#fade(nowMs);
    this.#endUnpublished('others have its binds');
    this.#memory = freshHealth(nowMs);
    this.#answers = 0;
    this.#faults = 0;
    this.#answerMsSum = 0;
    this.#lateAnswers.fade(0);
    this.#lateReceipts.fade(0);
    this.#usualLateReceipts.fade(0);
  }

  /** The share of one-time passwords that it does not answer in time; null while there are too few. */
  get lateShare(): number | null {
    return this.#lateAnswers.share(limits.carrierHealth.hedgeableMin);
  }

  /** A one-time password that may be hedged was answered in time, or late. */
  onHedgeable(isLate: boolean): void {
    this.#lateAnswers.add(isLate);
  }

  /** The share of one-time passwords without a receipt in time, without what is usual; null while there are too few. */
  get lateReceiptShare(): number | null {
    const { hedgeableMin, lateReceiptsUsual: bounds } = limits.carrierHealth;
    const recent = this.#lateReceipts.share(hedgeableMin);
    return recent === null ? null : unusualShare(recent, this.#usualLateReceipts.share(bounds.countMin), bounds);
  }

  /** The receipt of a one-time password that may be hedged came in time, or is late. */
  onReceiptDue(isLate: boolean): void {
    this.#lateReceipts.add(isLate);
    this.#usualLateReceipts.add(isLate);
  }

  /** An answer after `tookMs`; `isFault`: it speaks against the carrier and not against the message. */
  onAnswer(isFault: boolean, tookMs: number): void {
    this.#answers += 1;
    this.#answerMsSum += tookMs;
    if (isFault) this.#faults += 1;
  }

  onNoAnswer(): void {
    this.#answers += 1;
    this.#faults += 1;
  }

  onSubmitted(): void {
    this.#submitted[0] = (this.#submitted[0] ?? 0) + 1;
  }

  onReceipt(): void {
    this.#receipts += 1;
  }

  /** True when the state has changed. */
  look(bound: number, otpWaitMs = 0): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    this.#fade(nowMs);
    if (this.#desiredState !== 'running') {
      if (nowMs - this.#publishedAtMs >= limits.heartbeats.publishEveryMs) this.#publish();
      return false;
    }
    const before = this.#memory;
    this.#memory = decideHealth(before, this.#signs(bound, otpWaitMs), nowMs, this.rules);
    const { state, why } = this.#memory;
    const changed = state !== before.state;
    if (changed) {
      const facts = { carrier: this.#parts.carrier, state, why: why || before.why };
      const isPlayed = this.#parts.carrier === sandboxCarrierName;
      // Logged at the level of the fault's beginning: the log must also show the end of an outage.
      if (state === 'good') log[isPlayed ? 'info' : 'warn'](facts, 'the carrier is good again');
      else if (isPlayed) log.info(facts, 'the sandbox simulates a faulty carrier');
      else log.warn({ alarm: `carrier_${state}`, ...facts }, 'the carrier is avoided');
    }
    if (changed || why !== before.why || nowMs - this.#publishedAtMs >= limits.heartbeats.publishEveryMs) {
      this.#publish();
    }
    return changed;
  }

  /** Ends in the log a fault that will not be evaluated further. */
  #endUnpublished(because: string): void {
    const { state } = this.#memory;
    const { carrier } = this.#parts;
    if (state === 'good' || carrier === sandboxCarrierName) return;
    log.warn({ carrier, was: state, because }, 'the health evaluation of the carrier was reset');
  }

  #publish(): void {
    this.#publishedAtMs = this.#parts.clock.monotonicMs();
    this.#parts.publish(this.state, this.why);
  }

  #signs(bound: number, otpWaitMs: number): Signs {
    const { answersMin, receiptsMin, receiptShareUsual } = limits.carrierHealth;
    const enough = this.#answers >= answersMin;
    const receiptShare = this.#due >= receiptsMin ? this.#receipts / this.#due : null;
    if (receiptShare !== null && receiptShare >= receiptShareUsual) this.#sendsReceipts = true;
    return {
      bound,
      errorShare: enough ? this.#faults / this.#answers : null,
      answerMs: enough ? this.#answerMsSum / this.#answers : null,
      lateShare: this.lateShare,
      lateReceiptShare: this.lateReceiptShare,
      otpWaitMs,
      receiptShare: this.#sendsReceipts ? receiptShare : null,
    };
  }

  #fade(nowMs: number): void {
    const passedMs = nowMs - this.#lookedAtMs;
    this.#lookedAtMs = nowMs;
    const answersLeft = Math.exp(-passedMs / limits.carrierHealth.answersFadeMs);
    this.#answers *= answersLeft;
    this.#faults *= answersLeft;
    this.#answerMsSum *= answersLeft;
    this.#lateAnswers.fade(Math.exp(-passedMs / limits.carrierHealth.hedgeableFadeMs));
    this.#lateReceipts.fade(Math.exp(-passedMs / limits.carrierHealth.lateReceiptsFadeMs));
    const receiptsLeft = Math.exp(-passedMs / limits.carrierHealth.receiptsFadeMs);
    this.#receipts *= receiptsLeft;
    this.#due *= receiptsLeft;
    if (nowMs - this.#bucketAtMs < bucketMs) return;
    this.#bucketAtMs = nowMs;
    this.#submitted.unshift(0);
    if (this.#submitted.length > bucketsUntilDue) this.#due += this.#submitted.pop() ?? 0;
  }
}
