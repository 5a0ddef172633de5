// Makes the request for one event or a batch to one endpoint and sends it: body, signature, headers.
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import type { WebhookRecord } from '../../../model/records/webhook-record.ts';
import { type WebhookEndpoint, webhookBatchType } from '../../../model/webhook-endpoint.ts';
import { type WebhookSecret, openWebhookSecrets, signingSecrets } from '../../../model/webhook-secrets.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { assert } from '../../../platform/assert.ts';
import { messageOf } from '../../../platform/errors.ts';
import { log } from '../../../platform/log.ts';
import type { Tally } from '../../../platform/tallied-metrics.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { EndedRequest } from '../attempts/attempt-log.ts';
import { batchBody, eventBody, typeOf } from '../event-body.ts';
import type { HttpSender, SendResult } from './http-sender.ts';
import type { SendError } from './send-error.ts';
import { signedHeaders, signingKeys } from './signature.ts';

/** What one request carries: at least one record, all with the same URL. */
type Outgoing = {
  readonly webhookId: string;
  readonly isBatch: boolean;
  readonly records: readonly WebhookRecord[];
  /** A shorter deadline than that of every request. */
  readonly withinMs?: number;
};
type RequestDone = (result: SendResult, ended: EndedRequest) => void;

type Parts = {
  readonly sender: HttpSender;
  readonly cipher: BodyCipher;
  readonly clock: Clock;
};

/** What requests to an endpoint have in common. `secrets`: null until the first one is signed. */
type OfEndpoint = { readonly url: URL; secrets: readonly WebhookSecret[] | null };

export class WebhookRequests {
  readonly #parts: Parts;
  /** Once for each version of an endpoint. */
  readonly #endpoints = new WeakMap<WebhookEndpoint, OfEndpoint>();
  readonly #results: Partial<Record<SendError | 'ok', Tally>> = {};
  readonly #seconds = metrics.webhookSeconds.tally({});

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * `attempt`: which try of its events it is, from 1. `done` is called exactly once, within the sender's deadlines.
   * Returns what ends the request early.
   */
  send(endpoint: WebhookEndpoint, outgoing: Outgoing, attempt: number, done: RequestDone): Cancel {
    const { sender, clock, cipher } = this.#parts;
    const { webhookId, isBatch, records, withinMs } = outgoing;
    const [first] = records;
    assert(first !== undefined, 'a request carries an event');
    const atMs = clock.nowMs();
    const of = this.#of(endpoint);
    const url = urlOf(of, first);
    let [headers, body]: [Record<string, string>, string] = [{}, ''];
    const ended = (result: SendResult): void => {
      this.#count(result);
      const eventIds = records.map(({ eventId }) => eventId);
      const type = isBatch ? webhookBatchType : typeOf(first.content);
      done(result, { endpoint, webhookId, eventIds, type, url: url.href, headers, body, attempt, atMs, result });
    };
    try {
      body = isBatch ? batchBody(records, cipher) : eventBody(first, cipher);
      of.secrets ??= openWebhookSecrets(endpoint, cipher);
      const keys = signingKeys(signingSecrets(of.secrets, atMs).map(({ secret }) => secret));
      headers = { ...fixedHeaders, ...signedHeaders(webhookId, Math.floor(atMs / 1_000), body, keys) };
      return sender.send({ accountId: endpoint.accountId, url, headers, body, withinMs }, ended);
    } catch (error) {
      // A secret of a body key that is gone, for example: the operator must act, and the event waits.
      log.error({ alarm: 'webhook_unsendable', endpoint: endpoint.id, error: messageOf(error) }, 'cannot be signed');
      ended({ ...unsendable, detail: 'the request could not be made' });
      return () => {};
    }
  }

  #count({ error, latencyMs }: SendResult): void {
    const result = error ?? 'ok';
    (this.#results[result] ??= metrics.webhookRequests.tally({ result })).inc();
    this.#seconds.observe(latencyMs / 1_000);
  }

  #of(endpoint: WebhookEndpoint): OfEndpoint {
    const known = this.#endpoints.get(endpoint);
    if (known !== undefined) return known;
    const of = { url: new URL(endpoint.url), secrets: null };
    this.#endpoints.set(endpoint, of);
    return of;
  }
}

/**
 * A callback_url may be older than the endpoint's present URL: its origin was right when the message was accepted. When it is
 * another one now, its host may have another owner, and the endpoint's own URL gets the event.
 */
function urlOf(endpoint: OfEndpoint, { url }: WebhookRecord): URL {
  if (url === null) return endpoint.url;
  const own = new URL(url);
  return own.origin === endpoint.url.origin ? own : endpoint.url;
}

/** Every request has these. */
export const fixedHeaders = { 'content-type': 'application/json', 'user-agent': 'Heliograph-Webhooks/1' } as const;

const unsendable = {
  error: 'internal_error',
  status: null,
  headers: {},
  response: '',
  retryAfterMs: null,
  latencyMs: 0,
} as const;
