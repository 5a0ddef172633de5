// Declares silent nodes dead by deleting their last heartbeat, by compare-and-set, so that a node whose heartbeat
// arrives meanwhile stays alive. Readers of the deletion rely on it: that node has written nothing to a carrier for
// more than a second.
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { LeaseParts } from './lease-holder.ts';
import { heartbeatKey } from './lease-records.ts';

type LeaseFailureDetectorParts = LeaseParts & {
  /** Some binds are free. */
  readonly onEnded: () => void;
};

export class LeaseFailureDetector {
  readonly #parts: LeaseFailureDetectorParts;
  readonly #ownKey: string;
  /** Heartbeats that are being deleted. */
  readonly #ending = new Set<string>();

  constructor(parts: LeaseFailureDetectorParts) {
    this.#parts = parts;
    this.#ownKey = heartbeatKey(parts.identity);
  }

  /** The supervisor has seen those processes end, perhaps just now. */
  async expirePreviousIncarnations(): Promise<void> {
    if (this.#previousIncarnations().length === 0) return;
    await this.#parts.clock.sleep(limits.leases.shareWaitMs);
    await Promise.all(this.#previousIncarnations().map(({ key, revision }) => this.#end(key, revision)));
  }

  /** `foreignOnly`: only another process under our own name. `sinceMs`: since when the bucket accepts heartbeats. */
  expireSilent(foreignOnly: boolean, sinceMs: number): void {
    const { cache, clock } = this.#parts;
    const beforeMs = clock.monotonicMs() - limits.leases.expireAfterMs;
    for (const { key, heartbeat, revision } of cache.living()) {
      if (foreignOnly !== (key === this.#ownKey)) continue;
      if (Math.max(cache.seenAtMs(key), sinceMs) > beforeMs || this.#ending.has(key)) continue;
      log.warn({ node: heartbeat.node, thread: heartbeat.thread }, 'a node is silent: its binds are free for others');
      void this.#end(key, revision);
    }
  }

  /** This thread's own previous incarnation, and those of the process before this one. */
  #previousIncarnations(): { readonly key: string; readonly revision: number }[] {
    const { cache, identity } = this.#parts;
    const { node, place, process } = identity;
    return [...cache.living()].filter(
      ({ key, heartbeat }) =>
        heartbeat.node === node && heartbeat.place === place && (heartbeat.process !== process || key === this.#ownKey),
    );
  }

  async #end(key: string, revision: number): Promise<void> {
    const { bucket, cache, clock, onEnded } = this.#parts;
    this.#ending.add(key);
    try {
      const written = await bucket.remove(key, revision);
      // A conflict: a heartbeat came meanwhile, or another node was faster. The watch will show it.
      if (typeof written === 'object') {
        cache.apply({ key, revision: written.revision, value: null }, clock.monotonicMs());
        onEnded();
      }
      if (written === 'unclear') await clock.sleep(limits.leases.requestTimeoutMs);
    } finally {
      this.#ending.delete(key);
    }
  }
}
