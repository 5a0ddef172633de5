// The two ways of a change into the directory: the outbox, within milliseconds, and the reconciliation, which
// compares everything and repairs what no outbox row explains. Both read the bucket's revision first and the database
// after it, then write by compare-and-set. projector.ts decides when they run.
import type { KV } from '@nats-io/kv';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { deleteOutbox, entryNameOf, readOutbox } from '../store/outbox.ts';
import type { Store } from '../store/store.ts';
import { applyChanges, storedEntries, type StoredEntry, diffEntries } from './bucket-writer.ts';
import type { BusCalls } from '../../directory/bus-calls.ts';
import { entityOfName, filledEntryName } from '../../directory/tenant-entities.ts';
import { projectBlocks, reconcileBlocks } from './suppression-projection.ts';
import { readAllEntries, readEntries } from './tenant-sources.ts';
import { readBucket } from '../../directory/watch.ts';

/**
 * Projects the outbox until it is empty. A row is deleted after JetStream acked its entry; after a crash in between the
 * comparison is repeated and finds nothing to write.
 */
export async function projectOutbox(
  store: Store,
  calls: BusCalls,
  buckets: { readonly tenants: KV; readonly suppressions: KV },
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    await projectTenants(store, calls, buckets.tenants, stopping);
    // A few blocks at a time, with tenants in between: a revocation must not wait for an import.
    if (stopping.aborted || !(await projectBlocks(store, calls, buckets.suppressions))) return;
  }
}

async function projectTenants(store: Store, calls: BusCalls, bucket: KV, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const rows = await readOutbox(store, limits.directory.outboxBatchMax, 'tenants');
    metrics.directoryOutbox.set(rows.length);
    if (rows.length === 0) return;
    const held = await storedEntries(calls, bucket, [...new Set(rows.map(entryNameOf))]);
    const desired = await readEntries(store.db, (kind) => [
      ...new Set(rows.filter((row) => row.entity === kind).map((row) => row.entity_id)),
    ]);
    const lost = new Set((await applyChanges(calls, bucket, diffEntries(held, desired))).map(({ name }) => name));
    const settled = rows.filter((row) => !lost.has(entryNameOf(row)));
    await deleteOutbox(store, settled);
    // The rest lost against another process, which projects it; the next pass checks again.
    if (settled.length < rows.length) return;
  }
}

/** Compares the whole bucket with the tables. Returns how many entries had drifted and were repaired. */
export async function reconcile(store: Store, calls: BusCalls): Promise<number> {
  const stored = new Map<string, StoredEntry>();
  const reading = await readBucket(calls, (name, body, revision) => {
    // Entries of a later version's kinds are left unchanged.
    if (entityOfName(name) !== null)
      stored.set(name, { text: body === null ? null : Buffer.from(body).toString('utf8'), revision });
  });
  reading.stop();
  // A copy: a revision received after the rows were read would let older rows win.
  const held = new Map(stored);
  const changes = diffEntries(held, await readAllEntries(store));
  // Entries in the outbox are being projected already: no drift, they are only written earlier.
  const underWay = new Set((await readOutbox(store, limits.directory.outboxBatchMax, 'tenants')).map(entryNameOf));
  const lost = await applyChanges(calls, reading.bucket, changes);
  if (!reading.filled && lost.length === 0)
    await calls.call('marking the directory', reading.bucket.put(filledEntryName, '{"v":1}'));
  // A lost compare-and-set is a concurrent change, not drift.
  const isDrift = ({ name }: { readonly name: string }) => !underWay.has(name);
  const drifted = changes.filter(isDrift).length - lost.filter(isDrift).length + (await reconcileBlocks(store, calls));
  if (drifted > 0) {
    metrics.directoryDrift.inc(drifted);
    log.warn({ drifted }, 'the directory differed from the database and was repaired');
  }
  return drifted;
}
