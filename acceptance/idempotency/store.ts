// The bucket `idempotency`: entries on pages, written with compare-and-set. A write reads the page, changes one entry
// and publishes the page, expecting the revision it read. After a conflict over another key of the page it reads and
// tries again; after one over the same key it returns the entry that was written. The first new key of a period moves
// the page's entries to an archive record and lists that on the page, so that only the page decides who adds a key,
// whatever the clocks say. Records expire a day after their last write. A server that has just started loads its store
// with the first reads; reads wait for that.
import { isDeepStrictEqual } from 'node:util';
import { expectSequence } from '../../cluster/bus/bucket.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { PublishFailure, PublishResult, Publisher } from '../../cluster/bus/publisher.ts';
import { LatestRecords } from '../../cluster/bus/latest-record.ts';
import { streamOfBucket, subjectInBucket } from '../../cluster/bus/streams.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { ArchiveReader, ArchivedKeys, periodOf } from './archived-keys.ts';
import {
  type IdempotencyEntry,
  type Page,
  type StampedEntry,
  archivedPeriods,
  changedPage,
  doneStamp,
  emptyPage,
  findEntry,
  hasEntries,
  periodOfPage,
  readPage as pageOf,
  turnedPage,
} from './entry.ts';
import type { KeyPlace } from './key-place.ts';

/** Where an entry was written: the period of its page, and the stamp that the next write of it expects. */
export type Spot = { readonly period: number; readonly stamp: number };
export type FoundEntry = Spot & { readonly entry: IdempotencyEntry };

export type WriteResult =
  | { readonly ok: true; readonly at: Spot }
  /** Another write came first; `found` is the entry that is stored now. */
  | { readonly ok: false; readonly failure: 'conflict'; readonly found: FoundEntry | null }
  | { readonly ok: false; readonly failure: Exclude<PublishFailure, 'conflict'> };

/** Every method rejects when NATS does not answer within limits.idempotency.readMs. */
export type IdempotencyStore = {
  /** Null when there is none. */
  read(place: KeyPlace): Promise<FoundEntry | null>;
  /** Adds the entry if the key has none. Calls `next` right before each publish, so that a lease begins there. */
  add(place: KeyPlace, next: () => IdempotencyEntry): Promise<WriteResult>;
  /** Replaces the entry (null: deletes it) if its stamp is still that of `at`. */
  change(place: KeyPlace, at: Spot, next: () => IdempotencyEntry | null): Promise<WriteResult>;
  /** Reads the archives once, so that new keys need no read of them. */
  readAhead(): Promise<void>;
  /** Stores an answer that is too long for a page; done before the entry that points to it is written. */
  keepAnswer(place: KeyPlace, answer: Buffer): Promise<boolean>;
  /** Null when it has expired. */
  readAnswer(place: KeyPlace): Promise<Buffer | null>;
};

/**
 * `memory`: what this thread last read or wrote, or `any` when it has nothing · `any`: from any copy of the stream ·
 * `leader`: the latest page.
 */
type Source = 'memory' | 'any' | 'leader';
type Read = { readonly page: Page; readonly revision: number };

/** Conflicts with other keys of the same page; with 2^14 pages even one is rare. */
const triesMax = 10;

/**
 * `reading`: the connection for reads of pages. The server loads a block of its store for a read before it serves the
 * connection again.
 */
