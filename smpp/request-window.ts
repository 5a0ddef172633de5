// The requests of one kind that wait for a response (query_sm, cancel_sm), in a window of their own, so that they never
// use a slot of messages. It has sequence numbers and deadlines; the session sends and receives.
import type { ReceiptState } from './receipt.ts';

export type RequestAnswer<Content> =
  | ({ ok: true } & Content)
  /** The carrier responded with an error: it does not know the message, or not the request. */
  | { ok: false; why: 'refused'; status: number }
  | { ok: false; why: 'timeout' | 'closed' };

export type QueryAnswer = RequestAnswer<{ state: ReceiptState; errorCode: number }>;
export type QueryDone = (answer: QueryAnswer) => void;

/** ok: the carrier does not deliver the message any more. */
export type CancelAnswer = RequestAnswer<unknown>;
export type CancelDone = (answer: CancelAnswer) => void;

export class RequestWindow<Content> {
  readonly #max: number;
  readonly #timerMs: number;
  readonly #waiting = new Map<number, { done: (answer: RequestAnswer<Content>) => void; sentAtMs: number }>();

  constructor(max: number, timerMs: number) {
    this.#max = max;
    this.#timerMs = timerMs;
  }

  get free(): number {
    return this.#max - this.#waiting.size;
  }

  add(sequence: number, done: (answer: RequestAnswer<Content>) => void, nowMs: number): void {
    this.#waiting.set(sequence, { done, sentAtMs: nowMs });
  }

  /** False when no request has this sequence number. */
  settle(sequence: number, answer: RequestAnswer<Content>): boolean {
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
