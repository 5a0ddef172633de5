// Events about webhook endpoints themselves: that one has failed for long, and that it was disabled. They go to the
// account's other endpoints. Their ids follow from what happened, so that one published again after a crash is the
// same.
import { type EventId, eventIdOf } from '../../model/ids.ts';
import type { WebhookEndpoint } from '../../model/webhook-endpoint.ts';
import type { WebhookContent } from '../../model/records/webhook-record.ts';
import { limits } from '../../platform/limits.ts';
import type { Failing } from './delivery/schedule.ts';

export type EndpointEvent = { readonly eventId: EventId; readonly content: WebhookContent & { type: string } };

/** The first or second warning to the account that the endpoint fails. */
export function failingEvent(endpoint: WebhookEndpoint, failing: Failing): EndpointEvent {
  const { warnings, sinceMs, nextTryAtMs } = failing;
  const atMs = sinceMs + (limits.delivery.warnAfterMs[warnings] ?? 0);
  const data = { ...dataOf(endpoint, failing), next_try_at: new Date(nextTryAtMs).toISOString() };
  return eventOf(endpoint.id, `${sinceMs}.${warnings}`, { type: 'webhook.failing', atMs, data });
}

/** `atMs`: when it was noticed. */
export function disabledEvent(endpoint: WebhookEndpoint, failing: Failing, atMs: number): EndpointEvent {
  const data = { ...dataOf(endpoint, failing), disabled_reason: endpoint.disabledReason };
  return eventOf(endpoint.id, String(failing.sinceMs), { type: 'webhook.disabled', atMs, data });
}

function dataOf({ id, url, livemode }: WebhookEndpoint, { sinceMs, tries, error }: Failing) {
  return { object: 'webhook', id, url, livemode, failing_since: new Date(sinceMs).toISOString(), tries, error };
}

function eventOf(messageId: string, detail: string, content: EndpointEvent['content']): EndpointEvent {
  return { eventId: eventIdOf({ messageId, kind: content.type, detail }), content };
}