export function idempotencyStore(
  bus: Bus,
  publisher: Publisher,
  clock: Clock = systemClock,
  reading: Bus = bus,
): IdempotencyStore {
  const subjectOf = (name: string) => subjectInBucket('idempotency', name);
  const stream = streamOfBucket('idempotency');
  const { readMs, ttlMs, pagesRememberedMax } = limits.idempotency;
  const records = new LatestRecords(reading, 'idempotency', limits.idempotency, clock);
  const archived = new ArchivedKeys();
  let readingAhead: Promise<void> | null = null;
  /**
   * Pages this thread has just read or written: the claim follows the read, and the answer the claim, within
   * milliseconds.
   */
  const remembered = new Map<string, Read>();

  async function readPage(name: string, from: Source): Promise<Read> {
    const known = from === 'memory' ? remembered.get(name) : undefined;
    if (known !== undefined) return known;
    const found = await (from === 'leader' ? records.leader(name) : records.any(name));
    const read =
      found === null ? { page: emptyPage, revision: 0 } : { page: pageOf(found.octets), revision: found.revision };
    remember(name, read);
    return read;
  }

  const sinceMs = () => clock.nowMs() - ttlMs;
  const living = (page: Page, { own }: KeyPlace): FoundEntry | null => {
    const found = findEntry(page, own);
    return found === null || found.entry.createdAtMs < sinceMs() ? null : { period: periodOfPage(page), ...found };
  };

  function remember(name: string, read: Read): void {
    remembered.delete(name);
    remembered.set(name, read);
    if (remembered.size <= pagesRememberedMax) return;
    for (const oldest of remembered.keys()) {
      remembered.delete(oldest);
      return;
    }
  }

  /** Looks on the page and in the archives that it lists. */
  async function find(page: Page, place: KeyPlace): Promise<FoundEntry | null> {
    const onPage = living(page, place);
    if (onPage !== null) return onPage;
    const first = periodOf(sinceMs());
    archived.forgetBefore(first);
    const inQuestion = () =>
      archivedPeriods(page).filter(
        (period) => period >= first && archived.has(period, place.page, place.own) === 'perhaps',
      );
    let perhaps = inQuestion();
    if (perhaps.length > 0 && readingAhead !== null) {
      // Reading single archives now would slow down the read of all of them.
      await withDeadline('reading ahead', readMs, readingAhead, clock).catch((error: unknown) =>
        ignoring(error, 'reading ahead failed or is late: this reads the archives of its page itself'),
      );
      perhaps = inQuestion();
    }
    const found = await Promise.all(perhaps.map((period) => findArchived(period, place)));
    return found.find((each) => each !== null) ?? null;
  }

  /** From the leader: another replica may lack the last keys of the period. */
  async function findArchived(period: number, place: KeyPlace): Promise<FoundEntry | null> {
    const { page } = await readPage(archiveOf(place, period), 'leader');
    archived.learn(period, place.page, page);
    return living(page, place);
  }

  /**
   * Archives the entries of the page. Always writes, even if the archive exists: a process that archived another
   * revision of the page must see a conflict.
   */
  async function archive(place: KeyPlace, { page, revision }: Read): Promise<'archived' | PublishFailure> {
    const name = archiveOf(place, periodOfPage(page));
    let before = 0;
    for (let tries = 0; tries < triesMax; tries += 1) {
      const result = await publish(name, page, before);
      if (result.ok) return 'archived';
      if (result.failure !== 'conflict') return result.failure;
      before = (await readPage(name, 'leader')).revision;
      // In this order: a process that archives a later revision after this check makes the next try fail.
      if ((await readPage(pageName(place), 'leader')).revision !== revision) return 'conflict';
    }
    return 'conflict';
  }

  /** The page to which a new key can be added now; archives an earlier period first. */
  async function pageOfNow(place: KeyPlace, read: Read): Promise<Page | PublishFailure> {
    const period = periodOf(clock.nowMs());
    if (period <= periodOfPage(read.page)) return read.page;
    if (!hasEntries(read.page)) return turnedPage(read.page, period, false);
    const result = await archive(place, read);
    return result === 'archived' ? turnedPage(read.page, period, true) : result;
  }

  /** The page while it is of this period, else the archive of the period. */
  async function readPeriod(place: KeyPlace, period: number, from: Source) {
    const read = await readPage(pageName(place), from);
    if (periodOfPage(read.page) === period) return { name: pageName(place), read };
    const name = archiveOf(place, period);
    return { name, read: await readPage(name, from) };
  }

  async function publish(name: string, page: Page, revision: number): Promise<PublishResult> {
    const result = await publisher.publishOne(subjectOf(name), page, null, expectSequence(revision));
    if (result.ok) remember(name, { page, revision: result.seq });
    else remembered.delete(name);
    return result;
  }

  /** Publishes a page in the place of the revision that it was made from. Null: another write of the page came first. */
  async function write(name: string, { page, revision }: Read, at: Spot): Promise<WriteResult | null> {
    const result = await publish(name, page, revision);
    if (result.ok) return { ok: true, at };
    return result.failure === 'conflict' ? null : { ok: false, failure: result.failure };
  }

  async function readArchives(): Promise<void> {
    const consumer = await reading.jetstream.consumers.get(stream, { filter_subjects: subjectOf('p.>') });
    const { num_pending: pending } = await consumer.info();
    if (pending === 0) return;
    const records = await consumer.consume({ max_messages: limits.idempotency.readAheadRecords });
    const reader = new ArchiveReader(archived);
    for await (const record of records) {
      const [page = '', period] = record.subject.slice(subjectOf('p.').length).split('.');
      const read = pageOf(record.data);
      if (period === undefined) reader.page(page, periodOfPage(read));
      else reader.archive(page, Number.parseInt(period, 36), read);
      if (record.info.pending === 0) break;
    }
    await records.close();
  }

  return {
    async read(place) {
      return find((await readPage(pageName(place), 'any')).page, place);
    },
    add(place, next) {
      const stamp = newStamp();
      return untilNoConflict(async (from) => {
        const read = await readPage(pageName(place), from);
        const found = await find(read.page, place);
        // An earlier try of this call was stored although its answer was lost.
        if (found?.stamp === stamp) return { ok: true, at: found };
        if (found !== null) return from === 'leader' ? { ok: false, failure: 'conflict', found } : null;
        const page = await pageOfNow(place, read);
        if (page === 'conflict') return null;
        if (typeof page === 'string') return { ok: false, failure: page };
        const added = changedPage(page, place.own, stamped(next(), stamp), sinceMs());
        return write(pageName(place), { page: added, revision: read.revision }, { period: periodOfPage(page), stamp });
      });
    },
    change(place, { period, stamp }, next) {
      const runningStamp = newStamp();
      return untilNoConflict(async (from) => {
        const { name, read } = await readPeriod(place, period, from);
        const entry = next();
        const wanted = entry === null ? null : stamped(entry, runningStamp);
        const at = { period, stamp: wanted?.stamp ?? 0 };
        const found = living(read.page, place);
        // As in `add`: an earlier try of this call was stored.
        if (from === 'leader' && isSame(found, wanted)) return { ok: true, at };
        if (found?.stamp !== stamp) return from === 'leader' ? { ok: false, failure: 'conflict', found } : null;
        return write(name, { page: changedPage(read.page, place.own, wanted, sinceMs()), revision: read.revision }, at);
      });
    },
    async readAhead() {
      const ended = withDeadline('reading ahead', limits.idempotency.readAheadEndMs, readArchives(), clock);
      readingAhead = ended
        .finally(() => (readingAhead = null))
        .catch((error: unknown) => ignoring(error, 'reading ahead failed: an archive is read when a key needs it'));
      await ended;
    },
    async keepAnswer(place, answer) {
      const { ok } = await publisher.publishOne(subjectOf(place.answer), answer, null);
      return ok;
    },
    async readAnswer(place) {
      const found = await records.leader(place.answer);
      return found === null ? null : Buffer.from(found.octets);
    },
  };
}

/** Repeats `attempt` while it returns null: with the remembered page first, then with the leader's. */
async function untilNoConflict(attempt: (from: Source) => Promise<WriteResult | null>): Promise<WriteResult> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const result = await attempt(tries === 0 ? 'memory' : 'leader');
    if (result !== null) return result;
  }
  return { ok: false, failure: 'busy' };
}

const pageName = ({ page }: KeyPlace) => `p.${page}`;
const archiveOf = ({ page }: KeyPlace, period: number) => `p.${page}.${period.toString(36)}`;

const stamped = (entry: IdempotencyEntry, runningStamp: number): StampedEntry => ({
  entry,
  stamp: entry.state === 'done' ? doneStamp : runningStamp,
});

/** A running entry is identified by its stamp; entries that are done must be equal. */
function isSame(found: StampedEntry | null, wanted: StampedEntry | null): boolean {
  if (found === null || wanted === null) return found === wanted;
  if (found.stamp !== wanted.stamp) return false;
  return found.entry.state === 'running' || isDeepStrictEqual(found.entry, wanted.entry);
}

/** Neither 0 (no entry) nor doneStamp. */
function newStamp(): number {
  return (secretBytes(4).readUInt32BE(0) % (doneStamp - 1)) + 1;
}
