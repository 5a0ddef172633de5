// A sliding window of one second over the segments that the carrier may have counted, wherever its own second begins.
// The carrier counts a segment when it processes it, so each entry is the latest time at which that can have happened:
// assumed at first, then proven by its answer or by a later one on the same bind.
import { AnswerTimes, jitterMs } from './answer-times.ts';

export class SlidingWindow {
  // Ring buffers by segment number, as long as the contract is wide.
  #writtenAtMs: Float64Array;
  #bindOf: Uint16Array;
  /** The number of the next one on the same bind, or none. */
  #nextOnBind: Float64Array;
  /** When it was counted at the latest; `unproven` until an answer shows it. */
  #countedByMs: Float64Array;
  /** The number of the next segment; it only grows. */
  #next = 0;
  /** When the last entry that left the rings was counted at the latest. */
  #formerMs = Number.NEGATIVE_INFINITY;
  #secondMs: number;
  #distrustedUntilMs = Number.NEGATIVE_INFINITY;
  /** When the latest answered segment was written: up to a while ago, and including answers since. */
  #answeredMs = Number.NEGATIVE_INFINITY;
  #freshlyAnsweredMs = Number.NEGATIVE_INFINITY;
  #freshSinceMs = Number.NEGATIVE_INFINITY;
  readonly #binds: Bind[] = [];

  constructor(segmentsPerSecond: number) {
    const size = sizeFor(segmentsPerSecond);
    this.#writtenAtMs = new Float64Array(size);
    this.#bindOf = new Uint16Array(size);
    this.#nextOnBind = new Float64Array(size);
    this.#countedByMs = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
    this.#secondMs = secondFor(segmentsPerSecond);
  }

