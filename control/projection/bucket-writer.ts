// Writes the bucket `directory`, by compare-and-set only. A writer reads the entry's revision first and the database
// after it; so one that was suspended in between loses against one with newer rows, and correctness needs no lock. It
// never decides what an entry should say.
import type { KV } from '@nats-io/kv';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { readEntry, remove, replace } from '../../cluster/bus/bucket.ts';
import type { BusCalls } from '../../directory/bus-calls.ts';
import type { StoredEntry, EntryChange } from './entry-changes.ts';

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
