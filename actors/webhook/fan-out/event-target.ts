// Where an endpoint gets a delivery event, if it does.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { MessageCallback } from '../../../model/message.ts';
import { type WebhookEndpoint, subscribesTo, webhookTypeOfKind } from '../../../model/webhook-endpoint.ts';

/**
 * `url` null: the endpoint's own. The message's callback_url takes its place, whatever the endpoint subscribes to. Null: the
 * endpoint does not get the event.
 */
export function targetOf(
  endpoint: Pick<WebhookEndpoint, 'id' | 'events'>,
  { kind }: Pick<DeliveryEvent, 'kind'>,
  callback: MessageCallback | undefined,
): { readonly url: string | null } | null {
  if (callback?.endpointId === endpoint.id) return { url: callback.url };
  const type = webhookTypeOfKind[kind];
  return type !== undefined && subscribesTo(endpoint, type) ? atOwnUrl : null;
}
const atOwnUrl = { url: null };
