// Removes operator commands from the stream that are in the audit log and no longer in effect. One record at a time
// by sequence: a purge by subject would do it at once, but moves consumers of nats-server 2.9 past records they have
// not read.
import type { StoredMsg } from '@nats-io/jetstream';
import { withDeadline } from '../platform/deadline.ts';
import { limits } from '../platform/limits.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { streamNames } from '../cluster/bus/streams.ts';

/** `writtenSeq`: every order up to this one is in the audit log. Returns how many were taken out. */
export async function pruneCommands(bus: Bus, writtenSeq: number): Promise<number> {
  const call = <T>(work: Promise<T>) => withDeadline('tidying orders', limits.operations.callTimeoutMs, work);
  const all = await readAll(bus);
  const newest = new Map(all.map(({ subject, seq }) => [subject, seq]));
  const past = all.filter(({ subject, seq }) => seq <= writtenSeq && seq !== newest.get(subject));
  for (const { seq } of past) await call(bus.manager.streams.deleteMessage(streamNames.orders, seq, false));
  return past.length;
}

/** Everything the stream holds, oldest first. */
async function readAll(bus: Bus): Promise<Pick<StoredMsg, 'subject' | 'seq'>[]> {
  const call = <T>(work: Promise<T>) => withDeadline('reading orders', limits.operations.callTimeoutMs, work);
  const { state } = await call(bus.manager.streams.info(streamNames.orders));
  if (state.messages === 0) return [];
  const consumer = await call(bus.jetstream.consumers.get(streamNames.orders, {}));
  const records: { subject: string; seq: number }[] = [];
  const batch = {
    max_messages: Math.min(state.messages, limits.operations.tidyMax),
    expires: limits.operations.callTimeoutMs,
  };
  for await (const { subject, seq } of await consumer.fetch(batch)) records.push({ subject, seq });
  return records;
}
