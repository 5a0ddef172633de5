// Keeps what was sent to each endpoint and what it answered, in WEBHOOK_ATTEMPTS: durable over a restart, and written
// without the database. Attempts are gathered and stored together, failures after a second and successes after ten; of
// an endpoint with many requests only so many of each are kept (limits.webhookAttempts). Sealed, because a body may
// contain what a subscriber wrote.
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { attemptSubject } from '../../../cluster/bus/subjects.ts';
import { newWebhookAttemptId, type WebhookEndpointId } from '../../../model/ids.ts';
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import { assert } from '../../../platform/assert.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { AccountRates, paceOf } from '../../../platform/gcra.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { DeliveryAttempt } from '../contract.ts';
import type { SendResult } from '../send/http-sender.ts';
import { encodeAttempts } from './attempt-record.ts';

const bounds = limits.webhookAttempts;
const sweepEveryMs = 1_000;

/** One request that has ended. */
export type EndedRequest = Pick<DeliveryAttempt, 'webhookId' | 'eventIds' | 'type' | 'url' | 'attempt' | 'atMs'> & {
  readonly endpoint: WebhookEndpoint;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly result: SendResult;
};

type Gathered = {
  readonly endpointId: WebhookEndpointId;
  readonly subject: string;
  readonly attempts: DeliveryAttempt[];
  /** Monotonic. */
  readonly dueAtMs: number;
};

export class AttemptLog {
  readonly #publisher: Publisher;
  readonly #cipher: BodyCipher;
  readonly #clock: Clock;
  /** By subject. */
  readonly #gathered = new Map<string, Gathered>();
  readonly #rates = {
    succeeded: ratesOf(bounds.succeededBurst, bounds.succeededEveryMs),
    failed: ratesOf(bounds.failedBurst, bounds.failedEveryMs),
  };
  readonly #stopSweep: Cancel;

  /** `publisher` with a deadline: attempts are dropped, and counted, when the bus is away for long. */
  constructor(publisher: Publisher, cipher: BodyCipher, clock: Clock) {
    this.#publisher = publisher;
    this.#cipher = cipher;
    this.#clock = clock;
    this.#stopSweep = clock.every(sweepEveryMs, () => this.#storeDue());
  }

  /** Keeps it, unless its endpoint has had more than is kept of one. */
  add(ended: EndedRequest): void {
    const rates = ended.result.error === null ? this.#rates.succeeded : this.#rates.failed;
    if (rates.take(ended.endpoint.id, this.#clock.monotonicMs() * 1_000) === null) this.keep(ended);
  }

  /** Keeps it whatever else was kept. */
  keep(ended: EndedRequest): DeliveryAttempt {
    const { accountId, id: endpointId } = ended.endpoint;
    const made = attemptOf(ended);
    const subject = attemptSubject(accountId, endpointId, made.error === null);
    const waitMs = made.error === null ? bounds.succeededStoredAfterMs : bounds.failedStoredAfterMs;
    const dueAtMs = this.#clock.monotonicMs() + waitMs;
    const gathered: Gathered = this.#gathered.get(subject) ?? { endpointId, subject, attempts: [], dueAtMs };
    gathered.attempts.push(made);
    this.#gathered.set(subject, gathered);
    if (gathered.attempts.length >= bounds.perRecordMax) void this.#store(gathered);
    return made;
  }

  /** Stores what is gathered of an endpoint, or of all; resolves when it is durable or lost. */
  async store(endpointId: WebhookEndpointId | null): Promise<void> {
    const isOfIt = (each: Gathered) => endpointId === null || each.endpointId === endpointId;
    await Promise.all([...this.#gathered.values()].filter(isOfIt).map((each) => this.#store(each)));
  }

  /** Stores what there is. */
  async stop(): Promise<void> {
    this.#stopSweep();
    await this.store(null);
  }

  #storeDue(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const gathered of this.#gathered.values()) if (gathered.dueAtMs <= nowMs) void this.#store(gathered);
  }

  #store({ endpointId, subject, attempts }: Gathered): Promise<void> {
    this.#gathered.delete(subject);
    const octets = encodeAttempts(attempts, endpointId, this.#cipher);
    const [first] = attempts;
    assert(first !== undefined, 'what is gathered has an attempt');
    return new Promise((resolve) => {
      // Under an id: the publisher repeats what was not answered in time, and it may be stored already.
      this.#publisher.publish(subject, octets, first.id, (result) => {
        if (!result.ok) metrics.webhookAttemptsLost.inc(attempts.length);
        resolve();
      });
    });
  }
}

function ratesOf(burst: number, everyMs: number): AccountRates {
  return new AccountRates(paceOf(1, everyMs * 1_000, burst), limits.delivery.endpointsMax);
}

function attemptOf(of: EndedRequest): DeliveryAttempt {
  const { result, atMs, url, webhookId, eventIds, type, attempt, headers, body } = of;
  const { error, detail, status, latencyMs } = result;
  return {
    id: newWebhookAttemptId(atMs),
    ...{ webhookId, eventIds, type, atMs, url, attempt, error, detail, status },
    request: { headers, body: body.slice(0, bounds.requestBodyChars), bodyChars: body.length },
    response: status === null ? null : { headers: cut(result.headers), body: result.response },
    latencyMs: Math.round(latencyMs),
  };
}

/** The first headers, as far as they are kept. */
function cut(headers: SendResult['headers']): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {};
  let left: number = bounds.responseHeadersChars;
  for (const [name, value] of Object.entries(headers)) {
    const text = typeof value === 'string' ? value : (value ?? []).join(', ');
    left -= name.length + text.length;
    if (left < 0) break;
    kept[name] = text;
  }
  return kept;
}
