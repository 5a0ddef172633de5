// Who is dead: declares it by deleting the last beat it has seen, by compare-and-set, so that whoever beats meanwhile
// lives. Nobody's beat goes before its last write to a carrier is more than a second ago; all who read that it is gone
// rely on it. It holds no bind and claims none.
import type { LeaseStore } from './lease-bucket.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { LeaseBook } from './lease-book.ts';
import { type Holder, beatKey } from './lease-records.ts';

export type LeaseDeathsParts = {
  readonly bucket: LeaseStore;
  readonly book: LeaseBook;
  readonly clock: Clock;
  readonly identity: Pick<Holder, 'node' | 'thread' | 'place' | 'process'>;
  /** Somebody's binds are free. */
  readonly onEnded: () => void;
};

export class LeaseDeaths {
  readonly #parts: LeaseDeathsParts;
  readonly #ownKey: string;
  /** Beats that are being deleted. */
  readonly #ending = new Set<string>();

  constructor(parts: LeaseDeathsParts) {
    this.#parts = parts;
    this.#ownKey = beatKey(parts.identity);
  }

  /** The supervisor has seen them end; it may have been just now. */
  async endFormerLives(): Promise<void> {
    if (this.#formerLives().length === 0) return;
    await this.#parts.clock.sleep(limits.leases.shareWaitMs);
    await Promise.all(this.#formerLives().map(({ key, revision }) => this.#end(key, revision)));
  }

  /** `strangersOnly`: who lives under our own name, and nobody else. `sinceMs`: the bucket takes beats since then. */
  endSilent(strangersOnly: boolean, sinceMs: number): void {
    const { book, clock } = this.#parts;
    const beforeMs = clock.monotonicMs() - limits.leases.deadAfterMs;
    for (const { key, beat, revision } of book.living()) {
      if (strangersOnly !== (key === this.#ownKey)) continue;
      if (Math.max(book.seenAtMs(key), sinceMs) > beforeMs || this.#ending.has(key)) continue;
      log.warn({ node: beat.node, thread: beat.thread }, 'a node is silent: its binds are free for others');
      void this.#end(key, revision);
    }
  }

  /** This thread's own former life, and those of the process before this one. */
  #formerLives(): { readonly key: string; readonly revision: number }[] {
    const { book, identity } = this.#parts;
    const { node, place, process } = identity;
    return [...book.living()].filter(
      ({ key, beat }) =>
        beat.node === node && beat.place === place && (beat.process !== process || key === this.#ownKey),
    );
  }

  async #end(key: string, revision: number): Promise<void> {
    const { bucket, book, clock, onEnded } = this.#parts;
    this.#ending.add(key);
    try {
      const written = await bucket.remove(key, revision);
      // A conflict: it has beaten meanwhile, or somebody else was faster. The watch tells.
      if (typeof written === 'object') {
        book.apply({ key, revision: written.revision, value: null }, clock.monotonicMs());
        onEnded();
      }
      if (written === 'unclear') await clock.sleep(limits.leases.requestTimeoutMs);
    } finally {
      this.#ending.delete(key);
    }
  }
}
