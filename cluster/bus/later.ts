// Publishes what is due in more than a second to one of three streams; the caller then acks it where it came from.
// When it is due a releaser (actors/later) publishes it to the subject it names. SCHEDULED has what clients
// scheduled, HOLDS what carriers hold for hours, LATER the system's own short waits; each has its own bound.
import type { JsMsg } from '@nats-io/jetstream';
import { limits } from '../../platform/limits.ts';
import { assert } from '../../platform/assert.ts';
import { asRepublished } from './republished.ts';
import type { PublishDone, Publisher } from './publisher.ts';
import { type WaitKind, waitSubject } from './subjects.ts';

type LaterRecord = {
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
  /**
   * It may have been published before, and the streams may have forgotten that (republished.ts): its release says so
   * too.
   */
  readonly again?: boolean;
};

const targetHeader = 'Heliograph-Subject';
const dueHeader = 'Heliograph-Due';
const idHeader = 'Heliograph-Id';
const cancelableHeader = 'Heliograph-Cancelable';
const dayMs = 86_400_000;

/**
 * Follows from the record and its due time: a repeat goes where the first try went, unless it crosses a quarter of an
 * hour.
 */
function waitKindOf({ cancelable, dueAtMs }: Pick<LaterRecord, 'cancelable' | 'dueAtMs'>, nowMs: number): WaitKind {
  if (cancelable !== undefined) return 'scheduled';
  return dueAtMs - nowMs > limits.bus.shortWaitMsMax ? 'holds' : 'later';
}

export function publishLater(publisher: Publisher, record: LaterRecord, nowMs: number, done: PublishDone): void {
  assert(
    record.dueAtMs - nowMs < limits.bus.laterDaysMax * dayMs,
    'a record due that far away would never be looked for',
  );
  // Never into a second that is over: its consumer may be gone.
  const dueAtMs = Math.max(record.dueAtMs, nowMs);
  const subject = waitSubject(waitKindOf(record, nowMs), dueAtMs, record.shardKey);
  publisher.publish(subject, record.payload, `later.${record.id}`, done, {
    [targetHeader]: record.subject,
    [dueHeader]: String(dueAtMs),
    [idHeader]: record.id,
    ...(record.cancelable === undefined ? {} : { [cancelableHeader]: record.cancelable }),
    ...(record.again === true ? asRepublished : {}),
  });
}

export type ReadLater = {
  readonly subject: string;
  readonly dueAtMs: number;
  readonly releaseId: string;
  /** The message a client may have canceled; null: nobody can. */
  readonly cancelable: string | null;
};

/** What a waiting record says about itself, or null when it is none of ours. */
export function readLater(record: JsMsg): ReadLater | null {
  const subject = record.headers?.get(targetHeader) ?? '';
  const dueAtMs = Number(record.headers?.get(dueHeader) ?? Number.NaN);
  const id = record.headers?.get(idHeader) ?? '';
  if (subject === '' || id === '' || !Number.isFinite(dueAtMs)) return null;
  return { subject, dueAtMs, releaseId: `released.${id}`, cancelable: record.headers?.get(cancelableHeader) || null };
}
