// Reads once what a stream holds now, oldest first, without acks. read-stream.ts reads continuously.
import { DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import type { Bus } from './connect.ts';
import { type KeyValueBucket, bucketOperation, streamOfBucket, subjectInBucket } from './streams.ts';

type PresentReading = {
  /** Missing: all subjects. */
  readonly filter?: string;
  /** Only the last record of each subject. */
  readonly lastPerSubject?: boolean;
  readonly headersOnly?: boolean;
  /**
   * The number of records according to the stream's leader: waits for those that the replica does not have yet.
   * Missing: as many as the replica has.
   */
  readonly present?: number;
  readonly recordsMax: number;
  /** The limit for each answer of the server, and for all records together. */
  readonly withinMs: number;
};

/**
 * `present`: the number of records. `taken` is less when `recordsMax` or the time limit is reached, or records are
 * replaced meanwhile.
 */
export async function readPresent(
  bus: Bus,
  stream: string,
  { filter, lastPerSubject = false, headersOnly = false, present: expected, recordsMax, withinMs }: PresentReading,
  take: (record: JsMsg) => void,
): Promise<{ readonly present: number; readonly taken: number }> {
  const call = <T>(work: Promise<T>) => withDeadline(`reading ${stream}`, withinMs, work);
  const consumer = await call(
    bus.jetstream.consumers.get(stream, {
      ...(filter === undefined ? {} : { filter_subjects: filter }),
      ...(lastPerSubject ? { deliver_policy: DeliverPolicy.LastPerSubject } : {}),
      headers_only: headersOnly,
    }),
  );
  try {
    const present = expected ?? (await call(consumer.info())).num_pending;
    let taken = 0;
    if (present === 0) return { present, taken };
    const batch = { max_messages: Math.min(present, recordsMax), expires: withinMs };
    for await (const record of await consumer.fetch(batch)) {
      take(record);
      taken += 1;
      // Records that are replaced meanwhile do not arrive.
      if (expected === undefined && record.info.pending === 0) break;
    }
    return { present, taken };
  } finally {
    void consumer.delete().catch((error: unknown) => ignoring(error, 'the server deletes the unused consumer itself'));
  }
}

type PresentEntry = Pick<JsMsg, 'subject' | 'seq'> & { readonly name: string; readonly body: Uint8Array };

/** Reads the entries that a bucket holds now, without the removed ones. `keys`: a filter of their names. */
export async function readEntries(
  bus: Bus,
  bucket: KeyValueBucket,
  keys: string,
  bounds: Pick<PresentReading, 'recordsMax' | 'withinMs'>,
  take: (entry: PresentEntry) => void,
): Promise<void> {
  const start = subjectInBucket(bucket, '').length;
  const reading = { filter: subjectInBucket(bucket, keys), lastPerSubject: true, ...bounds };
  await readPresent(bus, streamOfBucket(bucket), reading, ({ subject, seq, headers, data }) => {
    if (headers?.has(bucketOperation) !== true) take({ name: subject.slice(start), body: data, subject, seq });
  });
}
