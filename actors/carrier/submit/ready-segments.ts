// Segments whose intent is durable and that are not written yet: those of OTP first, each class in the order of its
// tokens. Messages are chosen ahead of their turn, by as long as an intent takes (pacing.ts): without this order an OTP
// would wait for all promotional messages that were chosen before it came. It never writes and never waits.
import type { Category } from '../../../model/message.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';

export type ReadySegment = { readonly inFlight: InFlightMessage; readonly segment: number };

/** Taken entries are dropped from the front of the array at this many. */
const takenMax = 1_024;

export class ReadySegments {
  readonly #otp = new Line();
  readonly #others = new Line();

  get size(): number {
    return this.#otp.size + this.#others.size;
  }

  /** How many are written before one of this category that becomes ready now. */
  sizeAhead(category: Category): number {
    return category === 'otp' ? this.#otp.size : this.size;
  }

  /** The segments of one message are pushed together, so that they stay adjacent. */
  push(ready: ReadySegment): void {
    (ready.inFlight.category === 'otp' ? this.#otp : this.#others).push(ready);
  }

  /**
   * The one to write next. Segments of messages that have left `sending` are dropped, at both fronts: before such a
   * message may be chosen again, nothing of it is here.
   */
  peek(): ReadySegment | undefined {
    const otp = this.#otp.peek();
    const other = this.#others.peek();
    return otp ?? other;
  }

  /** Takes what `peek` returned. */
  shift({ inFlight }: ReadySegment): void {
    (inFlight.category === 'otp' ? this.#otp : this.#others).shift();
  }

  /** Whether a message has waited here since an intent before this monotonic time. */
  hasIntentsBefore(atMs: number): boolean {
    return [this.#otp, this.#others].some((line) => {
      const first = line.peek();
      return first !== undefined && first.inFlight.intentAtMs <= atMs;
    });
  }

  /** Removes the messages in `sending` for which `isSo` holds, and returns them. */
  takeBack(isSo: (inFlight: InFlightMessage) => boolean): ReadonlySet<InFlightMessage> {
    const back = new Set<InFlightMessage>();
    for (const line of [this.#otp, this.#others]) {
      line.keep(({ inFlight }) => {
        if (inFlight.state === 'sending' && isSo(inFlight)) back.add(inFlight);
        return !back.has(inFlight);
      });
    }
    return back;
  }
}

/** First in, first out; without the segments whose message has left `sending`. */
class Line {
  #entries: ReadySegment[] = [];
  #at = 0;

  get size(): number {
    return this.#entries.length - this.#at;
  }

  push(ready: ReadySegment): void {
    this.#entries.push(ready);
  }

  peek(): ReadySegment | undefined {
    for (;;) {
      const first = this.#entries[this.#at];
      if (first === undefined || first.inFlight.state === 'sending') return first;
      this.shift();
    }
  }

  shift(): void {
    this.#at += 1;
    if (this.#at < this.#entries.length && this.#at <= takenMax) return;
    this.#entries = this.#entries.slice(this.#at);
    this.#at = 0;
  }

  keep(isKept: (ready: ReadySegment) => boolean): void {
    this.#entries = this.#entries.slice(this.#at).filter(isKept);
    this.#at = 0;
  }
}
