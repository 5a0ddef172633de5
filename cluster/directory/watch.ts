// One reading of the bucket `directory`: all entries there are, then every change as it comes. A reading that broke
// is not mended but replaced by a new one: whoever owns it decides when. It interprets no entry.
import type { KV, KvWatchEntry } from '@nats-io/kv';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from '../bus/connect.ts';
import { openBucket } from '../bus/ensure.ts';

/** The stream behind the bucket. */
export const directoryStream = 'KV_directory';

/** `body` is null for a deletion. */
export type EntrySink = (name: string, body: Uint8Array | null, revision: number) => void;

export type BucketReading = {
  readonly bucket: KV;
  /** The revision up to which everything was told. */
  seen(): number;
  /** Resolves when no change will come any more: it was stopped, or the server ended it. */
  readonly ended: Promise<void>;
  stop(): void;
};

/** Resolves when every entry that existed was told to `sink`; rejects when that takes too long. */
export async function readBucket(bus: Bus, sink: EntrySink): Promise<BucketReading> {
  const bucket = await withDeadline(
    'opening the directory',
    limits.directory.readTimeoutMs,
    openBucket(bus, 'directory'),
  );
  // Taken before the watch begins: whatever it covers is either told or was deleted for good.
  const lastBefore = await lastRevision(bus);
  const entries = await withDeadline('watching the directory', limits.directory.readTimeoutMs, bucket.watch());
  let seen = 0;
  const complete = Promise.withResolvers<void>();
  const ended = (async () => {
    for await (const entry of entries) {
      sink(entry.key, bodyOf(entry), entry.revision);
      seen = entry.revision;
      // `delta` counts the entries that still wait: none behind this one.
      if (entry.delta === 0) complete.resolve();
    }
  })().catch((error: unknown) => ignoring(error, 'a directory watch ended with an error'));
  void ended.then(() => complete.reject(new Error('the directory watch ended before it had told everything')));

  try {
    // An empty bucket tells nothing, so nothing can end the wait.
    const { messages } = (await bus.manager.streams.info(directoryStream)).state;
    if (messages === 0) complete.resolve();
    await withDeadline('reading the directory', limits.directory.readTimeoutMs, complete.promise);
  } catch (error) {
    entries.stop();
    throw error;
  }
  seen = Math.max(seen, lastBefore);
  return { bucket, seen: () => seen, ended, stop: () => entries.stop() };
}

/** The revision of the newest change in the bucket. */
export async function lastRevision(bus: Bus): Promise<number> {
  const info = await withDeadline(
    'asking for the state of the directory',
    limits.directory.readTimeoutMs,
    bus.manager.streams.info(directoryStream),
  );
  return info.state.last_seq;
}

function bodyOf(entry: KvWatchEntry): Uint8Array | null {
  return entry.operation === 'PUT' ? entry.value : null;
}
