// Which share of a carrier's contract promotional messages use beside OTP. It follows the times that the intents of OTP
// take in this thread, as congestion control does: too many slow ones and the share falls, none and it grows back, along
// the curve of CUBIC (RFC 9438, section 4.2): soon to just below the share at which OTP were late, then hardly, and only
// after some seconds beyond it. An intent passes the bus and this thread twice, so it is slow when a full machine makes OTP
// wait. Decision 177.
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RecentSlowness, SlowTimes } from '../../../platform/slow-times.ts';
import { metrics } from '../../../platform/telemetry.ts';

const { shareMin, shrinkTo, shrinkEveryMs, growth, marginMs, otpMin, beginsAt, doublesWithinMs, pauseMs } =
  limits.carrier.campaignShare;
const { perCubicS, oneMomentMs } = growth;

export class CampaignShare {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #times = new SlowTimes(marginMs);
  readonly #slowness: RecentSlowness;
  #share = 1;
  /** The share at which OTP were late, and since when they are. */
  #peak = 1;
  #peakAtMs = Number.NEGATIVE_INFINITY;
  /** The share that is left of it, and since when it grows. */
  #low = 1;
  #growsSinceMs = Number.NEGATIVE_INFINITY;
  /** No OTP was late since OTP and promotional messages came together: the share doubles instead of growing slowly. */
  #isBeginning = false;
  #shrunkAtMs = Number.NEGATIVE_INFINITY;
  #promotionalAtMs = Number.NEGATIVE_INFINITY;
  #togetherAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#slowness = new RecentSlowness(clock, limits.carrier.campaignShare);
  }

  /** The intent of an OTP of any carrier of this thread was durable after so long. */
  otpTook(ms: number): void {
    const isSlow = this.#times.note(ms);
    this.#slowness.add({ count: 1, slow: isSlow ? 1 : 0 });
    const nowMs = this.#clock.monotonicMs();
    this.#lookTogether(nowMs);
    if (nowMs - this.#promotionalAtMs > pauseMs || !isSlow || !this.#slowness.isTooMuch) return;
    if (nowMs - this.#shrunkAtMs < shrinkEveryMs) return;
    this.#isBeginning = false;
    // A short disturbance shrinks it several times: that OTP were late at the lower shares, too, says nothing of these.
    if (nowMs - this.#peakAtMs > oneMomentMs) {
      this.#peak = this.#share;
      this.#peakAtMs = nowMs;
    }
    this.#low = Math.max(shareMin, this.#share * shrinkTo);
    this.#become(this.#low);
    this.#shrunkAtMs = this.#growsSinceMs = nowMs;
  }

  /** The share of a promotional message that is chosen now: shareMin to 1. */
  ofNext(): number {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = nowMs - this.#promotionalAtMs;
    this.#promotionalAtMs = nowMs;
    if (this.#slowness.isTooMuch) this.#growsSinceMs = nowMs;
    else if (this.#share < 1) {
      const grown = this.#isBeginning ? this.#share * 2 ** (sinceMs / doublesWithinMs) : this.#grownTo(nowMs);
      this.#become(Math.min(1, grown));
    }
    this.#lookTogether(nowMs);
    return this.#share;
  }

  /** RFC 9438, figure 1, with shares in place of windows. */
  #grownTo(nowMs: number): number {
    const toPeakS = Math.cbrt((this.#peak - this.#low) / perCubicS);
    return this.#peak + perCubicS * ((nowMs - this.#growsSinceMs) / 1_000 - toPeakS) ** 3;
  }

  #lookTogether(nowMs: number): void {
    if (nowMs - this.#promotionalAtMs > pauseMs) return this.#become(1);
    if (this.#slowness.count < otpMin) return;
    const isNew = nowMs - this.#togetherAtMs > pauseMs;
    this.#togetherAtMs = nowMs;
    if (!isNew) return;
    this.#isBeginning = true;
    this.#become(Math.min(this.#share, beginsAt));
  }

  #become(share: number): void {
    if (share === this.#share) return;
    this.#share = share;
    metrics.campaignWithheld.set(1 - share);
  }
}

/** When the next promotional message of one carrier may be chosen while they have a share of its contract only. */
export class CampaignPace {
  readonly #share: CampaignShare;
  #nextAtMs = Number.NEGATIVE_INFINITY;

  constructor(share: CampaignShare) {
    this.#share = share;
  }

  /** 0: now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#nextAtMs - nowMs);
  }

  /** One of `segments` was chosen; `ratePerS`: segments of the whole contract. At most pacedTogetherMs of lost time is made up. */
  took(segments: number, ratePerS: number, nowMs: number): void {
    const share = this.#share.ofNext();
    if (share === 1) return;
    const earliestMs = nowMs - limits.carrier.pacedTogetherMs;
    this.#nextAtMs = Math.max(this.#nextAtMs, earliestMs) + (segments * 1_000) / (ratePerS * share);
  }
}
