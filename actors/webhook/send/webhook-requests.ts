// Makes the request for one event or a batch to one endpoint and sends it: body, signature, headers.
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import type { WebhookRecord } from '../../../model/records/webhook-record.ts';
import { type WebhookEndpoint, webhookBatchType } from '../../../model/webhook-endpoint.ts';
import { type WebhookSecret, openWebhookSecrets, signingSecrets } from '../../../model/webhook-secrets.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { assert } from '../../../platform/assert.ts';
import { messageOf } from '../../../platform/errors.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { EndedRequest } from '../attempts/attempt-log.ts';
import { batchBody, eventBody, typeOf } from '../event-body.ts';
import { type HttpSender, type SendResult, fixedHeaders } from './http-sender.ts';
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

export class WebhookRequests {
  readonly #parts: Parts;
  /** Opened once for each version of an endpoint. */
  readonly #secrets = new WeakMap<WebhookEndpoint, readonly WebhookSecret[]>();

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
    const url = urlOf(endpoint, first);
    let [headers, body]: [Record<string, string>, string] = [{}, ''];
    const ended = (result: SendResult): void => {
      metrics.webhookRequests.inc({ result: result.error ?? 'ok' });
      metrics.webhookSeconds.observe(result.latencyMs / 1_000);
      const eventIds = records.map(({ eventId }) => eventId);
      const type = isBatch ? webhookBatchType : typeOf(first.content);
      done(result, { endpoint, webhookId, eventIds, type, url, headers, body, attempt, atMs, result });
    };
    try {
      body = isBatch ? batchBody(records, cipher) : eventBody(first, cipher);
      const keys = signingKeys(signingSecrets(this.#secretsOf(endpoint), atMs).map(({ secret }) => secret));
      headers = { ...fixedHeaders, ...signedHeaders(webhookId, Math.floor(atMs / 1_000), body, keys) };
      return sender.send({ accountId: endpoint.accountId, url, headers, body, withinMs }, ended);
    } catch (error) {
      // A secret of a body key that is gone, for example: the operator must act, and the event waits.
      log.error({ alarm: 'webhook_unsendable', endpoint: endpoint.id, error: messageOf(error) }, 'cannot be signed');
      ended({ ...unsendable, detail: 'the request could not be made' });
      return () => {};
    }
  }

  #secretsOf(endpoint: WebhookEndpoint): readonly WebhookSecret[] {
    const known = this.#secrets.get(endpoint);
    if (known !== undefined) return known;
    const opened = openWebhookSecrets(endpoint, this.#parts.cipher);
    this.#secrets.set(endpoint, opened);
    return opened;
  }
}

/**
 * A callback_url may be older than the endpoint's present URL: its origin was right when the message was accepted. When it is
 * another one now, its host may have another owner, and the endpoint's own URL gets the event.
 */
function urlOf(endpoint: WebhookEndpoint, { url }: WebhookRecord): string {
  if (url === null || new URL(url).origin !== new URL(endpoint.url).origin) return endpoint.url;
  return url;
}

const unsendable = {
  error: 'internal_error',
  status: null,
  headers: {},
  response: '',
  retryAfterMs: null,
  latencyMs: 0,
} as const;
