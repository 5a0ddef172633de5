// LATER holds what is due in more than a second: publish it here, then ack it where it came from. At its time
// the releaser (actors/later) publishes it back to the subject it names.
import type { JsMsg } from '@nats-io/jetstream';
import { limits } from '../../platform/limits.ts';
import { assert } from '../../platform/assert.ts';
import type { PublishDone, Publisher } from './publisher.ts';
import { laterSubject } from './subjects.ts';

export type LaterRecord = {
  /** Where it goes when it is due. */
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly dueAtMs: number;
  /** Names this wait; the release gets an id of its own from it, or the stream would take it for a copy. */
  readonly id: string;
  /** Spreads the records of one second over the shards. */
  readonly shardKey: string;
  /** The message's id where a client may still cancel it (cancellations.ts). */
  readonly cancelable?: string;
};

const targetHeader = 'Heliograph-Subject';
const dueHeader = 'Heliograph-Due';
const idHeader = 'Heliograph-Id';
const cancelableHeader = 'Heliograph-Cancelable';
const dayMs = 86_400_000;

export function publishLater(publisher: Publisher, record: LaterRecord, nowMs: number, done: PublishDone): void {
  assert(
    record.dueAtMs - nowMs < limits.bus.laterDaysMax * dayMs,
    'a record due that far away would never be looked for',
  );
  // Never into a second that is over: its consumer may be gone.
  const dueAtMs = Math.max(record.dueAtMs, nowMs);
  publisher.publish(laterSubject(dueAtMs, record.shardKey), record.payload, `later.${record.id}`, done, {
    [targetHeader]: record.subject,
    [dueHeader]: String(dueAtMs),
    [idHeader]: record.id,
    ...(record.cancelable === undefined ? {} : { [cancelableHeader]: record.cancelable }),
  });
}

export type ReadLater = {
  readonly subject: string;
  readonly dueAtMs: number;
  readonly releaseId: string;
  /** The message a client may have canceled; null: nobody can. */
  readonly cancelable: string | null;
};

/** What a LATER record says about itself, or null when it is none of ours. */
export function readLater(record: JsMsg): ReadLater | null {
  const subject = record.headers?.get(targetHeader) ?? '';
  const dueAtMs = Number(record.headers?.get(dueHeader) ?? Number.NaN);
  const id = record.headers?.get(idHeader) ?? '';
  if (subject === '' || id === '' || !Number.isFinite(dueAtMs)) return null;
  return { subject, dueAtMs, releaseId: `released.${id}`, cancelable: record.headers?.get(cancelableHeader) || null };
}
