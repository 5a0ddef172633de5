// Whether one more event of an endpoint may be stored in WEBHOOK_LOG. When the share of its account is full, an endpoint of
// which less than half as much waits as of another one of the account gets room: that other one, which has the most, loses
// its oldest events, some at once, so that one purge makes room for many. So an endpoint that works loses nothing because others of its
// account are away. It never takes room of another account.
import type { WebhookEndpointId } from '../../../model/ids.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { EndpointKey, ParkedCounts, ParkedKind } from './parked-counts.ts';

type Parts = {
  readonly counts: ParkedCounts;
  /** Has the stream remove the oldest of them until so many are left; resolves with how many it removed. */
  readonly purge: (kind: ParkedKind, key: EndpointKey, keep: number) => Promise<number>;
  /** Events of its line in memory: what the stream has removed of them counts until it is delivered. */
  readonly inMemory: (endpointId: WebhookEndpointId) => number;
  /** The stream has much less than was counted. */
  readonly isWrong: () => void;
};

const { parkedBeyondMax, parkedPurgePart } = limits.delivery;

export class ParkedRoom {
  readonly #parts: Parts;
  /** Accounts for which the stream removes some now. */
  readonly #making = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Whether so many more of it may be stored. What is stored before the stream has made room is beyond the share. */
  takes(key: EndpointKey, events: number): boolean {
    const beyond = this.#parts.counts.beyond(key.accountId) + events;
    if (beyond <= 0) return true;
    if (this.#moreThan(key, events) === null) return false;
    if (!this.#making.has(key.accountId)) void this.#makeRoom(key);
    return beyond <= parkedBeyondMax;
  }

  /** The endpoint with the most, when it has more than twice as many as this one would have; else null. */
  #moreThan({ accountId, endpointId }: EndpointKey, events: number): EndpointKey | null {
    const { counts } = this.#parts;
    const most = counts.mostOf(accountId);
    if (most === null) return null;
    return 2 * (counts.ofEndpoint(endpointId) + events - 1) < counts.ofEndpoint(most.endpointId) ? most : null;
  }

  async #makeRoom(key: EndpointKey): Promise<void> {
    const { accountId } = key;
    this.#making.add(accountId);
    try {
      // More may have come beyond the share meanwhile.
      do {
        const most = this.#moreThan(key, 0);
        if (most === null || !(await this.#purge(most))) break;
      } while (this.#parts.counts.beyond(accountId) > 0);
    } catch (error) {
      ignoring(error, 'the next event makes room');
    } finally {
      this.#making.delete(accountId);
    }
  }

  /** False: there was nothing to remove. */
  async #purge(key: EndpointKey): Promise<boolean> {
    const { counts, purge, inMemory, isWrong } = this.#parts;
    const { accountId, endpointId } = key;
    const kind = counts.of('lines', endpointId) >= counts.of('retries', endpointId) ? 'lines' : 'retries';
    // What is on its way there may come after the purge. If all of it is, nothing can be removed yet.
    const count = counts.storedOf(kind, endpointId);
    if (count === 0) return false;
    const atOnce = Math.max(1, Math.floor(counts.ofEndpoint(endpointId) * parkedPurgePart));
    const wanted = Math.max(0, counts.beyond(accountId)) + atOnce;
    const keep = Math.max(1, count - Math.min(wanted, Math.ceil(count / 2)));
    const events = await purge(kind, key, keep);
    counts.purged(kind, key, Math.max(0, events - (kind === 'lines' ? inMemory(endpointId) : 0)));
    if (events === 0) {
      isWrong();
      return false;
    }
    metrics.webhookDropped.inc({ reason: 'room_for_others' }, events);
    const facts = { alarm: 'webhook_dropped', accountId, endpointId, events, reason: 'room_for_others' };
    log.error(facts, 'the oldest events of a webhook endpoint are gone: its account has no more room');
    return true;
  }
}
