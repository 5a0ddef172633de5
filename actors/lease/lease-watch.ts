// Keeps the lease cache up to date with a watch of the bucket, and opens a new watch when our own heartbeats no longer
// come back through it.
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { LeaseHolder, LeaseParts } from './lease-holder.ts';
import { isHeartbeatKey } from './lease-records.ts';

type LeaseWatchParts = Omit<LeaseParts, 'identity'> & {
  readonly holder: Pick<LeaseHolder, 'key' | 'lastHeartbeat'>;
  /** A change that may affect who holds what. */
  readonly onChange: () => void;
};

export class LeaseWatch {
  readonly #parts: LeaseWatchParts;
  #openedAtMs = 0;
  #opening = false;

  constructor(parts: LeaseWatchParts) {
    this.#parts = parts;
  }

  /** Resolves when everything that is in the bucket is in the cache. */
  async open(): Promise<void> {
    const { bucket, cache, clock, onChange } = this.#parts;
    this.#opening = true;
    this.#openedAtMs = clock.monotonicMs();
    try {
      await bucket.watch((entry) => {
        if (!cache.apply(entry, clock.monotonicMs())) return;
        // Heartbeats are frequent and change only which nodes are alive.
        if (!isHeartbeatKey(entry.key) || entry.value === null) onChange();
      });
      cache.loaded();
    } finally {
      this.#opening = false;
    }
  }

  /**
   * When our own heartbeat does not come back through the watch, other changes do not either. When no heartbeat is
   * accepted at all, the bucket may be gone: a new watch creates it again.
   */
  look(): void {
    const { cache, holder, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    const stalledMs = limits.leases.watchStalledMs;
    if (this.#opening || nowMs - this.#openedAtMs < stalledMs) return;
    const { revision, ackedAtMs } = holder.lastHeartbeat;
    const isStalled = cache.revisionOf(holder.key) < revision && cache.seenAtMs(holder.key) < ackedAtMs - stalledMs;
    if (!isStalled && nowMs - ackedAtMs < stalledMs) return;
    log.warn({ holder: holder.key }, 'the watch of the leases delivers nothing and is reopened');
    this.open().catch((error: unknown) => ignoring(error, 'the watch of the leases is opened again soon'));
  }
}
