// Makes the request for one event to one endpoint and sends it: body, signature, headers. How it ended is kept among the
// endpoint's attempts.
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import type { WebhookRecord } from '../../../model/records/webhook-record.ts';
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import { type WebhookSecret, openWebhookSecrets, signingSecrets } from '../../../model/webhook-secrets.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { Attempts } from '../attempts.ts';
import type { DeliveryAttempt } from '../contract.ts';
import { eventBody } from '../event-body.ts';
import type { HttpSender, SendResult } from './http-sender.ts';
import { signedHeaders, signingKeys } from './signature.ts';

type RequestDone = (result: SendResult, attempt: DeliveryAttempt) => void;

type Parts = {
  readonly sender: HttpSender;
  readonly cipher: BodyCipher;
  readonly clock: Clock;
  readonly attempts: Attempts;
};

export class WebhookRequests {
  readonly #parts: Parts;
  /** Opened once for each version of an endpoint. */
  readonly #secrets = new WeakMap<WebhookEndpoint, readonly WebhookSecret[]>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * `attempt`: which try of the event it is, from 1. `done` is called exactly once, within the sender's deadlines.
   * Returns what ends the request early.
   */
  send(endpoint: WebhookEndpoint, record: WebhookRecord, attempt: number, done: RequestDone): Cancel {
    const { sender, clock, attempts } = this.#parts;
    const atMs = clock.nowMs();
    const url = record.url ?? endpoint.url;
    const ended = (result: SendResult): void => {
      metrics.webhookRequests.inc({ result: result.error ?? 'ok' });
      metrics.webhookSeconds.observe(result.latencyMs / 1_000);
      done(result, attempts.add({ endpoint, record, url, attempt, atMs, result }));
    };
    try {
      const body = eventBody(record, this.#parts.cipher);
      const keys = signingKeys(signingSecrets(this.#secretsOf(endpoint), atMs).map(({ secret }) => secret));
      const headers = signedHeaders(record.eventId, Math.floor(atMs / 1_000), body, keys);
      return sender.send({ url, headers, body }, ended);
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

const unsendable = {
  error: 'internal_error',
  status: null,
  response: '',
  retryAfterMs: null,
  latencyMs: 0,
} as const;
