// What is remembered of a request with an idempotency key, and the page it lies on. JetStream keeps a subject in memory for
// some 250 octets, so keys do not have subjects of their own: a key's hash names one of 2^19 pages, and the page is one
// record in the bucket with some 50 entries of some 55 octets at 300 keys a second. Octets are laid out by hand, because a
// page is read and written for every key. A page that cannot be read is not guessed at.
import { hash } from 'node:crypto';
import { assert } from '../../../platform/assert.ts';
import { limits } from '../../../platform/limits.ts';

export type IdempotencyEntry = {
  /** Fingerprint of the request's body (body-print.ts): a repeat is the same request only when it says the same. */
  readonly bodyPrint: Buffer;
  /** When the key was first used; message ids follow from it. */
  readonly createdAtMs: number;
} & (
  | { readonly state: 'running'; readonly leaseUntilMs: number }
  /** `answer`: what the answer is made from again; `apart` when it lies in a record of its own. */
  | { readonly state: 'done'; readonly answer: Buffer | 'apart' }
);

/** An entry as it stands on its page. `stamp` is another one after each write: what compare-and-set compares. */
export type StampedEntry = { readonly entry: IdempotencyEntry; readonly stamp: number };
/** By the key's hash, as 16 characters of latin1. */
export type Page = Map<string, StampedEntry>;

/** Where a key is kept. */
export type KeyPlace = {
  /** The page's name in the bucket. */
  readonly page: string;
  /** 128 bits of the key's hash, as latin1. */
  readonly hash: string;
  /** The name of a record of its own, for an answer that is too long for the page. */
  readonly answer: string;
};

export const printOctets = 16;
const hashOctets = 16;
const version = 2;
const doneFlag = 1;
const apartFlag = 2;
const headOctets = hashOctets + 4 + 1 + 6 + printOctets;
const leaseOctets = 6;

/** Clients put anything into their keys, also people's numbers: only a hash is kept. */
export function keyPlace(accountId: string, livemode: boolean, operation: string, idempotencyKey: string): KeyPlace {
  const text = `${accountId}\n${livemode ? 'live' : 'test'}\n${operation}\n${idempotencyKey}`;
  const digest = hash('sha256', text, 'buffer');
  const number = digest.readUInt32BE(hashOctets) % limits.idempotency.pages;
  const own = digest.subarray(0, hashOctets);
  return { page: `p.${number.toString(36)}`, hash: own.toString('latin1'), answer: `a.${own.toString('base64url')}` };
}

export function encodePage(page: Page): Buffer {
  let length = 1;
  for (const { entry } of page.values()) length += headOctets + tailOctetsOf(entry);
  const octets = Buffer.allocUnsafe(length);
  let at = octets.writeUInt8(version, 0);
  for (const [keyHash, { entry, stamp }] of page) {
    at += octets.write(keyHash, at, hashOctets, 'latin1');
    at = octets.writeUInt32BE(stamp, at);
    at = octets.writeUInt8(flagsOf(entry), at);
    at = octets.writeUIntBE(entry.createdAtMs, at, 6);
    at += entry.bodyPrint.copy(octets, at, 0, printOctets);
    if (entry.state === 'running') at = octets.writeUIntBE(entry.leaseUntilMs, at, leaseOctets);
    else if (entry.answer !== 'apart') {
      at = octets.writeUInt8(entry.answer.length, at);
      at += entry.answer.copy(octets, at);
    }
  }
  return octets;
}

/** Throws when the octets are no page that this version can read. */
export function decodePage(octets: Uint8Array): Page {
  const page: Page = new Map();
  const view = Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength);
  if (view[0] !== version) throw new Error('a page of idempotency keys of an unknown version');
  for (let at = 1; at < view.length; ) {
    const keyHash = view.toString('latin1', at, at + hashOctets);
    const stamp = view.readUInt32BE(at + hashOctets);
    const flags = view.readUInt8(at + hashOctets + 4);
    const createdAtMs = view.readUIntBE(at + hashOctets + 5, 6);
    const bodyPrint = Buffer.from(view.subarray(at + headOctets - printOctets, at + headOctets));
    if (bodyPrint.length !== printOctets) throw new Error('a page of idempotency keys that is cut off');
    at += headOctets;
    if ((flags & doneFlag) === 0) {
      const entry = {
        bodyPrint,
        createdAtMs,
        state: 'running',
        leaseUntilMs: view.readUIntBE(at, leaseOctets),
      } as const;
      page.set(keyHash, { stamp, entry });
      at += leaseOctets;
    } else if ((flags & apartFlag) !== 0) {
      page.set(keyHash, { stamp, entry: { bodyPrint, createdAtMs, state: 'done', answer: 'apart' } });
    } else {
      const length = view.readUInt8(at);
      const answer = Buffer.from(view.subarray(at + 1, at + 1 + length));
      if (answer.length !== length) throw new Error('a page of idempotency keys that is cut off');
      page.set(keyHash, { stamp, entry: { bodyPrint, createdAtMs, state: 'done', answer } });
      at += 1 + length;
    }
  }
  return page;
}

function tailOctetsOf(entry: IdempotencyEntry): number {
  if (entry.state === 'running') return leaseOctets;
  if (entry.answer === 'apart') return 0;
  assert(entry.answer.length <= limits.idempotency.answerOctetsOnPage, 'a longer answer is kept apart');
  return 1 + entry.answer.length;
}

function flagsOf(entry: IdempotencyEntry): number {
  if (entry.state === 'running') return 0;
  return entry.answer === 'apart' ? doneFlag | apartFlag : doneFlag;
}
