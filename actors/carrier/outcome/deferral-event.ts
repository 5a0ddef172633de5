// What a `deferred` event says in its error field when its message is about to be published into LATER: until when, and
// why. Written and read here only. The event is durable before the publish, so that whoever finds it repeats the publish
// with the same id and the same due time, and neither submits the message nor takes it for `unknown`.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';

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
