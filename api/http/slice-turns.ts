// Shares the event loop between bulk work, such as batches, in slices: one slice per turn, first come, first served, so
// that other requests wait for one slice at most. While single messages arrive, bulk work pauses between slices,
// because its load on the bus and the carriers delays them too (decisions 166 and 174). Only a few large batches run at
// a time, so that each ends soon after it has begun.
import { type Clock, nextTurn, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { Turns } from '../../platform/turns.ts';
import { BulkPace } from './bulk-pace.ts';

const { sliceMs, firstItems, atOnceMax, atOnceBesideSingles, largeFrom, waitMsMax, besideSingles } = limits.http.batch;

/** prompt: without a pause · texts: work of this thread only · messages: accepts messages, at the pace of bulk work. */
export type SliceKind = 'prompt' | 'texts' | 'messages';

type Pace = Pick<BulkPace, 'pauseMs' | 'itemsPerSlice' | 'tookMessage'>;

export class SliceTurns {
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #turns: Readonly<Record<SliceKind, Turns>>;
  #lastSingleAtMs = Number.NEGATIVE_INFINITY;
  #largeAtWork = 0;
  /** First come, first served. */
  readonly #waiting = new Set<(hasPlace: boolean) => void>();

  constructor(clock: Clock = systemClock, pace: Pace = new BulkPace(clock)) {
    this.#clock = clock;
    this.#pace = pace;
    const besides = (pauseMs: () => number) =>
      new Turns(() => {
        const waitMs = this.#hasSingles() ? pauseMs() : 0;
        return waitMs < 1 ? nextTurn() : clock.sleep(waitMs);
      });
    this.#turns = {
      prompt: new Turns(nextTurn),
      texts: besides(() => besideSingles.pauseMs),
      messages: besides(() => pace.pauseMs),
    };
  }

  /** Notes a single message: bulk work pauses between slices for the next moment. */
  singleArrived(): void {
    this.#lastSingleAtMs = this.#clock.monotonicMs();
  }

  /** The slices of one piece of work; the first begins in the next turn of the event loop. */
  slices(): Slices {
    return new Slices(this, this.#clock);
  }

  /**
   * Runs `work` on `items` items: small work at once, large work when few others run, first come, first served. Null:
   * it waited longer than waitMsMax and was not begun.
   */
  async run<T>(items: number, work: () => Promise<T>): Promise<T | null> {
    if (items < largeFrom) return work();
    if (!(await this.#takePlace())) return null;
    try {
      return await work();
    } finally {
      this.#largeAtWork -= 1;
      this.#givePlaces();
    }
  }

  /** Resolves in a turn of its own; the caller works until its next await. */
  next(kind: SliceKind = 'texts'): Promise<void> {
    return this.#turns[kind].next();
  }

  /** Messages that one slice may accept. */
  get itemsPerSlice(): number {
    return this.#hasSingles() ? this.#pace.itemsPerSlice : Number.POSITIVE_INFINITY;
  }

  tookMessage(): void {
    if (this.#hasSingles()) this.#pace.tookMessage();
  }

  #takePlace(): Promise<boolean> {
    if (this.#hasPlace()) {
      this.#largeAtWork += 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const end = (hasPlace: boolean) => {
        cancel();
        this.#waiting.delete(end);
        resolve(hasPlace);
      };
      const cancel = this.#clock.after(waitMsMax, () => end(false));
      this.#waiting.add(end);
    });
  }

  #hasPlace(): boolean {
    return this.#largeAtWork < (this.#hasSingles() ? atOnceBesideSingles : atOnceMax);
  }

  /** Freed places go to the longest waiters. */
  #givePlaces(): void {
    for (const give of this.#waiting) {
      if (!this.#hasPlace()) return;
      this.#largeAtWork += 1;
      give(true);
    }
  }

  #hasSingles(): boolean {
    return this.#clock.monotonicMs() - this.#lastSingleAtMs < besideSingles.forMs;
  }
}

/** One piece of work, which checks between steps whether its slice is over. */
export class Slices {
  readonly #turns: SliceTurns;
  readonly #clock: Clock;
  #endsAtMs = Number.NEGATIVE_INFINITY;
  #itemsLeft = 0;

  constructor(turns: SliceTurns, clock: Clock) {
    this.#turns = turns;
    this.#clock = clock;
  }

  get isOver(): boolean {
    return this.#itemsLeft <= 0 || this.#clock.monotonicMs() >= this.#endsAtMs;
  }

  /** A message of this slice is being published. */
  tookMessage(): void {
    this.#itemsLeft -= 1;
    this.#turns.tookMessage();
  }

  /**
   * Resolves when the next slice begins. Without a pause for the first slice, so that a small batch is as fast as a
   * single message.
   */
  async next(kind: SliceKind = 'texts'): Promise<void> {
    const isFirst = this.#endsAtMs === Number.NEGATIVE_INFINITY;
    await this.#turns.next(isFirst ? 'prompt' : kind);
    this.#itemsLeft = isFirst
      ? Math.max(this.#turns.itemsPerSlice, firstItems)
      : kind === 'prompt'
        ? Number.POSITIVE_INFINITY
        : this.#turns.itemsPerSlice;
    this.#endsAtMs = this.#clock.monotonicMs() + sliceMs;
  }
}
