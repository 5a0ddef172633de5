// Writes and reads what a deferral records: its reason, in the trace of the message in LATER; due time and reason in
// the error field of a `deferred` event that precedes the publish. After that durable event a later incarnation repeats
// the publish with the same id and due time, and neither submits the message nor takes it for `unknown`.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { Message } from '../../../model/message.ts';

export type LaterDeferral = { readonly dueAtMs: number; readonly why: string };

const form = /^deferred until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z): (.*)$/s;

export function deferralText(dueAtMs: number, why: string): string {
  return `deferred until ${new Date(dueAtMs).toISOString()}: ${why}`;
}

/** Null for any other deferral. */
export function readDeferral({ error }: Pick<DeliveryEvent, 'error'>): LaterDeferral | null {
  const parts = form.exec(error ?? '');
  return parts === null ? null : { dueAtMs: Date.parse(parts[1] ?? ''), why: parts[2] ?? '' };
}

const deferredMark = 'deferred: ';

/** The reason travels with the message into LATER, to explain an expiry there. */
export function traceWith(trace: readonly string[], error: string): readonly string[] {
  return [...trace.filter((line) => !line.startsWith(deferredMark)), `${deferredMark}${error}`];
}

/** Why a message was last deferred into LATER; null when it never was. */
export function deferralFor({ trace }: Pick<Message, 'trace'>): string | null {
  const line = trace.at(-1);
  return line?.startsWith(deferredMark) === true ? line.slice(deferredMark.length) : null;
}
