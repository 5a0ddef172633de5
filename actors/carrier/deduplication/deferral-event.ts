// What a deferral says of itself: in the message that waits in LATER why, and in the error field of its `deferred` event,
// when it is about to be published there, until when and why. Written and read here only. The event is durable before the publish, so that whoever finds it repeats the publish
// with the same id and the same due time, and neither submits the message nor takes it for `unknown`.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { Message } from '../../../model/message.ts';

export type LaterDeferral = { readonly dueAtMs: number; readonly why: string };

const form = /^put off until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z): (.*)$/s;

export function deferralText(dueAtMs: number, why: string): string {
  return `put off until ${new Date(dueAtMs).toISOString()}: ${why}`;
}

/** Null for any other deferral. */
export function readDeferral({ error }: Pick<DeliveryEvent, 'error'>): LaterDeferral | null {
  const parts = form.exec(error ?? '');
  return parts === null ? null : { dueAtMs: Date.parse(parts[1] ?? ''), why: parts[2] ?? '' };
}

const refusedMark = 'put off: ';

/** The reason travels with the message into LATER: when it expires there, somebody wants to know why. */
export function traceWith(trace: readonly string[], error: string): readonly string[] {
  return [...trace.filter((line) => !line.startsWith(refusedMark)), `${refusedMark}${error}`];
}

/** What a message that was in LATER was put off for; null when it never was. */
export function deferralFor({ trace }: Pick<Message, 'trace'>): string | null {
  const line = trace.at(-1);
  return line?.startsWith(refusedMark) === true ? line.slice(refusedMark.length) : null;
}
