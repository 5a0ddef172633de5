// The bucket `leases` as one thread has seen it: who lives, who holds what, and since when each word is unchanged. It
// may be behind the bucket, never wrong about the past: what is done on its word is a compare-and-set that says which
// revision it was about. It reads no clock and writes nothing.
import type { LeaseEntry } from '../../cluster/bus/lease-bucket.ts';
import { limits } from '../../platform/limits.ts';
import { type Beat, type Lease, beatKey, isBeatKey, readBeat, readLease } from './lease-records.ts';

type Seen<T> = { readonly revision: number; readonly value: T | null; readonly seenAtMs: number };

export type LeaseView = {
  readonly revision: number;
  /** Null: nobody's, or its holder is dead. */
  readonly holder: Lease | null;
  /** Since when it is free; meaningless while it is not. */
  readonly freeSinceMs: number;
  /** From then on nobody can have written in its name; Infinity: nobody knows. */
  readonly quietSinceMs: number;
};

export class LeaseBook {
  readonly #beats = new Map<string, Seen<Beat>>();
  readonly #leases = new Map<string, Seen<Lease>>();
  /** When a holder was found dead, by incarnation: its leases are free since then. */
  readonly #deadSinceMs = new Map<string, number>();
  /** When a lease nobody ever had was first asked about. */
  readonly #firstAskedMs = new Map<string, number>();

  /** False when it tells nothing new. */
  apply(entry: LeaseEntry, nowMs: number): boolean {
    const { key, revision, value } = entry;
    if (revision <= this.revisionOf(key)) return false;
    if (!isBeatKey(key)) {
      this.#leases.set(key, { revision, value: readLease(value), seenAtMs: nowMs });
      return true;
    }
    const beat = readBeat(value);
    this.#beats.set(key, { revision, value: beat, seenAtMs: nowMs });
    return true;
  }

  /** The bucket was lost: what was known of it is of no use. */
  clear(): void {
    this.#beats.clear();
    this.#leases.clear();
    this.#deadSinceMs.clear();
    this.#firstAskedMs.clear();
  }

  /** Also of what was deleted; 0 when there never was anything. */
  revisionOf(key: string): number {
    return (isBeatKey(key) ? this.#beats : this.#leases).get(key)?.revision ?? 0;
  }

  /** When the present beat of this key was first seen. */
  seenAtMs(key: string): number {
    return this.#beats.get(key)?.seenAtMs ?? Number.NEGATIVE_INFINITY;
  }

  beatOf(key: string): Beat | null {
    return this.#beats.get(key)?.value ?? null;
  }

  /** Everybody who has said that it lives and was not declared dead. */
  *living(): IterableIterator<{ readonly key: string; readonly beat: Beat; readonly revision: number }> {
    for (const [key, { value, revision }] of this.#beats) if (value !== null) yield { key, beat: value, revision };
  }

  isLiving({ node, thread, incarnation }: Pick<Lease, 'node' | 'thread' | 'incarnation'>): boolean {
    return this.beatOf(beatKey({ node, thread }))?.incarnation === incarnation;
  }

  isLivingEpoch(epoch: number): boolean {
    for (const { beat, revision } of this.living()) if ((beat.epoch || revision) === epoch) return true;
    return false;
  }

  lease(key: string, nowMs: number): LeaseView {
    const seen = this.#leases.get(key);
    const unknown = { holder: null, quietSinceMs: Number.POSITIVE_INFINITY };
    if (seen === undefined) return { ...unknown, revision: 0, freeSinceMs: this.#askedSinceMs(key, nowMs) };
    const { revision, value, seenAtMs } = seen;
    // Its session had ended before it was given up.
    if (value === null) return { revision, holder: null, freeSinceMs: seenAtMs, quietSinceMs: seenAtMs };
    if (this.isLiving(value)) {
      this.#deadSinceMs.delete(value.incarnation);
      return { ...unknown, revision, holder: value, freeSinceMs: nowMs };
    }
    let deadSinceMs = this.#deadSinceMs.get(value.incarnation);
    if (deadSinceMs === undefined) {
      deadSinceMs = nowMs;
      if (this.#deadSinceMs.size >= deadRememberedMax) this.#deadSinceMs.clear();
      this.#deadSinceMs.set(value.incarnation, nowMs);
    }
    // Whose beat is gone had written nothing for longer than a second by then: limits-leases.ts, LeaseKeeper.start.
    return { revision, holder: null, freeSinceMs: deadSinceMs, quietSinceMs: deadSinceMs - limits.leases.shareWaitMs };
  }

  #askedSinceMs(key: string, nowMs: number): number {
    const sinceMs = this.#firstAskedMs.get(key) ?? nowMs;
    this.#firstAskedMs.set(key, sinceMs);
    return sinceMs;
  }
}

const deadRememberedMax = 1_024;
