// The bucket `idempotency`: entries on pages, under compare-and-set. A write reads the page, changes one entry and publishes
// the page with the revision that was read; only the acknowledgement decides anything. Who loses to another key of the same
// page reads again; who loses to another write of the same key is told what stands there. Entries that are over
// leave their page with its next write, and a page that nobody writes any more leaves the bucket. A server that has just
// started loads its store with the first reads, and a read waits for it.
import { isDeepStrictEqual } from 'node:util';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { PublishFailure, Publisher } from '../../../cluster/bus/publisher.ts';
import { streamOfBucket, subjectInBucket } from '../../../cluster/bus/streams.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { secretBytes } from '../../../platform/random.ts';
import {
  type IdempotencyEntry,
  type Page,
  type StampedEntry,
  changedPage,
  doneStamp,
  emptyPage,
  findEntry,
  readPage as pageOf,
} from './entry.ts';
import type { KeyPlace } from './key-place.ts';

export type WriteResult =
  /** `stamp`: what the next write of this entry expects. */
  | { readonly ok: true; readonly stamp: number }
  /** Another write came before; `found` is what stands there now. */
  | { readonly ok: false; readonly failure: 'conflict'; readonly found: StampedEntry | null }
  | { readonly ok: false; readonly failure: Exclude<PublishFailure, 'conflict'> };

export type IdempotencyStore = {
  /**
   * `stamp` 0: only when there is no entry. `next` is asked right before each publish, so that a lease begins there; null: the
   * entry goes. Rejects when the bus answers no read.
   */
  write(place: KeyPlace, next: () => IdempotencyEntry | null, stamp: number): Promise<WriteResult>;
  /** Null when there is none. Rejects when the bus does not answer within limits.idempotency.readMs. */
  read(place: KeyPlace): Promise<StampedEntry | null>;
  /** An answer that is too long for a page; before the entry that points to it. */
  keepAnswer(place: KeyPlace, answer: Buffer): Promise<boolean>;
  /** Rejects when the bus does not answer; null when it is gone. */
  readAnswer(place: KeyPlace): Promise<Buffer | null>;
};

type Stored = { readonly octets: Uint8Array; readonly revision: number };
type Read = { readonly page: Page; readonly revision: number };

/** Other keys of the page that come first: with so many pages one is rare. */
const triesMax = 10;
const notFoundCode = 404;

/** `reading`: where pages are read, because the server loads a block of its store before it looks at the connection again. */
export function idempotencyStore(
  bus: Bus,
  publisher: Publisher,
  clock: Clock = systemClock,
  reading: NatsConnection = bus.connection,
): IdempotencyStore {
  const subjectOf = (name: string) => subjectInBucket('idempotency', name);
  const stream = streamOfBucket('idempotency');
  const { readMs, readTryMs, readAgainMs, ttlMs, pagesRememberedMax } = limits.idempotency;
  /** Pages this thread has just read or written: the claim follows the read, and the answer the claim, within milliseconds. */
  const remembered = new Map<string, Read>();

  /** Any copy of the stream answers, in a cluster perhaps an older page: good enough to propose a write. */
  async function askAny(name: string, timeout: number): Promise<Stored | null> {
    const answer = await reading.request(`$JS.API.DIRECT.GET.${stream}.${subjectOf(name)}`, undefined, { timeout });
    if (answer.headers?.code === notFoundCode) return null;
    const revision = Number(answer.headers?.get('Nats-Sequence'));
    if (!(revision > 0)) throw new Error(`a page could not be read: ${answer.headers?.description ?? 'no sequence'}`);
    return { octets: answer.data, revision };
  }

  /** The leader answers: what it says is what the next write meets. */
  async function askLeader(name: string): Promise<Stored | null> {
    const stored = await bus.manager.streams.getMessage(stream, { last_by_subj: subjectOf(name) });
    return stored === null ? null : { octets: stored.data, revision: stored.seq };
  }

  /** Asks again while the server starts, or loads its store. */
  async function persistently(ask: (timeoutMs: number) => Promise<Stored | null>): Promise<Stored | null> {
    const endAtMs = clock.monotonicMs() + readMs;
    for (;;) {
      try {
        return await ask(Math.max(1, Math.min(readTryMs, endAtMs - clock.monotonicMs())));
      } catch (error) {
        if (clock.monotonicMs() + readAgainMs >= endAtMs) throw error;
        ignoring(error, 'a page of idempotency keys was not read, it is asked for again');
        await clock.sleep(readAgainMs);
      }
    }
  }

  async function readPage(name: string, from: 'any' | 'leader'): Promise<Read> {
    const found = await persistently((timeoutMs) => (from === 'any' ? askAny(name, timeoutMs) : askLeader(name)));
    const read =
      found === null ? { page: emptyPage, revision: 0 } : { page: pageOf(found.octets), revision: found.revision };
    remember(name, read);
    return read;
  }

  const sinceMs = () => clock.nowMs() - ttlMs;
  const livingEntry = (page: Page, { own }: KeyPlace): StampedEntry | null => {
    const found = findEntry(page, own);
    return found === null || found.entry.createdAtMs < sinceMs() ? null : found;
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

  return {
    async write(place, next, stamp) {
      const runningStamp = newStamp();
      let read = remembered.get(place.page) ?? (await readPage(place.page, 'any'));
      let isFromLeader = false;
      for (let tries = 0; tries < triesMax; tries += 1) {
        const entry = next();
        const wanted = stampedEntry(entry, runningStamp);
        const found = livingEntry(read.page, place);
        // An own earlier try that went unanswered and landed all the same.
        if (tries > 0 && isSame(found, wanted)) return { ok: true, stamp: wanted?.stamp ?? 0 };
        if ((found?.stamp ?? 0) !== stamp) {
          if (isFromLeader) return { ok: false, failure: 'conflict', found };
        } else {
          const page = changedPage(read.page, place.own, wanted, sinceMs());
          const result = await publisher.publishOne(subjectOf(place.page), page, null, {
            'Nats-Expected-Last-Subject-Sequence': String(read.revision),
          });
          if (result.ok) {
            remember(place.page, { page, revision: result.seq });
            return { ok: true, stamp: wanted?.stamp ?? 0 };
          }
          if (result.failure !== 'conflict') {
            remembered.delete(place.page);
            return { ok: false, failure: result.failure };
          }
        }
        read = await readPage(place.page, 'leader');
        isFromLeader = true;
      }
      return { ok: false, failure: 'busy' };
    },
    async read(place) {
      const { page } = await readPage(place.page, 'any');
      return livingEntry(page, place);
    },
    async keepAnswer(place, answer) {
      const { ok } = await publisher.publishOne(subjectOf(place.answer), answer, null);
      return ok;
    },
    async readAnswer(place) {
      const found = await persistently(() => askLeader(place.answer));
      return found === null ? null : Buffer.from(found.octets);
    },
  };
}

const stampedEntry = (entry: IdempotencyEntry | null, runningStamp: number): StampedEntry | null =>
  entry === null ? null : { entry, stamp: entry.state === 'done' ? doneStamp : runningStamp };

/** The stamp of a running entry tells it apart from all others; of one that is done what it says must be the same. */
function isSame(found: StampedEntry | null, wanted: StampedEntry | null): boolean {
  if (found === null || wanted === null) return found === wanted;
  if (found.stamp !== wanted.stamp) return false;
  return found.entry.state === 'running' || isDeepStrictEqual(found.entry, wanted.entry);
}

/** Neither 0, which means no entry, nor the one of entries that are done. */
function newStamp(): number {
  return (secretBytes(4).readUInt32BE(0) % (doneStamp - 1)) + 1;
}
