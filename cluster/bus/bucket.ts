// Compare-and-set on one entry of a key-value bucket: a write names the revision that was read, and gets `conflict` as
// a value if the entry was written since; the client reports that as one API error among others. No answer is still an
// error: the write may have been stored, which only a read shows.
import type { KV, KvEntry } from '@nats-io/kv';
import { assert } from '../../platform/assert.ts';
import { isApiError, wrongLastSequence } from './api-errors.ts';

export type Written = { readonly revision: number } | 'conflict';

/** `entry` is null when there is none or it was removed; the next write needs `revision` in both cases. */
export type EntryRead = { readonly entry: KvEntry | null; readonly revision: number };

export async function readEntry(bucket: KV, key: string): Promise<EntryRead> {
  const entry = await bucket.get(key);
  return { entry: entry?.operation === 'PUT' ? entry : null, revision: entry?.revision ?? 0 };
}

/** Creates the entry if there is none or it was removed. */
export function create(bucket: KV, key: string, value: string | Uint8Array): Promise<Written> {
  return written(bucket.create(key, value));
}

/** `revision` as read; 0 when the key never had an entry. */
export function replace(bucket: KV, key: string, value: string | Uint8Array, revision: number): Promise<Written> {
  return written(bucket.put(key, value, { previousSeq: revision }));
}

export function remove(bucket: KV, key: string, revision: number): Promise<'ok' | 'conflict'> {
  assert(revision > 0, 'without a revision the client removes any entry');
  return orConflict(bucket.delete(key, { previousSeq: revision }).then(() => 'ok' as const));
}

/**
 * Writes what `change` makes of the entry; null leaves it. Reads again and calls `change` again after a conflict; gives
 * up with `conflict` after `triesMax`.
 */
export async function merge(
  bucket: KV,
  key: string,
  change: (held: KvEntry | null) => string | Uint8Array | null | Promise<string | Uint8Array | null>,
  triesMax = Number.POSITIVE_INFINITY,
): Promise<'ok' | 'conflict'> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const { entry, revision } = await readEntry(bucket, key);
    const value = await change(entry);
    if (value === null || (await replace(bucket, key, value, revision)) !== 'conflict') return 'ok';
  }
  return 'conflict';
}

/** For writes outside of the bucket's client: the result, or `conflict`. */
export async function orConflict<T>(write: Promise<T>): Promise<T | 'conflict'> {
  try {
    return await write;
  } catch (error) {
    if (!isApiError(error, wrongLastSequence)) throw error;
    return 'conflict';
  }
}

/** A header that makes a publish fail if its subject has a record after that sequence. */
export function expectSequence(seq: number): Record<string, string> {
  return { 'Nats-Expected-Last-Subject-Sequence': String(seq) };
}

function written(revision: Promise<number>): Promise<Written> {
  return orConflict(revision.then((revision) => ({ revision })));
}
