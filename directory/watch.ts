// One reading of a bucket of tenants' data: all present entries, then every change in order. When a reading fails, its
// owner decides whether to start a new one.
import type { KV, KvWatchEntry } from '@nats-io/kv';
import { ignoring } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { streamOfBucket } from '../cluster/bus/streams.ts';
import type { BusCalls } from './bus-calls.ts';
import { filledEntryName } from './tenant-entities.ts';

/** The buckets that are read whole into memory. */
export type WatchedBucketName = 'directory' | 'suppression' | 'otp_guard';

/** `body` is null for a deletion. */
type EntrySink = (name: string, body: Uint8Array | null, revision: number) => void;

export type BucketReading = {
  readonly bucket: KV;
  /** When the bucket was created: another value means that an earlier one was lost, with all its entries. */
  readonly madeAt: string;
  /** Whether everything was written into it since then. */
  readonly filled: boolean;
  /** The revision up to which everything was delivered. */
  seen(): number;
  /** Resolves when no change will come any more: it was stopped, or the server ended it. */
  readonly ended: Promise<void>;
  stop(): void;
};

/** Resolves when every entry that existed was delivered to `sink`; rejects when that takes too long. */
export async function readBucket(
  calls: BusCalls,
  sink: EntrySink,
  name: WatchedBucketName = 'directory',
): Promise<BucketReading> {
  const bucket = await calls.call(`opening the bucket ${name}`, openBucket(calls.bus, name));
  // Read before the watch begins: whatever it covers is either delivered or was deleted for good.
  const lastBefore = await lastRevision(calls, name);
  const watch = bucket.watch();
  const entries = await calls.call('watching the directory', watch).catch((error: unknown) => {
    // It may still start, and would never be stopped.
    watch.then((late) => late.stop()).catch((why: unknown) => ignoring(why, 'a late directory watch failed too'));
    throw error;
  });
  let seen = 0;
  // Nobody fills the blocks of the guard: what is not there is not blocked.
  let filled = name === 'otp_guard';
  const complete = Promise.withResolvers<void>();
  complete.promise.catch((error: unknown) => ignoring(error, 'reported to the caller that waits for the reading'));
  const ended = (async () => {
    for await (const entry of entries) {
      if (entry.key === filledEntryName) filled = entry.operation === 'PUT';
      else sink(entry.key, bodyOf(entry), entry.revision);
      seen = entry.revision;
      // `delta` counts the entries that follow this one.
      if (entry.delta === 0) complete.resolve();
    }
  })().catch((error: unknown) => ignoring(error, 'a directory watch ended with an error'));
  void ended.then(() => complete.reject(new Error('the directory watch ended before it had delivered everything')));

  let madeAt = '';
  try {
    // An empty bucket delivers nothing that could end the wait.
    const { created, state } = await calls.call(
      'asking for the size of the directory',
      calls.bus.manager.streams.info(streamOfBucket(name)),
    );
    madeAt = created;
    if (state.messages === 0) complete.resolve();
    await calls.call('reading the directory', complete.promise);
  } catch (error) {
    entries.stop();
    throw error;
  }
  seen = Math.max(seen, lastBefore);
  return { bucket, madeAt, filled, seen: () => seen, ended, stop: () => entries.stop() };
}

/** The revision of the newest change in the bucket. */
export async function lastRevision(calls: BusCalls, name: WatchedBucketName = 'directory'): Promise<number> {
  const info = calls.bus.manager.streams.info(streamOfBucket(name));
  return (await calls.call('checking the directory', info, limits.directory.checkTimeoutMs)).state.last_seq;
}

function bodyOf(entry: KvWatchEntry): Uint8Array | null {
  return entry.operation === 'PUT' ? entry.value : null;
}
