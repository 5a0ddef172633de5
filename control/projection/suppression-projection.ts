// Projects suppressed numbers into the bucket: the blocks a change touched, and in the reconciliation the blocks
// whose version differs. A block's version is read before its numbers, so an entry can be newer than its version says
// and never older. A list that is divided again has no gap: its new blocks are written before its old ones are removed,
// also when earlier changes of the old ones still wait in the outbox.
import type { KV } from '@nats-io/kv';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { changedLater, deleteOutbox, entryNameOf, readOutbox } from '../store/outbox.ts';
import { camelFields } from '../../platform/letter-case.ts';
import type { Store } from '../store/store.ts';
import type { BlockName, BlockNumber } from '../../directory/contract.ts';
import { applyChanges, type EntryChange } from './bucket-writer.ts';
import { readEntry } from '../../cluster/bus/bucket.ts';
import type { BusCalls } from '../../directory/bus-calls.ts';
import { filledEntryName } from '../../directory/tenant-entities.ts';
import { blockEntryName, blockNameOf, encodeBlock, versionOfBlock } from '../../directory/suppression-entry.ts';
import { readBucket } from '../../directory/watch.ts';
import { placesOfBlock } from '../../model/suppression.ts';

/** Projects some blocks of the outbox. False when there is nothing more to do now. */
export async function projectBlocks(store: Store, calls: BusCalls, bucket: KV): Promise<boolean> {
  const rows = await readOutbox(store, limits.suppression.blocksPerPass, 'suppressions');
  if (rows.length === 0) return false;
  const names = new Map<string, BlockName>();
  for (const row of rows) {
    const of = blockNameOf(row.entity_id);
    if (of !== null) names.set(blockEntryName(of), of);
  }
  // A change of an old block finds it gone when the list was divided since. The row that removes it comes after those of
  // the new blocks.
  const kept = async () => {
    const later = await changedLater(store, rows);
    return new Set(rows.filter((row) => later.has(row.entity_id)).map(entryNameOf));
  };
  const lost = new Set(await writeBlocks(store, calls, bucket, [...names.values()], kept));
  const settled = rows.filter((row) => !lost.has(entryNameOf(row)));
  await deleteOutbox(store, settled);
  return settled.length === rows.length;
}

/** Compares versions only and reads the numbers of blocks that differ. Returns the number of repaired blocks. */
export async function reconcileBlocks(store: Store, calls: BusCalls): Promise<number> {
  const held = new Map<string, string | null>();
  const reading = await readBucket(
    calls,
    (name, body) => {
      if (blockNameOf(name) !== null) held.set(name, body === null ? null : (versionOfBlock(body) ?? 'unreadable'));
    },
    'suppression',
  );
  reading.stop();
  const desired = new Map((await readBlockVersions(store)).map((each) => [blockEntryName(each), each]));
  const missing = [...desired].filter(([name, { version }]) => held.get(name) !== version).map(([, each]) => each);
  const surplus = [...held].filter(([name, version]) => version !== null && !desired.has(name)).map(([name]) => name);
  let changed = 0;
  for (const names of slices(missing)) {
    const kept = async () => new Set(names.map(blockEntryName));
    changed += names.length - (await writeBlocks(store, calls, reading.bucket, names, kept)).length;
  }
  // A list that was divided meanwhile has new blocks that are not written here: its rows in the outbox remove the old ones.
  const unwritten = (await readBlockVersions(store)).filter((each) => !desired.has(blockEntryName(each)));
  const divided = new Set(unwritten.map((each) => each.accountId));
  const removed = surplus.flatMap((name) => blockNameOf(name) ?? []).filter((each) => !divided.has(each.accountId));
  for (const names of slices(removed)) {
    changed += names.length - (await writeBlocks(store, calls, reading.bucket, names, async () => noNames)).length;
  }
  if (!reading.filled && changed === missing.length + surplus.length) {
    await calls.call('marking the suppressed numbers', reading.bucket.put(filledEntryName, '{"v":1}'));
  }
  return changed;
}

const noNames: ReadonlySet<string> = new Set();

/**
 * Writes these blocks as the database has them, and removes those that it has no more. `kept` is asked after the database
 * was read, and names those that must not be removed. Returns the names of those that lost their compare-and-set.
 */
async function writeBlocks(
  store: Store,
  calls: BusCalls,
  bucket: KV,
  names: readonly BlockName[],
  kept: () => Promise<ReadonlySet<string>>,
): Promise<string[]> {
  const changes = await Promise.all(names.map((name) => changeOf(store, calls, bucket, name)));
  const needed = changes.filter((change): change is EntryChange => change !== null);
  const writes = needed.filter((change) => change.text !== null);
  const gone = needed.filter((change) => change.text === null);
  const keep = gone.length === 0 ? noNames : await kept();
  const removals = gone.filter((change) => !keep.has(change.name));
  const lost = await applyChanges(calls, bucket, writes);
  lost.push(...(await applyChanges(calls, bucket, removals)));
  metrics.directoryBlocks.inc(writes.length + removals.length - lost.length);
  return lost.map((change) => change.name);
}

async function changeOf(store: Store, calls: BusCalls, bucket: KV, of: BlockName): Promise<EntryChange | null> {
  const name = blockEntryName(of);
  const { entry, revision } = await calls.call('reading a block of numbers', readEntry(bucket, name));
  const version = await readBlockVersion(store, of);
  if (version === null) return entry === null ? null : { name, text: null, revision };
  if (entry !== null && versionOfBlock(entry.value) === version) return null;
  return { name, text: encodeBlock(version, await readBlockNumbers(store, of)), revision };
}

function* slices<T>(all: readonly T[]): Iterable<readonly T[]> {
  const size = limits.suppression.blocksPerPass;
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size);
}

type BlockVersion = BlockName & { readonly version: string };

/** All blocks, at most 256 for an account: no query reads a whole list. */
async function readBlockVersions(store: Store): Promise<BlockVersion[]> {
  const rows = await store.db.selectFrom('suppression_blocks').selectAll().execute();
  return rows.map(camelFields);
}

/** Null when there is no such block (any more). Read the version before the numbers, never after. */
async function readBlockVersion(store: Store, { accountId, bits, block }: BlockName): Promise<string | null> {
  const row = await store.db
    .selectFrom('suppression_blocks')
    .select('version')
    .where('account_id', '=', accountId)
    .where('bits', '=', bits)
    .where('block', '=', block)
    .executeTakeFirst();
  return row?.version ?? null;
}

async function readBlockNumbers(store: Store, { accountId, bits, block }: BlockName): Promise<BlockNumber[]> {
  const { from, to } = placesOfBlock(block, bits);
  return store.db
    .selectFrom('suppressions')
    .select(['number', 'sender', 'category'])
    .where('account_id', '=', accountId)
    .where('place', '>=', from)
    .where('place', '<=', to)
    .execute();
}
