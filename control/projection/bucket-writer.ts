// Writes the bucket `directory`, by compare-and-set only. A writer reads the entry's revision first and the database
// after it; so one that was suspended in between loses against one with newer rows, and correctness needs no lock. It
// decides what differs from what an entry should say, never what that is.
import type { KV } from '@nats-io/kv';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { readEntry, remove, replace } from '../../cluster/bus/bucket.ts';
import type { BusCalls } from '../../directory/bus-calls.ts';

/** The stored entries of these names; a name without entry is missing in the result. */
export async function storedEntries(
  calls: BusCalls,
  bucket: KV,
  names: readonly string[],
): Promise<Map<string, StoredEntry>> {
  const held = new Map<string, StoredEntry>();
  const reads = names.map(async (name) => {
    const { entry, revision } = await readEntry(bucket, name);
    if (revision > 0) held.set(name, { text: entry?.string() ?? null, revision });
  });
  await calls.call('reading directory entries', Promise.all(reads));
  return held;
}

/** Writes changes, `outboxBatchMax` at a time, batches in order. Returns those that lost their compare-and-set. */
export async function applyChanges(
  calls: BusCalls,
  bucket: KV,
  changes: readonly EntryChange[],
): Promise<EntryChange[]> {
  const lost: EntryChange[] = [];
  const batchMax = limits.directory.outboxBatchMax;
  for (let from = 0; from < changes.length; from += batchMax) {
    const batch = changes.slice(from, from + batchMax);
    const done = await calls.call(
      'writing directory entries',
      Promise.all(batch.map((change) => write(bucket, change))),
    );
    lost.push(...batch.filter((_, at) => done[at] === false));
  }
  return lost;
}

async function write(bucket: KV, { name, text, revision }: EntryChange): Promise<boolean> {
  const written = await (text === null ? remove(bucket, name, revision) : replace(bucket, name, text, revision));
  if (written === 'conflict') return false;
  metrics.directoryProjected.inc({ operation: text === null ? 'delete' : 'put' });
  return true;
}

/** An entry in the bucket: its text (null: deleted) and the revision a change of it must name. */
export type StoredEntry = { readonly text: string | null; readonly revision: number };

/** A write of one entry; `revision` 0: the entry must not exist yet. */
export type EntryChange = StoredEntry & { readonly name: string };

/** The writes that make `held` equal to `desired`: removals first, because they revoke access. */
export function diffEntries(
  held: ReadonlyMap<string, StoredEntry>,
  desired: ReadonlyMap<string, string>,
): EntryChange[] {
  const removals: EntryChange[] = [];
  for (const [name, { text, revision }] of held) {
    if (text !== null && !desired.has(name)) removals.push({ name, text: null, revision });
  }
  const writes: EntryChange[] = [];
  for (const [name, text] of desired) {
    const now = held.get(name);
    if (now?.text !== text) writes.push({ name, text, revision: now?.revision ?? 0 });
  }
  return [...removals, ...writes];
}
