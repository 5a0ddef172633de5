// How many events are in WEBHOOK_LOG: of each endpoint, of its account and of all. An event counts from the moment when it
// is handed over to be stored, so a count is an upper bound: the stream itself removes records that are too old or
// beyond its bound, and an erasure removes records, too. Counts are therefore compared with the stream now and then.
import type { AccountId, WebhookEndpointId } from '../../../model/ids.ts';
import type { Share } from '../../../platform/limits-shares.ts';
import { metrics } from '../../../platform/telemetry.ts';

export type EndpointKey = { readonly accountId: AccountId; readonly endpointId: WebhookEndpointId };
/** lines: events that wait in their order · retries: single ones with a time of their own. */
export const parkedKinds = ['lines', 'retries'] as const;
export type ParkedKind = (typeof parkedKinds)[number];
/** What the stream has of one endpoint. */
export type Stored = { readonly key: EndpointKey; readonly count: number };

type Count = {
  readonly accountId: AccountId;
  count: number;
  /** Handed over to be stored, and not known to be. */
  storing: number;
  /** Handed over since a comparison began, with those that were being stored then, and one for each purge. */
  since: number;
};

/** All of one account, and which of its endpoints have some. */
type OfAccount = { count: number; readonly endpoints: Set<WebhookEndpointId> };

export class ParkedCounts {
  readonly #share: Share;
  readonly #of: Readonly<Record<ParkedKind, Map<WebhookEndpointId, Count>>> = { lines: new Map(), retries: new Map() };
  readonly #byAccount = new Map<AccountId, OfAccount>();
  #total = 0;
  readonly #totalMetrics = [
    metrics.webhookParked.tally({}),
    metrics.sharedBoundUsed.tally({ bound: 'webhook_parked' }),
  ];

  constructor(share: Share) {
    this.#share = share;
    metrics.sharedBoundTotal.set({ bound: 'webhook_parked' }, share.total);
  }

  of(kind: ParkedKind, endpointId: WebhookEndpointId): number {
    return this.#of[kind].get(endpointId)?.count ?? 0;
  }

  /** Those that are not on their way to the stream. */
  storedOf(kind: ParkedKind, endpointId: WebhookEndpointId): number {
    const entry = this.#of[kind].get(endpointId);
    return entry === undefined ? 0 : Math.max(0, entry.count - entry.storing);
  }

  /** Of both kinds. */
  ofEndpoint(endpointId: WebhookEndpointId): number {
    return this.of('lines', endpointId) + this.of('retries', endpointId);
  }

  /** How many there are beyond the share of the account, or of all; below 0: so much room is left. */
  beyond(accountId: AccountId): number {
    const { total, perAccount } = this.#share;
    return Math.max(this.#total - total, (this.#byAccount.get(accountId)?.count ?? 0) - perAccount);
  }

  /** The endpoint of the account of which most are there; null: there are none. */
  mostOf(accountId: AccountId): EndpointKey | null {
    let most: WebhookEndpointId | null = null;
    for (const each of this.#byAccount.get(accountId)?.endpoints ?? [])
      if (most === null || this.ofEndpoint(each) > this.ofEndpoint(most)) most = each;
    return most === null ? null : { accountId, endpointId: most };
  }

  /** They were found in the stream when the process started. */
  found(kind: ParkedKind, { key, count }: Stored): void {
    this.#change(kind, key, this.#entry(kind, key), count);
  }

  /** One is handed over to be stored. */
  storing(kind: ParkedKind, key: EndpointKey): void {
    const entry = this.#entry(kind, key);
    entry.storing += 1;
    entry.since += 1;
    this.#change(kind, key, entry, 1);
  }

  stored(kind: ParkedKind, key: EndpointKey, isStored: boolean): void {
    const entry = this.#entry(kind, key);
    entry.storing -= 1;
    this.#change(kind, key, entry, isStored ? 0 : -1);
  }

  removed(kind: ParkedKind, key: EndpointKey): void {
    const entry = this.#of[kind].get(key.endpointId);
    if (entry !== undefined && entry.count > entry.storing) this.#change(kind, key, entry, -1);
  }

  /** The stream has removed so many. */
  purged(kind: ParkedKind, key: EndpointKey, events: number): void {
    const entry = this.#of[kind].get(key.endpointId);
    if (entry === undefined) return;
    // A comparison that runs may have asked the stream before that: it is not to raise the count again.
    entry.since += 1;
    this.#change(kind, key, entry, -Math.min(events, Math.max(0, entry.count - entry.storing)));
  }

  /** The stream has none of them. */
  none(kind: ParkedKind, key: EndpointKey): void {
    this.atMost(kind, key, 0);
  }

  /** There are no more than so many, and those that are being stored. */
  atMost(kind: ParkedKind, key: EndpointKey, most: number): void {
    const entry = this.#of[kind].get(key.endpointId);
    if (entry === undefined || entry.count <= entry.storing + most) return;
    this.#change(kind, key, entry, entry.storing + most - entry.count);
  }

  /** Before the stream is asked what it has. */
  beginComparison(): void {
    for (const kind of parkedKinds) for (const entry of this.#of[kind].values()) entry.since = entry.storing;
  }

  /**
   * The stream has answered. What was stored meanwhile counts already. What is in memory may be gone there, and counts until it
   * is delivered. Returns the endpoints of which the stream has more, as another process stored it; of these nothing is being
   * stored.
   */
  compare(
    kind: ParkedKind,
    stored: readonly Stored[],
    inMemory: (endpointId: WebhookEndpointId) => number,
  ): readonly EndpointKey[] {
    const counts = new Map(stored.map(({ key, count }) => [key.endpointId, count]));
    const more: EndpointKey[] = [];
    for (const { key, count } of stored) {
      const entry = this.#of[kind].get(key.endpointId);
      if (count <= (entry?.count ?? 0) || (entry?.since ?? 0) > 0) continue;
      this.#change(kind, key, this.#entry(kind, key), count - (entry?.count ?? 0));
      more.push(key);
    }
    for (const [endpointId, entry] of [...this.#of[kind]]) {
      const most = (counts.get(endpointId) ?? 0) + entry.since + (kind === 'lines' ? inMemory(endpointId) : 0);
      const key = { accountId: entry.accountId, endpointId };
      if (entry.count > most) this.#change(kind, key, entry, most - entry.count);
    }
    return more;
  }

  #entry(kind: ParkedKind, { accountId, endpointId }: EndpointKey): Count {
    const known = this.#of[kind].get(endpointId);
    if (known !== undefined) return known;
    const entry = { accountId, count: 0, storing: 0, since: 0 };
    this.#of[kind].set(endpointId, entry);
    return entry;
  }

  #change(kind: ParkedKind, { accountId, endpointId }: EndpointKey, entry: Count, change: number): void {
    entry.count += change;
    // A count of nothing is not kept.
    if (entry.count === 0 && entry.storing === 0) this.#of[kind].delete(endpointId);
    const ofAccount = this.#byAccount.get(accountId) ?? { count: 0, endpoints: new Set() };
    ofAccount.count += change;
    if (this.ofEndpoint(endpointId) === 0) ofAccount.endpoints.delete(endpointId);
    else ofAccount.endpoints.add(endpointId);
    if (ofAccount.count === 0) this.#byAccount.delete(accountId);
    else this.#byAccount.set(accountId, ofAccount);
    this.#total += change;
    for (const metric of this.#totalMetrics) metric.set(this.#total);
  }
}
