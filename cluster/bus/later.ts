// Publishes a record that is due in more than a second to one of three streams; the caller then acks its source. When
// it is due a releaser (actors/later) publishes it to the subject it names. SCHEDULED holds what clients scheduled,
// HOLDS what carriers hold for hours, LATER the system's own short waits; each has its own bound.
import type { JsMsg } from '@nats-io/jetstream';
import { limits } from '../../platform/limits.ts';
import { assert } from '../../platform/assert.ts';
import { asRepublished } from './republished.ts';
import type { PublishDone, Publisher } from './publisher.ts';
import { type WaitKind, waitSubject } from './subjects.ts';

type LaterRecord = {
  /** The subject to publish it to when it is due. */
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly dueAtMs: number;
  /** Identifies this wait; the release derives its own Nats-Msg-Id from it, or it would be dropped as a duplicate. */
  readonly id: string;
  /** Spreads the records of one second over the shards. */
  readonly shardKey: string;
  /** The message's id if a client may still cancel it (cancellations.ts). */
  readonly cancelable?: string;
  /** It may already be published and forgotten by the streams (republished.ts); its release says so too. */
  readonly again?: boolean;
};

const targetHeader = 'Heliograph-Subject';
const dueHeader = 'Heliograph-Due';
const idHeader = 'Heliograph-Id';
const cancelableHeader = 'Heliograph-Cancelable';
const dayMs = 86_400_000;

/** A repeat goes to the stream of the first try, unless the remaining wait has fallen below shortWaitMsMax. */
function waitKindOf({ cancelable, dueAtMs }: Pick<LaterRecord, 'cancelable' | 'dueAtMs'>, nowMs: number): WaitKind {
  if (cancelable !== undefined) return 'scheduled';
  return dueAtMs - nowMs > limits.bus.shortWaitMsMax ? 'holds' : 'later';
}

export function publishLater(publisher: Publisher, record: LaterRecord, nowMs: number, done: PublishDone): void {
  assert(record.dueAtMs - nowMs < limits.bus.laterDaysMax * dayMs, 'a record due that late would never be released');
  // Never into a past second, whose consumer may be gone.
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
  /** The id of a message that a client may have canceled; null: not cancelable. */
  readonly cancelable: string | null;
};

/** The headers of a waiting record, or null when they are not ours. */
export function readLater({ headers }: Pick<JsMsg, 'headers'>): ReadLater | null {
  const subject = headers?.get(targetHeader) ?? '';
  const dueAtMs = Number(headers?.get(dueHeader) ?? Number.NaN);
  const id = headers?.get(idHeader) ?? '';
  if (subject === '' || id === '' || !Number.isFinite(dueAtMs)) return null;
  return { subject, dueAtMs, releaseId: `released.${id}`, cancelable: headers?.get(cancelableHeader) || null };
}
