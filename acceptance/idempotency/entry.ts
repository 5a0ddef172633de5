// The entry of a request with an idempotency key, and the page that holds it. JetStream keeps about 250 octets in
// memory per subject, so keys have no subjects of their own: the hash of a key selects one of 2^14 pages, and a page is
// one record with the keys of two hours (about 130 entries of 20 octets at 300 keys a second). When a period ends, its
// keys move to an archive record, and the page lists those periods. The layout is binary and searched in place, because
// every key reads and writes a page. A page that cannot be parsed is an error.
import { assert } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';

export type IdempotencyEntry = {
  /** Fingerprint of the request's body (key-place.ts): the same key with another body is refused. */
  readonly bodyPrint: Buffer;
  /** When the key was first used, in whole milliseconds. Message ids are derived from it. */
  readonly createdAtMs: number;
} & (
  | { readonly state: 'running'; readonly leaseUntilMs: number }
  /** `answer`: what the answer is rebuilt from; `apart`: it has a record of its own. */
  | { readonly state: 'done'; readonly answer: Buffer | 'apart' }
);

/**
 * An entry on its page. Compare-and-set compares `stamp`: every write of a running entry changes it; all entries that
 * are done share one value, because they never change again.
 */
export type StampedEntry = { readonly entry: IdempotencyEntry; readonly stamp: number };

/** The octets of a page whose layout was validated. */
export type Page = Buffer & { readonly page: true };

export const printOctets = 5;
export const doneStamp = 2 ** 32 - 1;
/** Epoch of the stored times, which have 40 bits: up to October 2054. */
export const timesBeginMs = Date.UTC(2020, 0);

// version (1) period (4) archived periods (4: bit n for the one n + 1 before this one), then for each entry: own (6)
// print (5) created (5) tag (1), and
//   tag 255, running: stamp (4) lease until (5)
//   tag 254, done, with its answer in a record of its own: nothing
//   tag 0–64, done: so many octets of answer
const version = 3;
const periodAt = 1;
const archivedAt = 5;
const pageHeadOctets = 9;
const archivedBits = 32;
const ownOctets = 6;
const timeOctets = 5;
const printAt = ownOctets;
const createdAt = printAt + printOctets;
const tagAt = createdAt + timeOctets;
const headOctets = tagAt + 1;
const runningTag = 255;
const apartTag = 254;
const stampOctets = 4;

export const emptyPage: Page = Buffer.of(version, 0, 0, 0, 0, 0, 0, 0, 0) as Page;

/** Throws when this version cannot read the octets as a page. */
export function readPage(octets: Uint8Array): Page {
  const page = Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength);
  if (page[0] !== version) {
    throw new Error(
      `a page of idempotency keys has version ${String(page[0])}; this Heliograph reads version ${version}`,
    );
  }
  let at = pageHeadOctets;
  while (at < page.length) at += octetsAt(page, at);
  if (at !== page.length) throw new Error('a page of idempotency keys that is cut off');
  return page as Page;
}

/** `own`: KeyPlace.own. If an entry were there twice, which never happens, the first would count. */
export function findEntry(page: Page, own: number): StampedEntry | null {
  for (let at = pageHeadOctets; at < page.length; at += octetsAt(page, at))
    if (isOwn(page, at, own)) return entryAt(page, at);
  return null;
}

/**
 * The page with `next` in place of this key's entry (null: without it), without other keys' entries created before
 * `sinceMs`.
 */
export function changedPage(page: Page, own: number, next: StampedEntry | null, sinceMs: number): Page {
  const changed = Buffer.allocUnsafe(page.length + (next === null ? 0 : headOctets + tailOctetsOf(next.entry)));
  let to = page.copy(changed, 0, 0, pageHeadOctets);
  for (let at = pageHeadOctets; at < page.length; ) {
    const end = at + octetsAt(page, at);
    const stays = !isOwn(page, at, own) && createdAtMsAt(page, at) >= sinceMs;
    if (stays) to += page.copy(changed, to, at, end);
    at = end;
  }
  if (next !== null) to = writeEntry(changed, to, own, next);
  return changed.subarray(0, to) as Page;
}

export const periodOfPage = (page: Page): number => page.readUInt32BE(periodAt);
export const hasEntries = (page: Page): boolean => page.length > pageHeadOctets;

/** The earlier periods that this page lists as archived, the latest first. */
export function archivedPeriods(page: Page): number[] {
  const bits = page.readUInt32BE(archivedAt);
  const periods: number[] = [];
  for (let bit = 0; bit < archivedBits; bit += 1) {
    if (((bits >>> bit) & 1) === 1) periods.push(periodOfPage(page) - 1 - bit);
  }
  return periods;
}

