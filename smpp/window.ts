// The send window: at most windowPdusMax submits wait for a response (SMPP 3.4 §2.9). All deadlines have the same
// length, so the order of sending is the order of expiry and a sweep checks only the oldest: no timer per PDU. It never
// touches the socket.
import { assert } from '../platform/assert.ts';

type Entry<T> = { token: T; sentAtMs: number };

export class Window<T> {
  readonly pdusMax: number;
  readonly #responseTimerMs: number;
  readonly #waiting = new Map<number, Entry<T>>();
  /** Expired submits: a late response still has the carrier's id. As many as the window, oldest dropped first. */
  readonly #late = new Map<number, T>();
  #lastSequence: number;

  constructor(pdusMax: number, responseTimerMs: number, firstSequence = 1) {
    assert(pdusMax >= 1 && responseTimerMs > 0, 'a window needs room for one PDU and an end to waiting');
    this.pdusMax = pdusMax;
    this.#responseTimerMs = responseTimerMs;
    this.#lastSequence = firstSequence - 1;
  }

  get size(): number {
    return this.#waiting.size;
  }

  get free(): number {
    return this.pdusMax - this.#waiting.size;
  }

  /** The next free sequence number, 1..0x7fffffff, for every request, not only submits. */
  nextSequence(): number {
    do {
      this.#lastSequence = this.#lastSequence >= sequenceMax ? 1 : this.#lastSequence + 1;
    } while (this.#waiting.has(this.#lastSequence));
    return this.#lastSequence;
  }

  /** Takes a slot and returns its sequence number; 0 when the window is full. */
  take(token: T, nowMs: number): number {
    if (this.#waiting.size >= this.pdusMax) return 0;
    const sequence = this.nextSequence();
    this.#waiting.set(sequence, { token, sentAtMs: nowMs });
    return sequence;
  }

  /** Removes and returns the submit of this response; undefined when there is none. */
  settle(sequence: number): Entry<T> | undefined {
    const entry = this.#waiting.get(sequence);
    if (entry) this.#waiting.delete(sequence);
    return entry;
  }

  /** Removes and returns the expired submit of a late response. */
  settleLate(sequence: number): T | undefined {
    const token = this.#late.get(sequence);
    if (token !== undefined) this.#late.delete(sequence);
    return token;
  }

  /** Expires every submit whose response is overdue. */
  expire(nowMs: number, onExpired: (token: T) => void): void {
    for (const [sequence, entry] of this.#waiting) {
      if (nowMs - entry.sentAtMs < this.#responseTimerMs) return;
      this.#waiting.delete(sequence);
      if (this.#late.size >= this.pdusMax) this.#late.delete(this.#late.keys().next().value!);
      this.#late.set(sequence, entry.token);
      onExpired(entry.token);
    }
  }

  /** Empties the window and returns the tokens in the order of sending. */
  failAll(): T[] {
    const tokens = Array.from(this.#waiting.values(), (entry) => entry.token);
    this.#waiting.clear();
    this.#late.clear();
    return tokens;
  }
}

const sequenceMax = 0x7fffffff;
