// The bucket `idempotency`: entries on pages, under compare-and-set. A write reads the page, changes one entry and publishes
// the page with the revision that was read; only the acknowledgement decides anything. Who loses to another key of the same
// page reads again; who loses to another write of the same key is told what stands there. Entries that are over
// leave their page with its next write, and a page that nobody writes any more leaves the bucket.
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { PublishFailure, Publisher } from '../../../cluster/bus/publisher.ts';
import { streamOfBucket, subjectInBucket } from '../../../cluster/bus/streams.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { secretBytes } from '../../../platform/random.ts';
import { type IdempotencyEntry, type KeyPlace, type Page, type StampedEntry, decodePage, encodePage } from './entry.ts';

export type WriteResult =
  /** `stamp`: what the next write of this entry expects. */
  | { readonly ok: true; readonly stamp: number }
  /** Another write came before; `found` is what stands there now. */
  | { readonly ok: false; readonly failure: 'conflict'; readonly found: StampedEntry | null }
  | { readonly ok: false; readonly failure: Exclude<PublishFailure, 'conflict'> };

export type IdempotencyStore = {
  /** `stamp` 0: only when there is no entry. `next` null: the entry goes. Rejects when the bus answers no read. */
  write(place: KeyPlace, next: IdempotencyEntry | null, stamp: number): Promise<WriteResult>;
  /** Null when there is none. Rejects when the bus does not answer. */
  read(place: KeyPlace): Promise<StampedEntry | null>;
  /** An answer that is too long for a page; before the entry that points to it. */
  keepAnswer(place: KeyPlace, answer: Buffer): Promise<boolean>;
  /** Rejects when the bus does not answer; null when it is gone. */
  readAnswer(place: KeyPlace): Promise<Buffer | null>;
};

type Read = { readonly page: Page; readonly revision: number };

/** Other keys of the page that come first: with a million pages one is rare. */
const triesMax = 10;
const notFoundCode = 404;

export function idempotencyStore(bus: Bus, publisher: Publisher, clock: Clock = systemClock): IdempotencyStore {
  const subjectOf = (name: string) => subjectInBucket('idempotency', name);
  const stream = streamOfBucket('idempotency');
  const timeout = limits.bus.publishTimeoutMs;
  /** Pages this thread has just written: the answer follows the claim within milliseconds. */
  const written = new Map<string, Read>();

  /** Any copy of the stream answers, in a cluster perhaps an older page: good enough to propose a write. */
  async function readAny(name: string): Promise<{ readonly octets: Uint8Array; readonly revision: number } | null> {
    const answer = await bus.connection.request(`$JS.API.DIRECT.GET.${stream}.${subjectOf(name)}`, undefined, {
      timeout,
    });
    if (answer.headers?.code === notFoundCode) return null;
    const revision = Number(answer.headers?.get('Nats-Sequence'));
    if (!(revision > 0)) throw new Error(`a page could not be read: ${answer.headers?.description ?? 'no sequence'}`);
    return { octets: answer.data, revision };
  }

  /** The leader answers: what it says is what the next write meets. */
  async function readLeader(name: string): Promise<{ readonly octets: Uint8Array; readonly revision: number } | null> {
    const stored = await bus.manager.streams.getMessage(stream, { last_by_subj: subjectOf(name) });
    return stored === null ? null : { octets: stored.data, revision: stored.seq };
  }

  async function readPage(name: string, fromLeader: boolean): Promise<Read> {
    const found = await (fromLeader ? readLeader(name) : readAny(name));
    return found === null
      ? { page: new Map(), revision: 0 }
      : { page: decodePage(found.octets), revision: found.revision };
  }

  const isOver = (entry: IdempotencyEntry) => entry.createdAtMs + limits.idempotency.ttlMs < clock.nowMs();
  const livingEntry = (page: Page, { hash }: KeyPlace): StampedEntry | null => {
    const found = page.get(hash);
    return found === undefined || isOver(found.entry) ? null : found;
  };

  function remember(name: string, read: Read): void {
    written.delete(name);
    written.set(name, read);
    if (written.size <= limits.idempotency.pagesRememberedMax) return;
    for (const oldest of written.keys()) {
      written.delete(oldest);
      return;
    }
  }

  function withEntry(page: Page, { hash }: KeyPlace, next: StampedEntry | null): Page {
    const changed: Page = new Map();
    for (const [each, stamped] of page) if (each !== hash && !isOver(stamped.entry)) changed.set(each, stamped);
    if (next !== null) changed.set(hash, next);
    return changed;
  }

  return {
    async write(place, next, stamp) {
      const nextStamp = newStamp();
      let read = written.get(place.page) ?? (await readPage(place.page, false));
      let isFromLeader = false;
      for (let tries = 0; tries < triesMax; tries += 1) {
        const found = livingEntry(read.page, place);
        // An own earlier try that went unanswered and landed all the same.
        if (next !== null && found?.stamp === nextStamp) return { ok: true, stamp: nextStamp };
        if ((found?.stamp ?? 0) !== stamp) {
          if (next === null && found === null && tries > 0) return { ok: true, stamp: 0 };
          if (isFromLeader) return { ok: false, failure: 'conflict', found };
        } else {
          const page = withEntry(read.page, place, next === null ? null : { entry: next, stamp: nextStamp });
          const result = await publisher.publishOne(subjectOf(place.page), encodePage(page), null, {
            'Nats-Expected-Last-Subject-Sequence': String(read.revision),
          });
          if (result.ok) {
            remember(place.page, { page, revision: result.seq });
            return { ok: true, stamp: nextStamp };
          }
          if (result.failure !== 'conflict') return { ok: false, failure: result.failure };
        }
        written.delete(place.page);
        read = await readPage(place.page, true);
        isFromLeader = true;
      }
      return { ok: false, failure: 'busy' };
    },
    async read(place) {
      const { page } = await readPage(place.page, false);
      return livingEntry(page, place);
    },
    async keepAnswer(place, answer) {
      const { ok } = await publisher.publishOne(subjectOf(place.answer), answer, null);
      return ok;
    },
    async readAnswer(place) {
      const found = await readLeader(place.answer);
      return found === null ? null : Buffer.from(found.octets);
    },
  };
}

/** Never 0: that means no entry. */
function newStamp(): number {
  return secretBytes(4).readUInt32BE(0) || 1;
}
