// How one endpoint has failed since its last success: the failures in a row and, after enough of them, that it fails as
// a whole. Both are stored, so that a restart starts neither count again.
import type { SendError } from '../send/send-error.ts';
import { type Failing, type FailureStreak, failed, lengthened } from './schedule.ts';

/** What is known of the endpoint when its worker begins. */
export type FailedBefore = { readonly failing: Failing | null; readonly streak: FailureStreak | null };

export type FailureOwner = {
  /** It began to fail as a whole, failed again, or (null) works. */
  changed(failing: Failing | null): void;
  /** The failures in a row are to be stored, or (null) not any more. */
  keepStreak(streak: FailureStreak | null): void;
};

export class EndpointFailures {
  readonly #owner: FailureOwner;
  #failing: Failing | null;
  #streak: FailureStreak | null;
  /** The streak that is stored. */
  #kept: FailureStreak | null;

  constructor({ failing, streak }: FailedBefore, owner: FailureOwner) {
    this.#owner = owner;
    this.#failing = failing;
    this.#streak = failing === null ? streak : { ...failing, failures: failing.tries };
    this.#kept = streak;
  }

  /** Null: it does not fail as a whole. */
  get failing(): Failing | null {
    return this.#failing;
  }

  get isNone(): boolean {
    return this.#streak === null;
  }

  /** A request failed. Returns how many did in a row. */
  add(error: SendError, webhookId: string, nowMs: number): number {
    this.#streak = lengthened(this.#streak, { error, webhookId }, nowMs);
    return this.#streak.failures;
  }

  /** The one that was added last makes it fail as a whole, or is one more try of such an endpoint. */
  failAsWhole(failure: Parameters<typeof failed>[2], nowMs: number): Failing {
    const streak = this.#streak ?? lengthened(null, { error: failure.error, webhookId: '' }, nowMs);
    return this.#set(failed(this.#failing, streak, failure, nowMs));
  }

  /** Changes what is known of one that fails as a whole; nothing when it does not. */
  change(of: Partial<Failing>): void {
    if (this.#failing !== null) this.#set({ ...this.#failing, ...of });
  }

  /** Only one event, or one batch, has failed, and this is another one. */
  isOther(webhookId: string): boolean {
    const only = this.#failing?.onlyWebhookId ?? null;
    return only !== null && only !== webhookId;
  }

  /** Such a one is at this place of the line: it is tried at once, so that the one does not hold it up. */
  tryNext(seq: number, nowMs: number): void {
    if (this.#failing === null || this.#failing.onlyWebhookId === null || this.#failing.nextTryAtMs <= nowMs) return;
    this.change({ nextTryAtMs: nowMs, triedSeq: seq - 1 });
  }

  /** It works, or its account has changed it. True when it failed as a whole until now. */
  end(): boolean {
    const wasWhole = this.#failing !== null;
    this.#streak = this.#failing = null;
    if (wasWhole) this.#owner.changed(null);
    this.#forgetKept();
    return wasWhole;
  }

  /** Stores the streak: called while nothing is sent, because the next request of a busy endpoint changes it soon. */
  keep(): void {
    if (this.#failing !== null || this.#streak === this.#kept) return;
    this.#kept = this.#streak;
    this.#owner.keepStreak(this.#streak);
  }

  #set(failing: Failing): Failing {
    this.#failing = failing;
    this.#owner.changed(failing);
    this.#forgetKept();
    return failing;
  }

  #forgetKept(): void {
    if (this.#kept !== null) this.#owner.keepStreak(null);
    this.#kept = null;
  }
}
