// What endpoints have not taken yet, in WEBHOOK_LOG: for each endpoint a line of parked events in their order, and
// single events that failed beside others that succeeded, each with the time of its next try. A record is deleted when
// it was delivered, so the first one left is where its endpoint goes on: after a restart, too. Bounded for an endpoint,
// for an account and for all.
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { parkedFilter, parkedSubject, retryFilter, retrySubject } from '../../../cluster/bus/subjects.ts';
import type { AccountId, WebhookEndpointId } from '../../../model/ids.ts';
import {
  type WebhookRecord,
  decodeWebhook,
  encodeWebhook,
  webhookRecordId,
} from '../../../model/records/webhook-record.ts';
import type { Clock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import type { Share } from '../../../platform/limits-shares.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';

export type ParkedRecord = { readonly seq: number; readonly record: WebhookRecord };
export type EndpointKey = { readonly accountId: AccountId; readonly endpointId: WebhookEndpointId };

const stream = streamNames.webhookLog;
const repeatMs = 500;

export class ParkedLog {
  readonly #bus: Bus;
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  readonly #share: Share;
  /** Parked events by endpoint: an upper bound, because the stream drops the oldest ones itself. */
  readonly #lines = new Map<WebhookEndpointId, number>();
  readonly #byAccount = new Map<AccountId, number>();
  /** Publishes to lines that are not durable yet. */
  readonly #parking = new Map<WebhookEndpointId, number>();
  /** Deletes of delivered events that were not answered. */
  readonly #deletes = new Set<Promise<void>>();
  #onParked: (key: EndpointKey) => void = () => {};
  #total = 0;

  /** `publisher` with an endless deadline. */
  constructor(bus: Bus, publisher: Publisher, share: Share, clock: Clock) {
    this.#bus = bus;
    this.#publisher = publisher;
    this.#share = share;
    metrics.sharedBoundTotal.set({ bound: 'webhook_parked' }, share.total);
    this.#clock = clock;
  }

  /** Called whenever an event was put into a line, by whomever. */
  watch(onParked: (key: EndpointKey) => void): void {
    this.#onParked = onParked;
  }

  /** Counts what is there. Resolves with the endpoints that have parked events or such with a time of their own. */
  async start(): Promise<{ readonly lines: readonly EndpointKey[]; readonly retries: readonly EndpointKey[] }> {
    const lines = await this.#subjects(parkedFilter);
    for (const [key, count] of lines) this.#add(key, count);
    const retries = await this.#subjects(retryFilter);
    for (const [key, count] of retries) this.#addToAccount(key.accountId, count);
    return { lines: lines.map(([key]) => key), retries: retries.map(([key]) => key) };
  }

  /** Events parked for this endpoint, and such that are about to be. */
  countOf(endpointId: WebhookEndpointId): number {
    return this.#lines.get(endpointId) ?? 0;
  }

  /** Puts it at the end of its endpoint's line. `done` with its place, or null when it was dropped for want of room. */
  park(accountId: AccountId, record: WebhookRecord, done: (seq: number | null) => void): void {
    const { endpointId } = record;
    const key = { accountId, endpointId };
    if (!this.#hasRoom(accountId)) return this.#drop(accountId, record, 'account_full', done);
    // Counted at once: what comes after it must not overtake it.
    this.#add(key, 1);
    addTo(this.#parking, endpointId, 1);
    // Of a repeat the stream may remember the first try, which may have been delivered and deleted since.
    this.#store(parkedSubject(accountId, endpointId), record, null, (seq) => {
      addTo(this.#parking, endpointId, -1);
      if (seq !== null) {
        done(seq);
        return this.#onParked(key);
      }
      this.#add(key, -1);
      this.#drop(accountId, record, 'full', done);
    });
  }

  /** Keeps it until its time, apart from the line. `done` with its place, or null when there is no room. */
  keepForRetry(accountId: AccountId, record: WebhookRecord, done: (seq: number | null) => void): void {
    if (!this.#hasRoom(accountId)) return this.#drop(accountId, record, 'account_full', done);
    this.#addToAccount(accountId, 1);
    const id = `${webhookRecordId(record)}.${record.tries}`;
    this.#store(retrySubject(accountId, record.endpointId), record, id, (seq) => {
      if (seq !== null) return done(seq);
      this.#addToAccount(accountId, -1);
      this.#drop(accountId, record, 'full', done);
    });
  }

  /** The first event of the endpoint's line after a place; null when there is none. */
  next({ accountId, endpointId }: EndpointKey, afterSeq: number): Promise<ParkedRecord | null> {
    return this.#first(parkedSubject(accountId, endpointId), afterSeq);
  }

  /** The event that is kept for a retry there; null when it is gone. */
  async retryAt({ accountId, endpointId }: EndpointKey, seq: number): Promise<WebhookRecord | null> {
    const found = await this.#first(retrySubject(accountId, endpointId), seq - 1);
    return found !== null && found.seq === seq ? found.record : null;
  }

  /** Its line was found empty: the stream had dropped what was counted. Events that are being parked still count. */
  foundEmpty(key: EndpointKey): void {
    this.#add(key, (this.#parking.get(key.endpointId) ?? 0) - this.countOf(key.endpointId));
  }

  /** Every event of the endpoint that has a time of its own. */
  async retriesOf({ accountId, endpointId }: EndpointKey): Promise<readonly ParkedRecord[]> {
    const found: ParkedRecord[] = [];
    const subject = retrySubject(accountId, endpointId);
    for (let seq = 0; found.length < limits.delivery.retriesPerEndpointMax; ) {
      const next = await this.#first(subject, seq);
      if (next === null) break;
      found.push(next);
      ({ seq } = next);
    }
    return found;
  }

  /** It was delivered from the line. Resolves when it is gone there, or the bus does not answer. */
  remove(key: EndpointKey, seq: number): Promise<void> {
    this.#add(key, -1);
    return this.#delete(seq);
  }

  removeRetry({ accountId }: EndpointKey, seq: number): void {
    this.#addToAccount(accountId, -1);
    void this.#delete(seq);
  }

  /** Resolves when what was parked is durable and what was delivered is gone, or after a moment: the process stops. */
  async settled(): Promise<void> {
    const all = Promise.all([this.#publisher.idle(), ...this.#deletes]);
    await withDeadline('what is parked', limits.delivery.settleMs, all, this.#clock).catch((error: unknown) =>
      ignoring(error, 'the next process repeats what is not known to be durable'),
    );
  }

  #hasRoom(accountId: AccountId): boolean {
    const { total, perAccount } = this.#share;
    return this.#total < total && (this.#byAccount.get(accountId) ?? 0) < perAccount;
  }

  #store(subject: string, record: WebhookRecord, id: string | null, done: (seq: number | null) => void): void {
    const octets = encodeWebhook(record);
    const attempt = (): void =>
      this.#publisher.publish(subject, octets, id, (result) => {
        if (result.ok) return done(result.seq);
        const { failure } = result;
        if (failure === 'closed') return; // the source has its record still
        if (failure === 'full' || failure === 'too_large') return done(null);
        this.#clock.after(repeatMs, attempt);
      });
    attempt();
  }

  #drop(accountId: AccountId, record: WebhookRecord, reason: string, done: (seq: null) => void): void {
    const { endpointId, eventId } = record;
    metrics.webhookDropped.inc({ reason });
    const facts = { alarm: 'webhook_dropped', accountId, endpointId, eventId, reason };
    log.error(facts, 'no room for an event of a webhook');
    done(null);
  }

  async #first(subject: string, afterSeq: number): Promise<ParkedRecord | null> {
    for (let seq = afterSeq; ; ) {
      const query = { seq: seq + 1, next_by_subj: subject };
      const asked = this.#bus.manager.streams.getMessage(stream, query);
      const stored = await withDeadline('a parked event', limits.delivery.answerMs, asked, this.#clock);
      if (stored === null) return null;
      ({ seq } = stored);
      try {
        return { seq, record: decodeWebhook(stored.data) };
      } catch (error) {
        metrics.webhookDropped.inc({ reason: 'unreadable' });
        log.error({ alarm: 'webhook_dropped', seq, error: messageOf(error) }, 'a parked event cannot be read');
        await this.#delete(seq);
      }
    }
  }

  async #delete(seq: number): Promise<void> {
    // Without the overwriting of its octets, which costs a write of the whole block.
    const deleted = this.#bus.manager.streams.deleteMessage(stream, seq, false).then(
      () => {},
      (error: unknown) => ignoring(error, 'a delivered event stays parked, and is repeated after a restart'),
    );
    this.#deletes.add(deleted);
    await deleted;
    this.#deletes.delete(deleted);
  }

  async #subjects(filter: string): Promise<readonly (readonly [EndpointKey, number])[]> {
    const info = await this.#bus.manager.streams.info(stream, { subjects_filter: filter });
    return Object.entries(info.state.subjects ?? {}).map(([subject, count]) => {
      const [, accountId = '', endpointId = ''] = subject.split('.');
      return [{ accountId: accountId as AccountId, endpointId: endpointId as WebhookEndpointId }, count];
    });
  }

  #add({ accountId, endpointId }: EndpointKey, count: number): void {
    addTo(this.#lines, endpointId, count);
    this.#addToAccount(accountId, count);
  }

  #addToAccount(accountId: AccountId, count: number): void {
    addTo(this.#byAccount, accountId, count);
    this.#total += count;
    metrics.webhookParked.set(this.#total);
    metrics.sharedBoundUsed.set({ bound: 'webhook_parked' }, this.#total);
  }
}

/** A count of nothing is not kept. */
function addTo<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  const now = (counts.get(key) ?? 0) + count;
  if (now <= 0) counts.delete(key);
  else counts.set(key, now);
}
