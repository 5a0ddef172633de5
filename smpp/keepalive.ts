// Decides about enquire_link: one is asked every interval, and a peer that has not answered it when the next is
// due is dead. So a peer is found dead within two intervals. Pure, but for remembering the last question.

export class Keepalive {
  readonly #intervalMs: number;
  #unanswered = false;
  #lastTickMs = Number.NaN;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** To be called every interval. */
  tick(nowMs: number): 'ask' | 'wait' | 'dead' {
    // Our own event loop was blocked: the answer may lie unread in the socket. Give it one more interval.
    const stalled = nowMs - this.#lastTickMs > this.#intervalMs * 1.5;
    this.#lastTickMs = nowMs;
    if (this.#unanswered) return stalled ? 'wait' : 'dead';
    this.#unanswered = true;
    return 'ask';
  }

  answered(): void {
    this.#unanswered = false;
  }
}
