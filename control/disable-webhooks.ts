// Disables webhook endpoints when the delivery process asks: it finds out that one has failed for days or wants no more,
// and the database is where an endpoint is disabled. Without an answer the delivery process asks again.
import type { Msg } from '@nats-io/transport-node';
import { type DisableAnswer, type DisableRequest, disableSubject } from '../actors/webhook/contract.ts';
import type { WebhookEndpointId } from '../model/ids.ts';
import { webhookDisabledReasons } from '../model/webhook-endpoint.ts';
import { messageOf } from '../platform/errors.ts';
import { jsonObjectIn } from '../platform/json.ts';
import { log } from '../platform/log.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import type { Store } from './store/store.ts';
import { disableWebhook } from './store/webhook-endpoints.ts';

/** Subscribes to the requests; one of several control roles gets each. The result unsubscribes. */
export function disableWebhooksOnRequest(bus: Bus, store: Store): () => void {
  const take = async (msg: Msg) => {
    const request = readRequest(msg.data);
    if (request === null) return log.warn('a request to disable a webhook endpoint is not readable');
    const { endpointId, reason } = request;
    try {
      if (await disableWebhook(store, endpointId, reason))
        log.warn({ endpointId, reason }, 'a webhook endpoint is disabled');
      const answer: DisableAnswer = { ok: true };
      msg.respond(JSON.stringify(answer));
    } catch (error) {
      log.info({ endpointId, error: messageOf(error) }, 'a webhook endpoint cannot be disabled yet: it is asked again');
    }
  };
  const subscription = bus.connection.subscribe(disableSubject, {
    queue: 'control',
    callback: (_error, msg) => void take(msg),
  });
  return () => subscription.unsubscribe();
}

function readRequest(data: Uint8Array): Pick<DisableRequest, 'endpointId' | 'reason'> | null {
  const { endpointId, reason } = jsonObjectIn(data) ?? {};
  const known = webhookDisabledReasons.find((each) => each === reason);
  if (typeof endpointId !== 'string' || known === undefined || known === 'client') return null;
  return { endpointId: endpointId as WebhookEndpointId, reason: known };
}
