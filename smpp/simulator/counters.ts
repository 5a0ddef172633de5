// The simulator's counters: plain numbers, because every PDU changes them. stats.ts reports them.
import { epochUs } from '../../platform/clock.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import { SlidingRate } from './sliding-rate.ts';

/** A message that carries its intended send time (epoch µs): when its receipt was answered with status 0. */
export type OnReceiptAcked = (intendedUs: number, ackedAtUs: number) => void;

export class Counters {
  readonly #onReceiptAcked: OnReceiptAcked;
  binds = 0;
  bindsRefused = 0;
  connections = 0;
  submits = 0;
  accepted = 0;
  throttled = 0;
  parts = 0;
  unanswered = 0;
  enquireLinks = 0;
  queries = 0;
  cancels = 0;
  canceled = 0;
  handshakesFailed = 0;
  broken = 0;
  receiptsSent = 0;
  receiptsAcked = 0;
  receiptsRetried = 0;
  receiptsRefused = 0;
  receiptsDropped = 0;
  moSent = 0;
  moAcked = 0;
  /** From the intended send time to the client's response to the receipt. */
  intendedToReceiptAcked = new LatencyHistogram();
  readonly submitsByStatus = new Map<number, number>();
  /** 65,536 a second is more than one process can send. */
  readonly rate = new SlidingRate(65_536);

  constructor(onReceiptAcked: OnReceiptAcked) {
    this.#onReceiptAcked = onReceiptAcked;
  }

  countReceiptAcked(intendedUs: number, nowMs: number): void {
    this.receiptsAcked += 1;
    if (intendedUs === 0) return;
    const atUs = epochUs(nowMs);
    this.intendedToReceiptAcked.add(atUs - intendedUs);
    this.#onReceiptAcked(intendedUs, atUs);
  }

  countStatus(status: number): void {
    this.submitsByStatus.set(status, (this.submitsByStatus.get(status) ?? 0) + 1);
  }
}
