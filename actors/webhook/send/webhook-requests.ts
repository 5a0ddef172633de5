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

/** What all requests to an endpoint need. */
type Prepared = { readonly url: URL; readonly secrets: readonly WebhookSecret[] };

export class WebhookRequests {
  readonly #parts: Parts;
  /** Once for each version of an endpoint. */
  readonly #prepared = new WeakMap<WebhookEndpoint, Prepared>();
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
    let [headers, body, url]: [Record<string, string>, string, string] = [{}, '', endpoint.url];
    const ended = (result: SendResult): void => {
      this.#count(result);
      const eventIds = records.map(({ eventId }) => eventId);
      const type = isBatch ? webhookBatchType : typeOf(first.content);
      done(result, { endpoint, webhookId, eventIds, type, url, headers, body, attempt, atMs, result });
    };
    try {
      const prepared = this.#preparedOf(endpoint);
      const target = urlOf(prepared, first);
      url = target.href;
      body = isBatch ? batchBody(records, cipher) : eventBody(first, cipher);
      const keys = signingKeys(signingSecrets(prepared.secrets, atMs).map(({ secret }) => secret));
      headers = { ...fixedHeaders, ...signedHeaders(webhookId, Math.floor(atMs / 1_000), body, keys) };
      return sender.send({ accountId: endpoint.accountId, url: target, headers, body, withinMs }, ended);
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

  #preparedOf(endpoint: WebhookEndpoint): Prepared {
    const known = this.#prepared.get(endpoint);
    if (known !== undefined) return known;
    const made = { url: new URL(endpoint.url), secrets: openWebhookSecrets(endpoint, this.#parts.cipher) };
    this.#prepared.set(endpoint, made);
    return made;
  }
}

/**
 * A callback_url may be older than the endpoint's present URL: its origin was right when the message was accepted. When it is
 * another one now, its host may have another owner, and the endpoint's own URL gets the event.
 */
function urlOf(endpoint: Prepared, { url }: WebhookRecord): URL {
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
