// Decides about enquire_link: one is sent every interval, and a peer that has not answered it when the next is due is
// dead. So a dead peer is detected within two intervals. It does no I/O.

export class Keepalive {
  readonly #intervalMs: number;
  #unanswered = false;
  #lastTickMs = Number.NaN;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Call it every interval. */
  tick(nowMs: number): 'ask' | 'wait' | 'dead' {
    // Our own event loop was blocked: the response may be unread in the socket. Wait one more interval.
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
