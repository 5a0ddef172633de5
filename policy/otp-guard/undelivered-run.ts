// The codes to a block of numbers of which nearly none arrived, since the last one that did: an outage of these numbers, or
// an attack with numbers that cannot be reached? In an outage people ask for as many codes as usual and none arrives. An
// attack comes on top of what people ask for, and theirs arrive: then the run ends. An attack while people ask for nothing
// may still look like an outage. So what an outage excuses is bounded by what is usual, in number and by 30 minutes.
import { thresholds } from './thresholds.ts';

const { outageAgainTimes, outageVolumeTimes, undelivered } = thresholds;

type JudgedCode = { readonly sentAtMs: number; readonly hasReceipt: boolean; readonly isVerified: boolean };

/** How many codes the block usually gets, as follows from those that are entered: what nobody enters never raises it. */
export type UsualCodes = {
  readonly perMs: number;
  /** So many codes in a row may be those of an outage. */
  readonly codesMax: number;
};

export class UndeliveredRun {
  /** How many did not arrive. */
  codes = 0;
  /** When the first of them was sent. */
  #firstAtMs = 0;
  #arrived = 0;
  /** When the last code before the run was sent. */
  #sinceMs = 0;
  /** Receipts since the last outage or block: only where they come is their absence a sign. */
  #receipts = 0;
  #outageSinceMs: number | null = null;

  get sinceMs(): number {
    return this.#sinceMs;
  }

  add({ sentAtMs, hasReceipt, isVerified }: JudgedCode): void {
    if (hasReceipt) this.#receipts += 1;
    if (!hasReceipt && !isVerified) {
      if (this.codes === 0) this.#firstAtMs = sentAtMs;
      this.codes += 1;
      return;
    }
    this.#arrived += 1;
    if (this.#arrived <= this.codes * undelivered.arrivedShare) return;
    this.codes = 0;
    this.#arrived = 0;
    this.#sinceMs = sentAtMs;
    this.#outageSinceMs = null;
  }

  /** Whether a carrier's outage excuses the code sent then: what people may have asked for, also more than once. */
  isOfCarrier(sentAtMs: number, usual: UsualCodes): boolean {
    const hours = Math.max(1, (sentAtMs - this.#firstAtMs) / thresholds.usualMs);
    return this.codes <= undelivered.excusedCodes * hours || this.#isWithin(outageAgainTimes, sentAtMs, usual);
  }

  /** Whether these codes are those of an outage. */
  mayBeOutage(sentAtMs: number, usual: UsualCodes): boolean {
    const { codesMin, receiptsMin } = undelivered;
    return this.codes >= codesMin && this.#receipts >= receiptsMin && this.#isUsual(sentAtMs, usual);
  }

  beginOutage(nowMs: number): void {
    this.forgetReceipts();
    this.#outageSinceMs = nowMs;
  }

  get isOutage(): boolean {
    return this.#outageSinceMs !== null;
  }

  /** Ends the outage when it lasts too long or more is sent than usual: true. */
  endOutage(sentAtMs: number, usual: UsualCodes, nowMs: number): boolean {
    if (this.#outageSinceMs === null) return false;
    if (nowMs - this.#outageSinceMs < undelivered.outageMsMax && this.#isUsual(sentAtMs, usual)) return false;
    this.#outageSinceMs = null;
    return true;
  }

  /** No outage begins before receipts come again: while numbers are blocked, few codes are sent for that reason. */
  forgetReceipts(): void {
    this.#receipts = 0;
  }

  #isUsual(sentAtMs: number, usual: UsualCodes): boolean {
    return this.codes <= usual.codesMax && this.#isWithin(outageVolumeTimes, sentAtMs, usual);
  }

  /** Whether at most so many times as many codes of the run were sent as usual, the last one at `sentAtMs`. */
  #isWithin(times: number, sentAtMs: number, { perMs }: UsualCodes): boolean {
    return this.codes <= times * perMs * (sentAtMs - this.#sinceMs);
  }
}
