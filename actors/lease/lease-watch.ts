// Keeps the book up to date with the bucket: a watch, and another one when that has gone deaf. Whether it has, our own
// beats tell: they must come back through it. It decides nothing about leases.
import type { LeaseStore } from './lease-bucket.ts';
import type { Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { LeaseBook } from './lease-book.ts';
import type { LeaseHolder } from './lease-holder.ts';
import { isBeatKey } from './lease-records.ts';

export type LeaseWatchParts = {
  readonly bucket: LeaseStore;
  readonly book: LeaseBook;
  readonly holder: Pick<LeaseHolder, 'key' | 'lastBeat'>;
  readonly clock: Clock;
  /** Something has changed that may change what is whose. */
  readonly onChange: () => void;
};

export class LeaseWatch {
  readonly #parts: LeaseWatchParts;
  #openedAtMs = 0;
  #opening = false;

  constructor(parts: LeaseWatchParts) {
    this.#parts = parts;
  }

  /** Resolves when everything that stands in the bucket is in the book. */
  async open(): Promise<void> {
    const { bucket, book, clock, onChange } = this.#parts;
    this.#opening = true;
    this.#openedAtMs = clock.monotonicMs();
    try {
      await bucket.watch((entry) => {
        if (!book.apply(entry, clock.monotonicMs())) return;
        // Beats come all the time and change nothing but who lives.
        if (!isBeatKey(entry.key) || entry.value === null) onChange();
      });
      book.told();
    } finally {
      this.#opening = false;
    }
  }

  /**
   * Our own beat comes back through the watch; when it does not, others' news do not either. When no beat is taken at
   * all, the bucket itself may be gone: a new watch makes it again.
   */
  look(): void {
    const { book, holder, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    const deafMs = limits.leases.watchDeafMs;
    if (this.#opening || nowMs - this.#openedAtMs < deafMs) return;
    const { revision, ackedAtMs } = holder.lastBeat;
    const isDeaf = book.revisionOf(holder.key) < revision && book.seenAtMs(holder.key) < ackedAtMs - deafMs;
    if (!isDeaf && nowMs - ackedAtMs < deafMs) return;
    log.warn({ holder: holder.key }, 'the watch of the leases is deaf and opened anew');
    this.open().catch((error: unknown) => ignoring(error, 'the watch of the leases is opened again soon'));
  }
}
