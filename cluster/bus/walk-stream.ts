// Looks at every record that a stream holds now, one request for each: a queue allows no second consumer, and a record
// that is looked at stays where it is.
import type { StoredMsg } from '@nats-io/jetstream';
import { withDeadline } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';

const { callTimeoutMs } = limits.operations;

/**
 * Resolves with the number of records looked at: all, or those of `subject`. Rejects when the server does not answer, or
 * with the error of `look`.
 */
export async function walkStream(
  bus: Bus,
  stream: string,
  look: (record: StoredMsg) => Promise<void> | undefined,
  subject = '>',
): Promise<number> {
  const { state } = await withDeadline('a stream', callTimeoutMs, bus.manager.streams.info(stream));
  let looked = 0;
  for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; ) {
    const record = await nextRecord(bus, stream, subject, seq);
    if (record === null || record.seq > state.last_seq) break;
    await look(record);
    looked += 1;
    seq = record.seq + 1;
  }
  return looked;
}

/** The first record of the subject from that sequence on; null when there is none. */
export function nextRecord(bus: Bus, stream: string, subject: string, fromSeq: number): Promise<StoredMsg | null> {
  const request = { seq: fromSeq, next_by_subj: subject };
  return withDeadline('a record', callTimeoutMs, bus.manager.streams.getMessage(stream, request));
}

/** The server writes random octets over the record. False when it is gone already. */
export async function overwriteRecord(bus: Bus, stream: string, seq: number): Promise<boolean> {
  try {
    return await withDeadline('a delete', callTimeoutMs, bus.manager.streams.deleteMessage(stream, seq, true));
  } catch (error) {
    const left = await withDeadline('a record', callTimeoutMs, bus.manager.streams.getMessage(stream, { seq }));
    if (left === null) return false;
    throw error;
  }
}
