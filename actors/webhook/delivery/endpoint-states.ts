// The endpoints that fail, in the bucket `webhooks`: so that a restart neither forgets since when one fails nor tries it
// sooner. Written at each try, which are few by the schedule.
import type { KV } from '@nats-io/kv';
import type { WebhookEndpointId } from '../../../model/ids.ts';
import { ignoring } from '../../../platform/errors.ts';
import { jsonObjectIn } from '../../../platform/json.ts';
import { sendErrors } from '../send/send-error.ts';
import type { Failing } from './schedule.ts';

const prefix = 'failing.';

export class EndpointStates {
  readonly #bucket: KV;

  constructor(bucket: KV) {
    this.#bucket = bucket;
  }

  async readAll(): Promise<ReadonlyMap<WebhookEndpointId, Failing>> {
    const found = new Map<WebhookEndpointId, Failing>();
    for await (const key of await this.#bucket.keys(`${prefix}*`)) {
      const entry = await this.#bucket.get(key);
      const state = entry === null ? null : stateIn(entry.value);
      if (state !== null) found.set(key.slice(prefix.length) as WebhookEndpointId, state);
    }
    return found;
  }

  write(endpointId: WebhookEndpointId, state: Failing): void {
    this.#ignored(this.#bucket.put(prefix + endpointId, JSON.stringify(state)));
  }

  remove(endpointId: WebhookEndpointId): void {
    this.#ignored(this.#bucket.purge(prefix + endpointId));
  }

  #ignored(write: Promise<unknown>): void {
    write.catch((error: unknown) => ignoring(error, 'the state of an endpoint is written again at its next try'));
  }
}

function stateIn(octets: Uint8Array): Failing | null {
  const state = jsonObjectIn(octets) as Partial<Failing> | null;
  if (state === null) return null;
  const { sinceMs, tries, nextTryAtMs, warnings, triedSeq, error } = state;
  const known = sendErrors.find((each) => each === error);
  if (typeof sinceMs !== 'number' || typeof tries !== 'number' || typeof nextTryAtMs !== 'number') return null;
  return {
    ...{ sinceMs, tries, nextTryAtMs, warnings: warnings ?? 0, triedSeq: triedSeq ?? 0, error: known ?? 'timeout' },
    isDisabledPublished: state.isDisabledPublished === true,
  };
}
