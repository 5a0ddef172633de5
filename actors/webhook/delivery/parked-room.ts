// Whether one more event of an endpoint may be stored in WEBHOOK_LOG. When the share of its account is full, an endpoint of
// which less than half as much waits as of another one of the account gets room: that other one, which has the most, loses
// its oldest events, some at once, so that one purge makes room for many. So an endpoint that works loses nothing because others of its
// account are away. It never takes room of another account.
import type { AccountId, WebhookEndpointId } from '../../../model/ids.ts';
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

  /** Whether one more event of it may be stored. What is stored before the stream has made room is beyond the share. */
  takes(key: EndpointKey): boolean {
    const { counts } = this.#parts;
    const beyond = counts.beyond(key.accountId);
    if (beyond < 0) return true;
    const most = counts.mostOf(key.accountId);
    if (most === null || 2 * counts.ofEndpoint(key.endpointId) >= counts.ofEndpoint(most.endpointId)) return false;
    if (!this.#making.has(key.accountId)) void this.#makeRoom(key.accountId);
    return beyond < parkedBeyondMax;
  }

  async #makeRoom(accountId: AccountId): Promise<void> {
    this.#making.add(accountId);
    try {
      // More may have come beyond the share meanwhile.
      while ((await this.#purgeMost(accountId)) && this.#parts.counts.beyond(accountId) > 0);
    } catch (error) {
      ignoring(error, 'the next event makes room');
    } finally {
      this.#making.delete(accountId);
    }
  }

  /** Of the endpoint with the most. False: there was nothing to remove. */
  async #purgeMost(accountId: AccountId): Promise<boolean> {
    const { counts, purge, inMemory, isWrong } = this.#parts;
    const key = counts.mostOf(accountId);
    if (key === null) return false;
    const { endpointId } = key;
    const kind = counts.of('lines', endpointId) >= counts.of('retries', endpointId) ? 'lines' : 'retries';
    const count = counts.of(kind, endpointId);
    const atOnce = Math.max(1, Math.floor(counts.ofEndpoint(endpointId) * parkedPurgePart));
    const wanted = Math.max(0, counts.beyond(accountId)) + atOnce;
    const events = await purge(kind, key, count - Math.min(wanted, Math.ceil(count / 2)));
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
