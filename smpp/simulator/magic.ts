// The sandbox's magic numbers (API documentation, Sandbox): the last four digits of the recipient decide the outcome of
// a message. For those with temporary refusals it keeps the time of the first refusal per number, bounded.
import { limits } from '../../platform/limits.ts';
import { commandStatus } from '../../model/command-status.ts';
import type { ReceiptState } from '../receipt.ts';

/** `status` is for the submit_sm_resp; the rest shapes the receipt. Absent fields mean the normal outcome. */
export type Fate = {
  status: number;
  /** Delay of a refusal. */
  refusedAfterMs?: number;
  receipt?: boolean;
  state?: ReceiptState;
  errorCode?: string;
  delayMs?: number;
};

export class MagicNumbers {
  readonly #refusedSinceMs = new Map<string, number>();

  /** Undefined for a number without magic. */
  fateOf(destination: string, nowMs: number): Fate | undefined {
    if (destination.charCodeAt(destination.length - 2) !== zero) return undefined;
    const digits = destination.slice(-4);
    const refusal = temporaryRefusals.get(digits);
    if (refusal === undefined) return fates.get(digits);
    return { status: this.#refusing(destination, nowMs, refusal.forMs) ? refusal.status : 0 };
  }

  // Refuses for `forMs` from the first attempt, accepts for a minute (all parts, all retries), then starts over.
  #refusing(destination: string, nowMs: number, forMs: number): boolean {
    let sinceMs = this.#refusedSinceMs.get(destination);
    if (sinceMs === undefined || nowMs - sinceMs > forMs + 60_000) {
      if (this.#refusedSinceMs.size >= limits.simulator.magicNumbersMax) this.#refusedSinceMs.clear();
      sinceMs = nowMs;
      this.#refusedSinceMs.set(destination, nowMs);
    }
    return nowMs - sinceMs < forMs;
  }
}

const zero = 0x30;
/** GSM MAP user error 27, as carriers put it into receipts. */
const absentSubscriber = '027';
const fates = new Map<string, Fate>([
  ['0000', { status: 0, delayMs: 0 }],
  ['0001', { status: 0, state: 'undelivered', errorCode: absentSubscriber }],
  ['0002', { status: commandStatus.ESME_RINVDSTADR }],
  ['0003', { status: 0, state: 'expired' }],
  ['0004', { status: 0, delayMs: 30_000 }],
  ['0005', { status: 0, receipt: false }],
]);
const temporaryRefusals = new Map([
  ['0006', { status: commandStatus.ESME_RTHROTTLED, forMs: 5_000 }],
  ['0007', { status: commandStatus.ESME_RMSGQFUL, forMs: 1_000 }],
]);
