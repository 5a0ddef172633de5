// Writes a record for one event and one endpoint into WEBHOOKS. An account that has its share of the queue has what is
// more put into the line of the endpoint at once, so that it fills nothing that others need.
import type { PublishResult, Publisher } from '../../cluster/bus/publisher.ts';
import { webhookIdsSubject, webhookSubject } from '../../cluster/bus/subjects.ts';
import { type WebhookRecord, encodeWebhook, webhookRecordId } from '../../model/records/webhook-record.ts';
import type { WebhookEndpoint } from '../../model/webhook-endpoint.ts';
import { assert } from '../../platform/assert.ts';
import type { Clock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { ParkedLog } from './delivery/parked-log.ts';

const repeatMs = 500;

/** One event for one endpoint, not tried yet. */
type WebhookEvent = Pick<WebhookRecord, 'eventId' | 'url' | 'sequence' | 'content'>;

export class WebhookQueue {
  readonly #publisher: Publisher;
  readonly #parked: ParkedLog;
  readonly #clock: Clock;
  #room: (() => void)[] = [];

  /** `publisher` with an endless deadline: an event must not be lost while this process runs. */
  constructor(publisher: Publisher, parked: ParkedLog, clock: Clock) {
    this.#publisher = publisher;
    this.#parked = parked;
    this.#clock = clock;
  }

  /**
   * Resolves when the stream knows the ids of its records: to be called before any of them is delivered. After its own start
   * nats-server (2.9) reads them at the first publish with an id. What was removed before that it would store, and we
   * would send, a second time when the fan-out reads the event again. The publish that has it read them is never stored,
   * because it expects a sequence that no stream has.
   */
  async loadIds(): Promise<void> {
    const expected = { 'Nats-Expected-Last-Sequence': String(Number.MAX_SAFE_INTEGER) };
    const { ok } = await this.#publisher.publishOne(webhookIdsSubject, new Uint8Array(), 'ids', expected);
    assert(!ok, 'a record that is to be refused was stored');
  }

  get hasRoom(): boolean {
    return this.#publisher.inFlight < limits.delivery.fanOutInFlightMax;
  }

  /** Resolves when half of what may be in flight is durable, or when `stopping`. */
  room(stopping: AbortSignal): Promise<void> {
    if (this.hasRoom || stopping.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#room.push(resolve);
      stopping.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** Resolves when what was put is durable, or after a moment: the process stops. */
  async settled(): Promise<void> {
    await withDeadline('the queue of webhooks', limits.delivery.settleMs, this.#publisher.idle(), this.#clock).catch(
      (error: unknown) => ignoring(error, 'the next process reads again what is not known to be durable'),
    );
    // What had no room in the queue.
    await this.#parked.settled();
  }

  /**
   * `done` when it is durable. The stream keeps one of each event and endpoint for a while; `again` makes another of it.
   * When the process stops, `done` is not called: the process that reads the event next puts it again.
   */
  put({ accountId, id: endpointId }: WebhookEndpoint, event: WebhookEvent, done: () => void, again = ''): void {
    const record = { ...event, endpointId, tries: 0, dueAtMs: 0, group: null };
    const subject = webhookSubject(endpointId, accountId);
    const octets = encodeWebhook(record);
    const id = webhookRecordId(record) + again;
    const settled = (result: PublishResult): void => {
      this.#giveRoom();
      if (result.ok) {
        metrics.webhookEvents.inc();
        return done();
      }
      switch (result.failure) {
        case 'full':
        case 'subject_full':
          return this.#parked.park(accountId, record, done);
        case 'too_large':
          metrics.webhookDropped.inc({ reason: 'too_large' });
          return done();
        case 'closed':
          return;
        default:
          this.#clock.after(repeatMs, () => this.#publisher.publish(subject, octets, id, settled));
      }
    };
    this.#publisher.publish(subject, octets, id, settled);
  }

  #giveRoom(): void {
    if (this.#room.length === 0 || this.#publisher.inFlight > limits.delivery.fanOutInFlightMax / 2) return;
    const waiting = this.#room;
    this.#room = [];
    for (const go of waiting) go();
  }
}
