// The last requests to each endpoint, for those who look for what is wrong with it. In the memory of the process that
// delivers, so they begin with it; bounded for an endpoint and in endpoints, of which the longest silent one is
// forgotten.
import type { WebhookEndpointId } from '../../model/ids.ts';
import type { WebhookRecord } from '../../model/records/webhook-record.ts';
import type { WebhookEndpoint } from '../../model/webhook-endpoint.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import type { DeliveryAttempt } from './contract.ts';
import { typeOf } from './event-body.ts';
import type { SendResult } from './send/http-sender.ts';

const { attemptsKept, attemptEndpointsMax } = limits.delivery;
const idOctets = 12;

/** One request that has ended. `attempt`: which try of the event it was, from 1. */
type EndedRequest = {
  readonly endpoint: WebhookEndpoint;
  readonly record: WebhookRecord;
  readonly url: string;
  readonly attempt: number;
  readonly atMs: number;
  readonly result: SendResult;
};

export class Attempts {
  /** Oldest first; the endpoint that was called last comes last. */
  readonly #byEndpoint = new Map<WebhookEndpointId, DeliveryAttempt[]>();

  /** What is kept of a request that has ended. */
  add({ endpoint, record, url, attempt, atMs, result }: EndedRequest): DeliveryAttempt {
    const { error, detail, status, latencyMs } = result;
    const made: DeliveryAttempt = {
      id: `wha_${secretBytes(idOctets).toString('base64url')}`,
      eventId: record.eventId,
      type: typeOf(record.content),
      ...{ atMs, url, attempt, events: 1, error, detail, status },
      // What a receiver that is content says is of no use to anybody.
      response: error === null ? '' : result.response,
      latencyMs: Math.round(latencyMs),
    };
    const kept = this.#byEndpoint.get(endpoint.id) ?? [];
    this.#byEndpoint.delete(endpoint.id);
    this.#byEndpoint.set(endpoint.id, kept);
    kept.push(made);
    if (kept.length > attemptsKept) kept.shift();
    if (this.#byEndpoint.size > attemptEndpointsMax) {
      for (const oldest of [...this.#byEndpoint.keys()].slice(0, 1)) this.#byEndpoint.delete(oldest);
    }
    return made;
  }

  /** The newest first, at most `limit`, older than the attempt `before`. */
  page(
    endpointId: WebhookEndpointId,
    before: string | null,
    limit: number,
  ): { readonly attempts: readonly DeliveryAttempt[]; readonly hasMore: boolean } {
    const kept = this.#byEndpoint.get(endpointId) ?? [];
    const end =
      before === null
        ? kept.length
        : Math.max(
            0,
            kept.findIndex(({ id }) => id === before),
          );
    const start = Math.max(0, end - limit);
    return { attempts: kept.slice(start, end).toReversed(), hasMore: start > 0 };
  }
}
