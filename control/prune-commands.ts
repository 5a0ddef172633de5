// Removes operator commands from the stream that are in the audit log and no longer in effect. One record at a time
// by sequence: a purge by subject would do it at once, but moves consumers of nats-server 2.9 past records they have
// not read.
import { withDeadline } from '../platform/deadline.ts';
import { limits } from '../platform/limits.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { readPresent } from '../cluster/bus/read-present.ts';
import { streamNames } from '../cluster/bus/streams.ts';

/** `writtenSeq`: every command up to this sequence is in the audit log. Returns the number of removed records. */
export async function pruneCommands(bus: Bus, writtenSeq: number): Promise<number> {
  const call = <T>(work: Promise<T>) =>
    withDeadline('removing old operator commands', limits.operations.callTimeoutMs, work);
  const all: { readonly subject: string; readonly seq: number }[] = [];
  const reading = { recordsMax: limits.operations.tidyMax, withinMs: limits.operations.callTimeoutMs };
  await readPresent(bus, streamNames.orders, reading, ({ subject, seq }) => all.push({ subject, seq }));
  const newest = new Map(all.map(({ subject, seq }) => [subject, seq]));
  const past = all.filter(({ subject, seq }) => seq <= writtenSeq && seq !== newest.get(subject));
  for (const { seq } of past) await call(bus.manager.streams.deleteMessage(streamNames.orders, seq, false));
  return past.length;
}
