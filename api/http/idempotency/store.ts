// The bucket `idempotency`: records under compare-and-set. Writes go through the lean publisher with the expected
// revision in a header; only their acknowledgement decides anything. Reads only propose.
import type { KV } from '@nats-io/kv';
import type { PublishResult, Publisher } from '../../../cluster/bus/publisher.ts';
import { keyValueBuckets } from '../../../cluster/bus/streams.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { limits } from '../../../platform/limits.ts';
import { type IdempotencyRecord, decodeRecord, encodeRecord } from './record.ts';

export type StoredRecord = { readonly record: IdempotencyRecord; readonly revision: number };

export type IdempotencyStore = {
  /** `revision` 0: only when there is no record. A `conflict` may be an own earlier try: read and compare. */
  write(key: string, record: IdempotencyRecord, revision: number): Promise<PublishResult>;
  /** Null when there is none. Rejects when the bus does not answer. */
  read(key: string): Promise<StoredRecord | null>;
};

const subjectPrefix = `$KV.${keyValueBuckets.idempotency.name}.`;

export function idempotencyStore(kv: KV, publisher: Publisher): IdempotencyStore {
  return {
    write(key, record, revision) {
      return publisher.publishOne(subjectPrefix + key, encodeRecord(record), null, {
        'Nats-Expected-Last-Subject-Sequence': String(revision),
      });
    },
    async read(key) {
      const entry = await withDeadline('reading an idempotency record', limits.bus.publishTimeoutMs, kv.get(key));
      if (entry === null || entry.operation !== 'PUT') return null;
      return { record: decodeRecord(entry.value), revision: entry.revision };
    },
  };
}
