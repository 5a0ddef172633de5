// What endpoints have not taken yet, in WEBHOOK_LOG: for each endpoint a line of parked events in their order, and
// single events that failed beside others that succeeded, each with the time of its next try. A record is deleted when
// it was delivered, so the first one left is where its endpoint goes on: after a restart, too. Bounded for an endpoint,
// for an account and for all.
import type { StoredMsg } from '@nats-io/jetstream';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { parkedFilter, parkedSubject, retryFilter, retrySubject } from '../../../cluster/bus/subjects.ts';
import type { AccountId, WebhookEndpointId } from '../../../model/ids.ts';
import { type WebhookRecord, decodeWebhook, webhookRecordId } from '../../../model/records/webhook-record.ts';
import type { Clock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import type { Share } from '../../../platform/limits-shares.ts';
import { log } from '../../../platform/log.ts';
import { secretBytes } from '../../../platform/random.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { type EndpointKey, ParkedCounts, type ParkedKind, type Stored, parkedKinds } from './parked-counts.ts';
import { ParkedDeletes } from './parked-deletes.ts';
import { ParkedRoom } from './parked-room.ts';
import { ParkedWrites } from './parked-writes.ts';

export type ParkedRecord = { readonly seq: number; readonly record: WebhookRecord };

/** What the owner of the lines knows, and what it is called for. */
type Watching = {
  /** An event was put into a line, with its place. */
  readonly parked: (key: EndpointKey, seq: number) => void;
  /** Events of a line in memory. */
  readonly inMemory: (endpointId: WebhookEndpointId) => number;
  /** The counts are to be compared with the stream. */
  readonly wrongCounts: () => void;
};

/** `seq`: undefined until it is known, null when the stream is full. */
type Appending = { readonly done: (seq: number | null) => void; seq: number | null | undefined };

const stream = streamNames.webhookLog;
const subjects = {
  lines: { of: ({ accountId, endpointId }: EndpointKey) => parkedSubject(accountId, endpointId), all: parkedFilter },
  retries: { of: ({ accountId, endpointId }: EndpointKey) => retrySubject(accountId, endpointId), all: retryFilter },
} as const satisfies Record<ParkedKind, unknown>;

export class ParkedLog {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #counts: ParkedCounts;
  readonly #deletes: ParkedDeletes;
  readonly #room: ParkedRoom;
  readonly #writes: ParkedWrites;
  #watching: Watching = { parked: () => {}, inMemory: () => 0, wrongCounts: () => {} };
  /** Of each endpoint what is on its way to its line, in order; each is called when those before it are stored. */
  readonly #appending = new Map<WebhookEndpointId, Appending[]>();
  /** Makes the ids of publishes of this process its own. */
  readonly #run = secretBytes(6).toString('base64url');
  #appended = 0;
  #isComparing = false;

  /** `publisher` with an endless deadline. */
  constructor(bus: Bus, publisher: Publisher, share: Share, clock: Clock) {
    this.#bus = bus;
    this.#writes = new ParkedWrites(publisher, clock);
    this.#counts = new ParkedCounts(share);
    this.#clock = clock;
    this.#deletes = new ParkedDeletes(bus, clock);
    this.#room = new ParkedRoom({
      counts: this.#counts,
      purge: (kind, key, keep) => this.#purge(kind, key, keep),
      inMemory: (endpointId) => this.#watching.inMemory(endpointId),
      isWrong: () => this.#watching.wrongCounts(),
    });
  }

  watch(watching: Watching): void {
    this.#watching = watching;
  }

  get hasRoom(): boolean {
    return this.#writes.hasRoom;
  }

  /** Resolves when half of what may be on its way is durable, or when `stopping`. */
  room(stopping: AbortSignal): Promise<void> {
    return this.#writes.room(stopping);
  }

  /** Whether the lines of this account have room without any loss. */
  hasRoomOf(accountId: AccountId): boolean {
    return this.#counts.beyond(accountId) < 0;
  }

  /** Whether so many more for this endpoint may be stored; another one of its account may lose its oldest events for it. */
  takes(key: EndpointKey, events = 1): boolean {
    return this.#room.takes(key, events);
  }

  /** Counts what is there. Resolves with the endpoints that have parked events or such with a time of their own. */
  async start(): Promise<Readonly<Record<ParkedKind, readonly EndpointKey[]>>> {
    const stored = await this.#stored();
    for (const kind of parkedKinds) for (const each of stored[kind]) this.#counts.found(kind, each);
    return { lines: stored.lines.map(({ key }) => key), retries: stored.retries.map(({ key }) => key) };
  }

  /**
   * Corrects the counts by what the stream has, and removes what it has of endpoints that do not exist any more. Resolves with the
   * endpoints whose lines have more than was counted, which another process stored.
   */
  async compare(exists: (endpointId: WebhookEndpointId) => boolean): Promise<readonly EndpointKey[]> {
    if (this.#isComparing) return [];
    this.#isComparing = true;
    let more: readonly EndpointKey[] = [];
    try {
      this.#counts.beginComparison();
      const stored = await this.#stored();
      this.#counts.compare('retries', stored.retries, () => 0);
      more = this.#counts.compare('lines', stored.lines, this.#watching.inMemory);
      for (const { key } of [...stored.lines, ...stored.retries]) if (!exists(key.endpointId)) await this.purge(key);
    } catch (error) {
      ignoring(error, 'what is parked is counted again later');
    } finally {
      this.#isComparing = false;
    }
    return more;
  }

  /** The endpoint was deleted: its events are nobody's. */
  async purge(key: EndpointKey): Promise<void> {
    try {
      for (const kind of parkedKinds) {
        await this.#purge(kind, key, 0);
        this.#counts.none(kind, key);
      }
    } catch (error) {
      ignoring(error, 'events of a deleted endpoint are removed at the next comparison');
    }
  }

  /** Removes all but the newest `keep`; resolves with how many. */
  async #purge(kind: ParkedKind, key: EndpointKey, keep: number): Promise<number> {
    const filter = subjects[kind].of(key);
    const purging = this.#bus.manager.streams.purge(stream, keep === 0 ? { filter } : { filter, keep });
    return (await withDeadline('a purge of parked events', limits.delivery.answerMs, purging, this.#clock)).purged;
  }

  /** Events parked for this endpoint, and such that are about to be. */
  countOf(endpointId: WebhookEndpointId): number {
    return this.#counts.of('lines', endpointId);
  }

  /** Puts it at the end of its endpoint's line. `done` with its place, or null when it was dropped for want of room. */
  park(accountId: AccountId, record: WebhookRecord, done: (seq: number | null) => void): void {
    const key = { accountId, endpointId: record.endpointId };
    if (!this.takes(key)) return this.#drop(accountId, record, 'account_full', done);
    this.append(key, record, (seq) => {
      if (seq === null) this.#drop(accountId, record, 'full', done);
      else done(seq);
    });
  }

  /**
   * The same for one that has its room, because it is kept for a retry. `done` with null: the stream is full. Those of one
   * endpoint are done in the order in which they were handed over.
   */
  append(key: EndpointKey, record: WebhookRecord, done: (seq: number | null) => void): void {
    // Counted at once: what comes after it must not overtake it.
    this.#counts.storing('lines', key);
    const { endpointId } = key;
    const line = this.#appending.get(endpointId) ?? [];
    const appending: Appending = { done, seq: undefined };
    line.push(appending);
    this.#appending.set(endpointId, line);
    // A publish that is repeated is stored once. With the id of the event it would not be stored when it is parked again.
    this.#appended += 1;
    const id = `${this.#run}.${this.#appended}`;
    this.#writes.write(subjects.lines.of(key), record, id, (seq) => {
      appending.seq = seq;
      this.#finishAppends(key, line);
    });
  }

  #finishAppends(key: EndpointKey, line: Appending[]): void {
    for (let first = line[0]; first?.seq !== undefined; first = line[0]) {
      line.shift();
      if (line.length === 0) this.#appending.delete(key.endpointId);
      const { seq, done } = first;
      this.#counts.stored('lines', key, seq !== null);
      if (seq !== null) this.#watching.parked(key, seq);
      done(seq);
    }
  }

  /** Keeps it until its time, apart from the line. `done` with its place, or null when there is no room. */
  keepForRetry(accountId: AccountId, record: WebhookRecord, done: (seq: number | null) => void): void {
    const key = { accountId, endpointId: record.endpointId };
    if (!this.takes(key)) return this.#drop(accountId, record, 'account_full', done);
    this.#counts.storing('retries', key);
    const id = `${webhookRecordId(record)}.${record.tries}`;
    this.#writes.write(subjects.retries.of(key), record, id, (seq) => {
      this.#counts.stored('retries', key, seq !== null);
      if (seq === null) this.#drop(accountId, record, 'full', done);
      else done(seq);
    });
  }

  /** The first event of the endpoint's line after a place; null when there is none. */
  next(key: EndpointKey, afterSeq: number): Promise<ParkedRecord | null> {
    return this.#first(subjects.lines.of(key), afterSeq);
  }

  /** The first event that is kept for a retry after a place; null when there is none. */
  nextRetry(key: EndpointKey, afterSeq: number): Promise<ParkedRecord | null> {
    return this.#first(subjects.retries.of(key), afterSeq);
  }

  /** Its line was read to the end, and so many events of it are in memory. Others that are counted were dropped by the stream. */
  foundEnd(key: EndpointKey, inMemory: number): void {
    this.#counts.atMost('lines', key, inMemory);
  }

  /** It was delivered from the line. Resolves when it is gone there, or the bus does not answer. */
  remove(key: EndpointKey, seq: number): Promise<void> {
    this.#counts.removed('lines', key);
    return this.#deletes.delete(seq);
  }

  /** The same for one that was kept for a retry. */
  removeRetry(key: EndpointKey, seq: number): Promise<void> {
    this.#counts.removed('retries', key);
    return this.#deletes.delete(seq);
  }

  /** Resolves when what was parked is durable and what was delivered is gone, or after a moment: the process stops. */
  async settled(): Promise<void> {
    const all = Promise.all([this.#writes.idle(), this.#deletes.idle()]);
    await withDeadline('what is parked', limits.delivery.settleMs, all, this.#clock).catch((error: unknown) =>
      ignoring(error, 'the next process repeats what is not known to be durable'),
    );
  }

  /** One that must not be stored, because earlier ones of its endpoint have no room. */
  refuse(accountId: AccountId, record: WebhookRecord, done: () => void): void {
    this.#drop(accountId, record, 'account_full', done);
  }

  #drop(accountId: AccountId, record: WebhookRecord, reason: string, done: (seq: null) => void): void {
    const { endpointId, eventId } = record;
    metrics.webhookDropped.inc({ reason });
    const facts = { alarm: 'webhook_dropped', accountId, endpointId, eventId, reason };
    log.error(facts, 'no room for an event of a webhook');
    done(null);
  }

  /** The event of the endpoint's line at this place; null when it is gone, 'other' when the place is that of another one. */
  async at(key: EndpointKey, seq: number): Promise<ParkedRecord | 'other' | null> {
    const stored = await this.#ask({ seq });
    if (stored === null) return null;
    return stored.subject === subjects.lines.of(key) ? this.#read(stored) : 'other';
  }

  async #first(subject: string, afterSeq: number): Promise<ParkedRecord | null> {
    for (let seq = afterSeq; ; ) {
      const query = { seq: seq + 1, next_by_subj: subject };
      const stored = await this.#ask(query);
      if (stored === null) return null;
      ({ seq } = stored);
      const read = await this.#read(stored);
      if (read !== null) return read;
    }
  }

  #ask(query: { readonly seq: number }): Promise<StoredMsg | null> {
    const asked = this.#bus.manager.streams.getMessage(stream, query);
    return withDeadline('a parked event', limits.delivery.answerMs, asked, this.#clock);
  }

  /** Null: it cannot be read, and is removed. */
  async #read({ seq, data }: StoredMsg): Promise<ParkedRecord | null> {
    try {
      return { seq, record: decodeWebhook(data) };
    } catch (error) {
      metrics.webhookDropped.inc({ reason: 'unreadable' });
      log.error({ alarm: 'webhook_dropped', seq, error: messageOf(error) }, 'a parked event cannot be read');
      await this.#deletes.delete(seq);
      return null;
    }
  }

  /** Repeats nothing any more: the process stops, or another one is the owner. */
  close(): void {
    this.#deletes.close();
    this.#writes.close();
  }

  async #stored(): Promise<Readonly<Record<ParkedKind, readonly Stored[]>>> {
    return { lines: await this.#storedOf(subjects.lines.all), retries: await this.#storedOf(subjects.retries.all) };
  }

  async #storedOf(filter: string): Promise<readonly Stored[]> {
    const asked = this.#bus.manager.streams.info(stream, { subjects_filter: filter });
    const info = await withDeadline('what is parked', limits.delivery.answerMs, asked, this.#clock);
    return Object.entries(info.state.subjects ?? {}).map(([subject, count]) => {
      const [, accountId = '', endpointId = ''] = subject.split('.');
      return { key: { accountId: accountId as AccountId, endpointId: endpointId as WebhookEndpointId }, count };
    });
  }
}
