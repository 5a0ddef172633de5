// Sends events to an endpoint again, from the event store: one, or all of a time. They pass the queue like new ones and
// have the webhook-id they had. What there is to send is read page by page (replay-pages.ts).
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { Directory } from '../../../directory/contract.ts';
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { secretBytes } from '../../../platform/random.ts';
import type { ReplayAnswer, ReplayRequest } from '../contract.ts';
import type { WebhookQueue } from '../webhook-queue.ts';
import { type ReplayPage, type ReplayedEvent, firstPagesOf } from './replay-pages.ts';

type Parts = {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly queue: WebhookQueue;
  readonly clock: Clock;
};

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
    const end = () => this.#running.delete(endpoint.id);
    let isBegun = false;
    try {
      const pages: ReplayPage[] = [];
      for (const read of firstPagesOf(this.#parts, endpoint, request)) {
        const page = await read();
        if (page.result !== 'found') return { ok: false, why: 'unavailable' };
        pages.push(page);
      }
      const isOne = 'eventId' in request;
      const events = pages.reduce((sum, { items, total }) => sum + (isOne ? items.length : total), 0);
      if (isOne && events === 0) return { ok: false, why: 'not_found' };
      isBegun = true;
      void this.#run(endpoint, pages).finally(end);
      return { ok: true, events };
    } finally {
      if (!isBegun) end();
    }
  }

  async #run(endpoint: WebhookEndpoint, pages: readonly ReplayPage[]): Promise<void> {
    const again = `.${secretBytes(6).toString('base64url')}`;
    for (const first of pages) {
      for (let page: ReplayPage | null = first; page !== null; page = await this.#after(endpoint, page)) {
        for (const item of page.items) await this.#put(endpoint, item, again);
      }
    }
  }

  /** Waits for an event store that does not answer; null at the end, and when the process stops. */
  async #after({ id }: WebhookEndpoint, { next }: ReplayPage): Promise<ReplayPage | null> {
    const { signal } = this.#stopping;
    while (next !== null && !signal.aborted) {
      const page = await next();
      if (page.result === 'found') return page;
      log.warn({ endpointId: id, detail: page.detail }, 'a replay waits for the event store');
      await this.#parts.clock
        .sleep(limits.delivery.answerMs, signal)
        .catch((error: unknown) => ignoring(error, 'the process stops'));
    }
    return null;
  }

  async #put(endpoint: WebhookEndpoint, { eventId, atMs, content }: ReplayedEvent, again: string): Promise<void> {
    await this.#parts.queue.room(this.#stopping.signal);
    this.#parts.queue.put(endpoint, { eventId, url: null, sequence: atMs, content }, () => {}, again);
  }
}

const busy: ReplayAnswer = { ok: false, why: 'busy' };