  /**
   * From when on (monotonic) `segments` more are within the contract, after `ahead` others; more than the contract
   * counts as all of it. While the oldest's answer is overdue, always a second from now.
   */
  availableAtMs(segments: number, nowMs: number, ahead = 0): number {
    const size = this.#countedByMs.length;
    const end = Math.min(ahead + segments, size);
    let latestMs = this.#formerMs;
    for (let nth = Math.max(0, end - segments); nth < end; nth += 1) {
      latestMs = Math.max(latestMs, this.#latestMs((this.#next + nth) % size, nowMs));
    }
    return latestMs + this.#secondMs;
  }

  /** A PDU of `segments` was written to a bind. Returns the number that its answer is reported with. */
  written(segments: number, bind: number, nowMs: number): number {
    const size = this.#countedByMs.length;
    for (let left = Math.min(segments, size); left > 0; left -= 1) this.#add(bind, nowMs);
    return this.#next - 1;
  }

  /** The carrier answered: it has counted this one and all before it on the bind. */
  answered(number: number, bind: number, writtenAtMs: number, atMs: number): void {
    const on = this.#bindAt(bind);
    const isDistrusted = atMs < this.#distrustedUntilMs;
    on.times.add(writtenAtMs, atMs);
    if (atMs - this.#freshSinceMs >= wakingMs) {
      this.#answeredMs = this.#freshlyAnsweredMs;
      this.#freshSinceMs = atMs;
    }
    this.#freshlyAnsweredMs = Math.max(this.#freshlyAnsweredMs, writtenAtMs);
    while (on.first <= number) {
      const at = on.first % this.#countedByMs.length;
      this.#countedByMs[at] = on.times.countedByMs(this.#writtenAtMs[at] as number, atMs, isDistrusted);
      on.first = this.#nextOnBind[at] as number;
    }
  }

  /** No answer will come: counted by now, if at all. */
  unanswered(number: number, bind: number, nowMs: number): void {
    const on = this.#bindAt(bind);
    while (on.first <= number) {
      const at = on.first % this.#countedByMs.length;
      this.#countedByMs[at] = nowMs;
      on.first = this.#nextOnBind[at] as number;
    }
  }

  /** The carrier counted differently from the estimate: for a while at least the fixed jitter is assumed. */
  distrust(nowMs: number): void {
    this.#distrustedUntilMs = nowMs + distrustMs;
  }

  /** Changes the contract; segments already sent still count. */
  resize(segmentsPerSecond: number): void {
    this.#secondMs = secondFor(segmentsPerSecond);
    const size = sizeFor(segmentsPerSecond);
    const before = this.#countedByMs.length;
    if (size === before) return;
    for (let left = before - size, at = this.#next; left > 0; left -= 1, at += 1)
      this.#forget(at % before, Number.NEGATIVE_INFINITY);
    const [writtenAtMs, bindOf, nextOnBind] = [this.#writtenAtMs, this.#bindOf, this.#nextOnBind];
    const countedByMs = this.#countedByMs;
    this.#writtenAtMs = new Float64Array(size);
    this.#bindOf = new Uint16Array(size);
    this.#nextOnBind = new Float64Array(size);
    this.#countedByMs = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
    for (let number = Math.max(0, this.#next - Math.min(size, before)); number < this.#next; number += 1) {
      const [to, from] = [number % size, number % before];
      this.#writtenAtMs[to] = writtenAtMs[from] as number;
      this.#bindOf[to] = bindOf[from] as number;
      this.#nextOnBind[to] = nextOnBind[from] as number;
      this.#countedByMs[to] = countedByMs[from] as number;
    }
  }

  #add(bind: number, nowMs: number): void {
    const size = this.#countedByMs.length;
    const at = this.#next % size;
    this.#forget(at, nowMs);
    const on = this.#bindAt(bind);
    if (on.first === none) on.first = this.#next;
    else this.#nextOnBind[on.last % size] = this.#next;
    on.last = this.#next;
    this.#writtenAtMs[at] = nowMs;
    this.#bindOf[at] = bind;
    this.#nextOnBind[at] = none;
    this.#countedByMs[at] = unproven;
    this.#next += 1;
  }

  /** The oldest leaves the rings; later ones still have to wait for it. */
  #forget(at: number, nowMs: number): void {
    this.#formerMs = Math.max(this.#formerMs, this.#latestMs(at, nowMs));
    if (this.#countedByMs[at] !== unproven) return;
    this.#bindAt(this.#bindOf[at] as number).first = this.#nextOnBind[at] as number;
  }

  #latestMs(at: number, nowMs: number): number {
    const countedByMs = this.#countedByMs[at] as number;
    if (countedByMs !== unproven) return countedByMs;
    const writtenAtMs = this.#writtenAtMs[at] as number;
    const { times } = this.#bindAt(this.#bindOf[at] as number);
    if (!times.isOverdue(writtenAtMs, nowMs)) return writtenAtMs + jitterMs;
    // Only one bind is silent: the carrier is alive, and the other binds must not wait long for it. A carrier that
    // recovers answers one bind before the other: the most recent answers do not count.
    const isFreshOld = nowMs - this.#freshSinceMs >= 2 * wakingMs;
    const answeredMs = isFreshOld ? this.#freshlyAnsweredMs : this.#answeredMs;
    const isAlone = answeredMs - writtenAtMs > aloneMs;
    return isAlone && nowMs - writtenAtMs > aloneHeldMs ? writtenAtMs + jitterMs : nowMs;
  }

  #bindAt(bind: number): Bind {
    return (this.#binds[bind] ??= { times: new AnswerTimes(), first: none, last: none });
  }
}

/** Per bind: its answer times, and its segments that are written and not proven counted, oldest first. */
type Bind = { readonly times: AnswerTimes; first: number; last: number };

const none = Number.POSITIVE_INFINITY;
const unproven = Number.POSITIVE_INFINITY;
const distrustMs = 60_000;
const aloneMs = 500;
const wakingMs = 100;
/** Long enough for a lost packet to be retransmitted. */
const aloneHeldMs = 1_500;

function sizeFor(segmentsPerSecond: number): number {
  // Rounded down: the shares in one second together must not exceed the contract.
  return Math.max(1, Math.floor(segmentsPerSecond));
}

function secondFor(segmentsPerSecond: number): number {
  return 1_000 / Math.min(1, Math.max(segmentsPerSecond, 0.001));
}
