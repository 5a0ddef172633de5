// What the data plane asks of the database over NATS: to store on which day each API key was last used, as ingress threads
// report it, and to disable webhook endpoints that the delivery process found to fail for days or to want no more. One of
// several control roles gets each request and answers when the database has it; without an answer it is asked again.
import type { Msg } from '@nats-io/transport-node';
import { type DisableAnswer, type DisableRequest, disableSubject } from '../actors/webhook/contract.ts';
import type { ApiKeyId, WebhookEndpointId } from '../model/ids.ts';
import { webhookDisabledReasons } from '../model/webhook-endpoint.ts';
import { messageOf } from '../platform/errors.ts';
import { jsonObjectIn } from '../platform/json.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { keysUsedSubject } from '../cluster/bus/subjects.ts';
import { noteKeysUsed } from './store/api-keys.ts';
import type { Store } from './store/store.ts';
import { disableWebhook } from './store/webhook-endpoints.ts';

/** Subscribes to the reports of used keys. The result unsubscribes. */
export function recordKeysUsed(bus: Bus, store: Store): () => void {
  return taking(bus, keysUsedSubject, async (msg) => {
    const note = readNote(msg.data);
    if (note === null) return log.warn('a report of used keys is not readable');
    try {
      await noteKeysUsed(store, note.day, note.keys);
      msg.respond();
    } catch (error) {
      log.info({ error: messageOf(error) }, 'the use of keys is not recorded: the thread reports it again');
    }
  });
}

/** Subscribes to the requests to disable an endpoint. The result unsubscribes. */
export function disableWebhooksOnRequest(bus: Bus, store: Store): () => void {
  return taking(bus, disableSubject, async (msg) => {
    const request = readRequest(msg.data);
    if (request === null) return log.warn('a request to disable a webhook endpoint is not readable');
    const { endpointId, reason, enabledAtMs } = request;
    try {
      if (await disableWebhook(store, endpointId, reason, enabledAtMs))
        log.warn({ endpointId, reason }, 'a webhook endpoint is disabled');
      msg.respond(JSON.stringify({ ok: true } satisfies DisableAnswer));
    } catch (error) {
      log.info({ endpointId, error: messageOf(error) }, 'a webhook endpoint cannot be disabled yet: it is asked again');
    }
  });
}

function taking(bus: Bus, subject: string, take: (msg: Msg) => Promise<void>): () => void {
  const callback = (_error: unknown, msg: Msg) => void take(msg);
  const subscription = bus.connection.subscribe(subject, { queue: 'control', callback });
  return () => subscription.unsubscribe();
}

function readNote(data: Uint8Array): { readonly day: string; readonly keys: readonly ApiKeyId[] } | null {
  const { day, keys } = jsonObjectIn(data) ?? {};
  const isDay = typeof day === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(day);
  const areKeys =
    Array.isArray(keys) &&
    keys.length <= limits.keysUsed.keysPerNoteMax &&
    keys.every((each) => typeof each === 'string');
  return isDay && areKeys ? { day, keys: keys as ApiKeyId[] } : null;
}

function readRequest(data: Uint8Array): Omit<DisableRequest, 'accountId'> | null {
  const { endpointId, reason, enabledAtMs } = jsonObjectIn(data) ?? {};
  const known = webhookDisabledReasons.find((each) => each === reason);
  if (typeof endpointId !== 'string' || known === undefined || known === 'client') return null;
  const enabled = typeof enabledAtMs === 'number' ? enabledAtMs : null;
  return { endpointId: endpointId as WebhookEndpointId, reason: known, enabledAtMs: enabled };
}
