// Compare-and-set on one entry of a key-value bucket: a write names the revision it has read, and loses with `conflict`
// to whatever was written since. The client reports that as an API error among others; here it is a value. No answer is
// an error still: the write may have landed, and only reading shows it.
import type { KV, KvEntry } from '@nats-io/kv';
import { assert } from '../../platform/assert.ts';
import { isApiError, wrongLastSequence } from './api-errors.ts';

export type Written = { readonly revision: number } | 'conflict';

/** `entry` is null when there is none or it was removed; the next write has to name `revision` all the same. */
export type EntryRead = { readonly entry: KvEntry | null; readonly revision: number };

export async function readEntry(bucket: KV, key: string): Promise<EntryRead> {
  const entry = await bucket.get(key);
  return { entry: entry?.operation === 'PUT' ? entry : null, revision: entry?.revision ?? 0 };
}

/** Only when there is none, or it was removed. */
export function create(bucket: KV, key: string, value: string | Uint8Array): Promise<Written> {
  return written(bucket.create(key, value));
}

/** `revision`: as it was read; 0 when the key never had an entry. */
export function replace(bucket: KV, key: string, value: string | Uint8Array, revision: number): Promise<Written> {
  return written(bucket.put(key, value, { previousSeq: revision }));
}

export function remove(bucket: KV, key: string, revision: number): Promise<'ok' | 'conflict'> {
  assert(revision > 0, 'without a revision the client removes whatever is there');
  return orConflict(bucket.delete(key, { previousSeq: revision }).then(() => 'ok' as const));
}

/**
 * Makes of an entry what `change` says; null leaves it as it is. When another write came in between it is read and
 * `change` asked again; `conflict` when that happened `triesMax` times.
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

/** For a write that does not go through the bucket's client: what it resolves with, or `conflict`. */
export async function orConflict<T>(write: Promise<T>): Promise<T | 'conflict'> {
  try {
    return await write;
  } catch (error) {
    if (!isApiError(error, wrongLastSequence)) throw error;
    return 'conflict';
  }
}

/** The header of a publish that is refused when its subject has had another record since that sequence. */
export function expectSequence(seq: number): Record<string, string> {
  return { 'Nats-Expected-Last-Subject-Sequence': String(seq) };
}

function written(revision: Promise<number>): Promise<Written> {
  return orConflict(revision.then((revision) => ({ revision })));
}
