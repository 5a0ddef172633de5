// The bucket `leases` as one thread has seen it: which nodes are alive, which holds what, and when each entry last
// changed. It may be behind the bucket, which is safe: every action on it is a compare-and-set with the revision that
// was read. The caller passes the time.
import type { LeaseEntry } from './lease-bucket.ts';
import { limits } from '../../platform/limits.ts';
import { type Heartbeat, type Lease, heartbeatKey, isHeartbeatKey, readHeartbeat, readLease } from './lease-records.ts';

type Seen<T> = { readonly revision: number; readonly value: T | null; readonly seenAtMs: number };

export type LeaseView = {
  readonly revision: number;
  /** Null: it has no holder, or its holder is dead. */
  readonly holder: Lease | null;
  /** Since when it is free; meaningless while it is not. */
  readonly freeSinceMs: number;
  /** Since then its holder cannot have written; Infinity: not known. */
  readonly quietSinceMs: number;
};

export class LeaseCache {
  readonly #heartbeats = new Map<string, Seen<Heartbeat>>();
  readonly #leases = new Map<string, Seen<Lease>>();
  /** When a holder was found dead, by incarnation: its leases are free since then. */
  readonly #deadSinceMs = new Map<string, number>();
  /** When a lease that never had a holder was first asked about. */
  readonly #firstAskedMs = new Map<string, number>();
  /** Epochs known to have lived, and when others were first asked about. */
  readonly #knownEpochs = new Set<number>();
  readonly #epochAskedMs = new Map<number, number>();
  #lastRevision = 0;
  /** Everything up to this revision has been read. */
  #loadedUpTo = 0;

  /** False when it changes nothing. */
  apply(entry: LeaseEntry, nowMs: number): boolean {
    const { key, revision, value } = entry;
    if (revision <= this.revisionOf(key)) return false;
    this.#lastRevision = Math.max(this.#lastRevision, revision);
    if (!isHeartbeatKey(key)) {
      this.#leases.set(key, { revision, value: readLease(value), seenAtMs: nowMs });
      return true;
    }
    const heartbeat = readHeartbeat(value);
    this.#heartbeats.set(key, { revision, value: heartbeat, seenAtMs: nowMs });
    if (heartbeat === null) return true;
    if (this.#knownEpochs.size >= rememberedMax) this.#knownEpochs.clear();
    this.#knownEpochs.add(heartbeat.epoch || revision);
    return true;
  }

  /** The bucket was lost: what was read from it does not count. */
  clear(): void {
    this.#heartbeats.clear();
    this.#leases.clear();
    this.#deadSinceMs.clear();
    this.#firstAskedMs.clear();
    this.#knownEpochs.clear();
    this.#epochAskedMs.clear();
    this.#lastRevision = 0;
    this.#loadedUpTo = 0;
  }

  /** Also of a deleted key; 0 when it never existed. */
  revisionOf(key: string): number {
    return (isHeartbeatKey(key) ? this.#heartbeats : this.#leases).get(key)?.revision ?? 0;
  }

  /** When the present heartbeat of this key was first seen. */
  seenAtMs(key: string): number {
    return this.#heartbeats.get(key)?.seenAtMs ?? Number.NEGATIVE_INFINITY;
  }

  heartbeatOf(key: string): Heartbeat | null {
    return this.#heartbeats.get(key)?.value ?? null;
  }

  /** All threads with a heartbeat that were not declared dead. */
  *living(): IterableIterator<{ readonly key: string; readonly heartbeat: Heartbeat; readonly revision: number }> {
    for (const [key, { value, revision }] of this.#heartbeats)
      if (value !== null) yield { key, heartbeat: value, revision };
  }

  isLiving({ node, thread, incarnation }: Pick<Lease, 'node' | 'thread' | 'incarnation'>): boolean {
    return this.heartbeatOf(heartbeatKey({ node, thread }))?.incarnation === incarnation;
  }

  /** An epoch not read yet counts as living for a while: a node may have just begun while we are behind. */
  isLivingEpoch(epoch: number, nowMs: number): boolean {
    for (const { heartbeat, revision } of this.living()) if ((heartbeat.epoch || revision) === epoch) return true;
    if (epoch <= this.#loadedUpTo || this.#knownEpochs.has(epoch)) return false;
    return nowMs - firstAsked(this.#epochAskedMs, epoch, nowMs) < 2 * limits.leases.expireAfterMs;
  }

  /** The present state of the bucket has been read. */
  loaded(): void {
    if (this.#loadedUpTo === 0) this.#loadedUpTo = this.#lastRevision;
  }

  lease(key: string, nowMs: number): LeaseView {
    const seen = this.#leases.get(key);
    const unknown = { holder: null, quietSinceMs: Number.POSITIVE_INFINITY };
    if (seen === undefined) return { ...unknown, revision: 0, freeSinceMs: firstAsked(this.#firstAskedMs, key, nowMs) };
    const { revision, value, seenAtMs } = seen;
    // Its session had ended before it was released.
    if (value === null) return { revision, holder: null, freeSinceMs: seenAtMs, quietSinceMs: seenAtMs };
    if (this.isLiving(value) || this.#mayLive(value, revision, nowMs - seenAtMs)) {
      this.#deadSinceMs.delete(value.incarnation);
      return { ...unknown, revision, holder: value, freeSinceMs: nowMs };
    }
    const deadSinceMs = firstAsked(this.#deadSinceMs, value.incarnation, nowMs);
    // A node whose heartbeat was deleted had written nothing for longer than a second: limits-processes.ts,
    // LeaseKeeper.start.
    return { revision, holder: null, freeSinceMs: deadSinceMs, quietSinceMs: deadSinceMs - limits.leases.shareWaitMs };
  }

  /**
   * The bucket keeps one heartbeat per node: a cache that is behind may read a lease before any heartbeat of its
   * holder. Only what comes after the claim shows that the holder is dead: its end, or another incarnation under its
   * name. A claim stored after its holder's end is followed by neither.
   */
  #mayLive(holder: Lease, revision: number, seenForMs: number): boolean {
    return this.revisionOf(heartbeatKey(holder)) < revision && seenForMs < 2 * limits.leases.expireAfterMs;
  }
}

const rememberedMax = 1_024;

/** All are forgotten when there are too many: then a lease counts as new, which only takes longer. */
function firstAsked<K>(askedMs: Map<K, number>, key: K, nowMs: number): number {
  const sinceMs = askedMs.get(key);
  if (sinceMs !== undefined) return sinceMs;
  if (askedMs.size >= rememberedMax) askedMs.clear();
  askedMs.set(key, nowMs);
  return nowMs;
}
