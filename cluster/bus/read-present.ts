// Reads once what a stream holds now, oldest first, without touching it. What comes later is for read-stream.ts.
import { DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import type { Bus } from './connect.ts';

type PresentReading = {
  /** Left out: all of it. */
  readonly filter?: string;
  /** Only the last record of each subject. */
  readonly lastPerSubject?: boolean;
  readonly headersOnly?: boolean;
  /**
   * How many there are, from the leader of the stream: a replica may not have the last of them yet, and then they are
   * waited for. Left out: as many as the replica that is read has.
   */
  readonly present?: number;
  readonly recordsMax: number;
  /** For each answer of the server, and for all records together. */
  readonly withinMs: number;
};

/**
 * `present`: how many there were. Fewer than that are `taken` when there are more than `recordsMax`, when others
 * replace them meanwhile, or when the time ends first.
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
      // Of those that others replace meanwhile fewer come.
      if (expected === undefined && record.info.pending === 0) break;
    }
    return { present, taken };
  } finally {
    void consumer.delete().catch((error: unknown) => ignoring(error, 'the server forgets it by itself'));
  }
}
