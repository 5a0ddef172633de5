// Sends events to an endpoint again, from the event store: one, or all of a time. They pass the queue like new ones and
// have the webhook-id they had. Which events of a message are told, the fold of all its events says (fan-out/told.ts).
import { queryEventStore } from '../ask-event-store.ts';
import { type TellAgainReply, querySubjects } from '../../analytics/contract.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Directory } from '../../directory/contract.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { EventId } from '../../model/ids.ts';
import { unpackEvent } from '../../model/records/event-record.ts';
import { type WebhookEndpoint, subscribesTo, webhookTypeOfKind } from '../../model/webhook-endpoint.ts';
import type { Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { secretBytes } from '../../platform/random.ts';
import type { ReplayAnswer, ReplayRequest } from './contract.ts';
import { Told } from './fan-out/told.ts';
import type { WebhookQueue } from './webhook-queue.ts';

type Parts = {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly queue: WebhookQueue;
  readonly clock: Clock;
};

type Page = TellAgainReply & { readonly result: 'found' };

export class Replays {
  readonly #parts: Parts;
  /** One at a time for an endpoint. */
  readonly #running = new Set<string>();
  readonly #stopping = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  stop(): void {
    this.#stopping.abort(new Error('the replay stops'));
  }

  /** Answers when the first events are on their way; the others follow. */
  async begin(request: ReplayRequest): Promise<ReplayAnswer> {
    const endpoint = this.#parts.directory.webhookEndpoint(request.endpointId);
    if (endpoint === undefined || endpoint.accountId !== request.accountId) return { ok: false, why: 'not_found' };
    if (this.#running.has(endpoint.id) || this.#running.size >= limits.delivery.replaysMax) return busy;
    this.#running.add(endpoint.id);
    const first = await this.#page(endpoint, request, '');
    if (first.result !== 'found' || ('eventId' in request && first.events.length === 0)) {
      this.#running.delete(endpoint.id);
      return { ok: false, why: first.result === 'found' ? 'not_found' : 'unavailable' };
    }
    void this.#run(endpoint, request, first).finally(() => this.#running.delete(endpoint.id));
    return { ok: true, events: first.total };
  }

  async #run(endpoint: WebhookEndpoint, request: ReplayRequest, first: Page): Promise<void> {
    const again = `.${secretBytes(6).toString('base64url')}`;
    const { signal } = this.#stopping;
    for (let page = first; !signal.aborted; ) {
      for (const event of toldOf(page, request, this.#parts.clock)) await this.#put(endpoint, event, again);
      if (page.nextMessageId === null) return;
      const next = await this.#page(endpoint, request, page.nextMessageId);
      if (next.result === 'found') page = next;
      else {
        log.warn({ endpointId: endpoint.id, detail: next.detail }, 'a replay waits for the event store');
        await this.#parts.clock
          .sleep(limits.delivery.answerMs, signal)
          .catch((error: unknown) => ignoring(error, 'the process stops'));
      }
    }
  }

  async #put(endpoint: WebhookEndpoint, event: DeliveryEvent, again: string): Promise<void> {
    const type = webhookTypeOfKind[event.kind];
    if (type === undefined || !subscribesTo(endpoint, type)) return;
    await this.#parts.queue.room(this.#stopping.signal);
    const { eventId } = event;
    const record = { eventId, endpointId: endpoint.id, url: null, sequence: event.atMs, content: { event } };
    this.#parts.queue.put(endpoint.accountId, { ...record, tries: 0, dueAtMs: 0, group: null }, () => {}, again);
  }

  #page(endpoint: WebhookEndpoint, request: ReplayRequest, afterMessageId: string): Promise<TellAgainReply> {
    const { accountId, livemode } = endpoint;
    const what =
      'eventId' in request ? { eventId: request.eventId } : { sinceMs: request.sinceMs, untilMs: request.untilMs };
    const query = { accountId, livemode, afterMessageId, ...what };
    return queryEventStore<TellAgainReply>(this.#parts.bus, querySubjects.tellAgain, query);
  }
}

const busy: ReplayAnswer = { ok: false, why: 'busy' };

/** Of whole messages, the events that are told and asked for. */
function toldOf(page: Page, request: ReplayRequest, clock: Clock): readonly DeliveryEvent[] {
  // Every event of each message is there.
  const told = new Told(clock, 0);
  const isAsked = ({ eventId, atMs }: { eventId: EventId; atMs: number }) =>
    'eventId' in request ? eventId === request.eventId : atMs >= request.sinceMs && atMs < request.untilMs;
  return page.events
    .map((packed) => unpackEvent(Buffer.from(packed, 'base64')))
    .map((event) => told.toTell(event))
    .filter((event): event is DeliveryEvent => event !== null && isAsked(event));
}
