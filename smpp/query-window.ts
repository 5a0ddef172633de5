// The query_sm that wait for a response, in a window of their own, so that queries never use a slot of messages. It has
// sequence numbers and deadlines; the session sends and receives.
import type { ReceiptState } from './receipt.ts';

export type QueryAnswer =
  | { ok: true; carrierMessageId: string; state: ReceiptState; errorCode: number; finalDate: string }
  /** The carrier responded with an error: it does not know the message, or not query_sm. */
  | { ok: false; why: 'refused'; status: number }
  | { ok: false; why: 'timeout' | 'closed' };

export type QueryDone = (answer: QueryAnswer) => void;

export class QueryWindow {
  readonly #max: number;
  readonly #timerMs: number;
  readonly #waiting = new Map<number, { done: QueryDone; sentAtMs: number }>();

  constructor(max: number, timerMs: number) {
    this.#max = max;
    this.#timerMs = timerMs;
  }

  get free(): number {
    return this.#max - this.#waiting.size;
  }

  add(sequence: number, done: QueryDone, nowMs: number): void {
    this.#waiting.set(sequence, { done, sentAtMs: nowMs });
  }

  /** False when no query has this sequence number. */
  settle(sequence: number, answer: QueryAnswer): boolean {
    const entry = this.#waiting.get(sequence);
    if (!entry) return false;
    this.#waiting.delete(sequence);
    entry.done(answer);
    return true;
  }

  expire(nowMs: number): void {
    for (const [sequence, { sentAtMs }] of this.#waiting) {
      if (nowMs - sentAtMs < this.#timerMs) return;
      this.settle(sequence, { ok: false, why: 'timeout' });
    }
  }

  failAll(): void {
    for (const sequence of this.#waiting.keys()) this.settle(sequence, { ok: false, why: 'closed' });
  }
}