/** The empty page of a later period. `isArchived`: the entries of this page were archived. */
export function turnedPage(page: Page, period: number, isArchived: boolean): Page {
  const by = period - periodOfPage(page);
  assert(by > 0, 'periods only go on');
  const turned = Buffer.from(emptyPage);
  turned.writeUInt32BE(period, periodAt);
  if (by > archivedBits) return turned as Page;
  const moved = BigInt(page.readUInt32BE(archivedAt)) << BigInt(by);
  const own = isArchived ? 1n << BigInt(by - 1) : 0n;
  turned.writeUInt32BE(Number(BigInt.asUintN(archivedBits, moved | own)), archivedAt);
  return turned as Page;
}

/** Three octets of each key of a page, concatenated: they show that a key is not on the page without reading it. */
export function printsOfKeys(page: Page): string {
  const prints: Buffer[] = [];
  for (let at = pageHeadOctets; at < page.length; at += octetsAt(page, at))
    prints.push(page.subarray(at + 3, at + ownOctets));
  return Buffer.concat(prints).toString('latin1');
}

/** The part of printsOfKeys that this key has. Another page of 130 keys contains it by chance about once in 40,000. */
export function printOfKey(own: number): string {
  const octets = Buffer.allocUnsafe(ownOctets);
  octets.writeUIntBE(own, 0, ownOctets);
  return octets.toString('latin1', 3);
}

/** Every entry of a page with its KeyPlace.own. */
export function* entriesOf(page: Page): Generator<readonly [own: number, StampedEntry]> {
  for (let at = pageHeadOctets; at < page.length; at += octetsAt(page, at))
    yield [page.readUIntBE(at, ownOctets), entryAt(page, at)];
}

function octetsAt(page: Buffer, at: number): number {
  const tag = page[at + tagAt];
  if (tag === undefined) throw new Error('a page of idempotency keys that is cut off');
  if (tag === runningTag) return headOctets + stampOctets + timeOctets;
  if (tag === apartTag) return headOctets;
  if (tag > limits.idempotency.answerOctetsOnPage) throw new Error(`an idempotency key with the unknown tag ${tag}`);
  return headOctets + tag;
}

const isOwn = (page: Buffer, at: number, own: number) => page.readUIntBE(at, ownOctets) === own;
const createdAtMsAt = (page: Buffer, at: number) => timesBeginMs + page.readUIntBE(at + createdAt, timeOctets);

function entryAt(page: Buffer, at: number): StampedEntry {
  const bodyPrint = Buffer.from(page.subarray(at + printAt, at + createdAt));
  const shared = { bodyPrint, createdAtMs: createdAtMsAt(page, at) };
  const tag = page.readUInt8(at + tagAt);
  const tail = at + headOctets;
  if (tag === runningTag) {
    const leaseUntilMs = timesBeginMs + page.readUIntBE(tail + stampOctets, timeOctets);
    return { stamp: page.readUInt32BE(tail), entry: { ...shared, state: 'running', leaseUntilMs } };
  }
  const answer = tag === apartTag ? ('apart' as const) : Buffer.from(page.subarray(tail, tail + tag));
  return { stamp: doneStamp, entry: { ...shared, state: 'done', answer } };
}

function writeEntry(page: Buffer, from: number, own: number, { entry, stamp }: StampedEntry): number {
  let at = page.writeUIntBE(own, from, ownOctets);
  assert(entry.bodyPrint.length === printOctets, 'a fingerprint of another length');
  at += entry.bodyPrint.copy(page, at);
  at = page.writeUIntBE(entry.createdAtMs - timesBeginMs, at, timeOctets);
  if (entry.state === 'running') {
    assert(stamp !== doneStamp, 'a running entry has a stamp of its own');
    at = page.writeUInt8(runningTag, at);
    at = page.writeUInt32BE(stamp, at);
    return page.writeUIntBE(entry.leaseUntilMs - timesBeginMs, at, timeOctets);
  }
  assert(stamp === doneStamp, 'every entry that is done has the same stamp');
  if (entry.answer === 'apart') return page.writeUInt8(apartTag, at);
  at = page.writeUInt8(entry.answer.length, at);
  return at + entry.answer.copy(page, at);
}

function tailOctetsOf(entry: IdempotencyEntry): number {
  if (entry.state === 'running') return stampOctets + timeOctets;
  if (entry.answer === 'apart') return 0;
  assert(entry.answer.length <= limits.idempotency.answerOctetsOnPage, 'a longer answer is kept apart');
  return entry.answer.length;
}
