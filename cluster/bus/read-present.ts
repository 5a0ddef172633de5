// Reads once what a stream holds now, oldest first, without touching it. What comes later is for read-stream.ts.
import { DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import type { Bus } from './connect.ts';

export type PresentReading = {
  /** Left out: all of it. */
  readonly filter?: string;
  /** Only the last record of each subject. */
  readonly lastPerSubject?: boolean;
  readonly headersOnly?: boolean;
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
  { filter, lastPerSubject = false, headersOnly = false, recordsMax, withinMs }: PresentReading,
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
    const { num_pending: present } = await call(consumer.info());
    let taken = 0;
    if (present === 0) return { present, taken };
    const batch = { max_messages: Math.min(present, recordsMax), expires: withinMs };
    for await (const record of await consumer.fetch(batch)) {
      take(record);
      taken += 1;
      if (record.info.pending === 0) break;
    }
    return { present, taken };
  } finally {
    void consumer.delete().catch((error: unknown) => ignoring(error, 'the server forgets it by itself'));
  }
}
