// Sends events to an endpoint again, from the event store: one, or all of a time. They are handed over like new ones and
// have the webhook-id they had. What there is to send is read page by page (replay-pages.ts); how far a replay is, is
// stored after each page (replay-records.ts), and the process that delivers next goes on there.
import type { KV } from '@nats-io/kv';
import type { Unavailable } from '../../../analytics/contract.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { Directory } from '../../../directory/contract.ts';
import type { WebhookEndpointId } from '../../../model/ids.ts';
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { untilDone } from '../../../platform/deadline.ts';
import { limits } from '../../../platform/limits.ts';
import type { Share } from '../../../platform/limits-shares.ts';
import { log } from '../../../platform/log.ts';
import { LogThrottle } from '../../../platform/log-throttle.ts';
import { SharedBound } from '../../../platform/shared-bound.ts';
import type { Busy, ReplayAnswer, ReplayRequest } from '../contract.ts';
import type { Delivery } from '../delivery/delivery.ts';
import {
  type ReplayPage,
  type ReplayPlace,
  type ReplayedEvent,
  findEvent,
  firstPlacesOf,
  placeAfter,
  readFirstPages,
  readPage,
} from './replay-pages.ts';
import { type Replay, ReplayRecords } from './replay-records.ts';

type Parts = {
  readonly bus: Bus;
  readonly bucket: KV;
  readonly directory: Directory;
  readonly delivery: Pick<Delivery, 'put' | 'room' | 'canStore'>;
  readonly share: Share;
  readonly clock: Clock;
};

export class Replays {
  readonly #parts: Parts;
  readonly #records: ReplayRecords;
  readonly #places: SharedBound;
  /** One at a time for an endpoint. */
  readonly #running = new Set<WebhookEndpointId>();
  readonly #logs: LogThrottle;
  readonly #stopping = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#records = new ReplayRecords(parts.bucket);
    this.#places = new SharedBound('webhook_replays', parts.share);
    this.#logs = new LogThrottle(limits.delivery.waitLogEveryMs, parts.clock);
  }

  /** Goes on with what earlier processes have begun. */
  async start(): Promise<void> {
    for (const replay of await this.#records.takeOver()) this.#resume(replay);
  }

  stop(): void {
    this.#stopping.abort(new Error('the replay stops'));
  }

  /** Answers when what it sends is durable: the event, or that those of the time are to be sent. */
  async begin(request: ReplayRequest): Promise<ReplayAnswer | Busy> {
    const { accountId, endpointId, endpoint } = request;
    if (endpoint.id !== endpointId || endpoint.accountId !== accountId) return { ok: false, why: 'not_found' };
    if (this.#running.has(endpointId)) return { ok: false, why: 'running' };
    const taken = this.#places.take(accountId);
    if (taken !== 'taken') return { busy: taken };
    this.#running.add(endpointId);
    let replay: Replay | null = null;
    try {
      if (request.eventId !== null) return await this.#sendOne(endpoint, { ...request, eventId: request.eventId });
      const begun = await this.#beginTime(request);
      ({ replay } = begun);
      return begun.answer;
    } finally {
      const end = () => {
        this.#running.delete(endpointId);
        this.#places.giveBack(accountId);
      };
      if (replay === null) end();
      else void this.#run(replay).finally(end);
    }
  }

  async #sendOne(endpoint: WebhookEndpoint, asked: Parameters<typeof findEvent>[2]): Promise<ReplayAnswer> {
    const [found, known] = await Promise.all([findEvent(this.#parts, endpoint, asked), this.#known(endpoint.id)]);
    if (found === 'not_found') return (await this.#isBehind(endpoint, asked)) ?? { ok: false, why: found };
    if (typeof found === 'string') return { ok: false, why: found };
    if (known === null || !this.#parts.delivery.canStore(endpoint.accountId)) return { ok: false, why: 'not_taken' };
    // The answer waits for it: no endpoint is waited for.
    await this.#put(known, [found], true);
    return this.#stopping.signal.aborted ? { ok: false, why: 'not_taken' } : { ok: true, events: 1 };
  }

  /** An event that is not found may wait to be recorded; null: it does not. */
  async #isBehind(endpoint: WebhookEndpoint, { untilMs }: { readonly untilMs: number }): Promise<ReplayAnswer | null> {
    const recordedUntilMs = Math.min(untilMs, this.#parts.clock.nowMs());
    const moment = { sinceMs: recordedUntilMs - 1, untilMs: recordedUntilMs };
    const pages = await readFirstPages(this.#parts, endpoint, { ...moment, recordedUntilMs });
    return 'why' in pages ? refusedBy(pages) : null;
  }

  async #beginTime({
    accountId,
    endpointId,
    endpoint,
    sinceMs,
    untilMs,
  }: ReplayRequest): Promise<{ readonly answer: ReplayAnswer; readonly replay: Replay | null }> {
    const [place] = firstPlacesOf(endpoint);
    if (place === undefined) return { answer: { ok: true, events: 0 }, replay: null };
    const { clock } = this.#parts;
    const asked = { sinceMs, untilMs, recordedUntilMs: Math.min(untilMs, clock.nowMs()) };
    const giveUpAtMs = clock.monotonicMs() + limits.delivery.replayWaitMs;
    let pages = await readFirstPages(this.#parts, endpoint, asked);
    while ('why' in pages && pages.why === 'behind' && clock.monotonicMs() < giveUpAtMs) {
      await clock.sleep(limits.delivery.replayAskAgainMs);
      pages = await readFirstPages(this.#parts, endpoint, asked);
    }
    if ('why' in pages) return { answer: refusedBy(pages), replay: null };
    const replay: Replay = { endpointId, accountId, sinceMs, untilMs, place };
    // One whose begin was not answered in time may be stored.
    if (!(await this.#records.begin(replay))) {
      return { answer: { ok: false, why: 'running' }, replay: await this.#records.takeOverOf(endpointId) };
    }
    const isAll = pages.every(({ next }) => next === null);
    const events = isAll ? pages.reduce((sum, { items }) => sum + items.length, 0) : null;
    return { answer: { ok: true, events }, replay };
  }

  /** It was admitted by an earlier process, so it runs also when that had a larger share. */
  #resume(replay: Replay): void {
    const { accountId, endpointId } = replay;
    const hasPlace = this.#places.take(accountId) === 'taken';
    this.#running.add(endpointId);
    void this.#run(replay).finally(() => {
      this.#running.delete(endpointId);
      if (hasPlace) this.#places.giveBack(accountId);
    });
  }

  async #run(replay: Replay): Promise<void> {
    const { signal } = this.#stopping;
    let place: ReplayPlace | null = replay.place;
    while (place !== null) {
      // As it is by now; one that was deleted gets no more.
      const endpoint = await this.#known(replay.endpointId);
      if (signal.aborted) return;
      if (endpoint === null) break;
      const page: ReplayPage | null = await this.#page(endpoint, replay, place);
      if (page === null) return;
      await this.#put(endpoint, page.items);
      if (signal.aborted) return;
      place = page.next ?? placeAfter(endpoint, place);
      if (place === null) break;
      const goesOn = { ...replay, place };
      if ((await this.#stored(replay, () => this.#records.goOn(goesOn))) !== true) return;
    }
    await this.#stored(replay, () => this.#records.end(replay));
  }

  /** As the directory has it, which gets one that was just made a moment later; null: it was deleted, or the process stops. */
  async #known(endpointId: WebhookEndpointId): Promise<WebhookEndpoint | null> {
    const { clock, directory } = this.#parts;
    const { signal } = this.#stopping;
    const giveUpAtMs = clock.monotonicMs() + limits.directory.receivedWithinMs;
    for (;;) {
      const endpoint = directory.webhookEndpoint(endpointId);
      if (endpoint !== undefined) return endpoint;
      if (signal.aborted || clock.monotonicMs() >= giveUpAtMs) return null;
      await clock.sleep(limits.delivery.replayAskAgainMs);
    }
  }

  /** Waits for an event store that does not answer; null when the process stops. */
  #page(endpoint: WebhookEndpoint, replay: Replay, place: ReplayPlace): Promise<ReplayPage | null> {
    const read = async () => {
      const page = await readPage(this.#parts, endpoint, replay, place);
      if (page.result !== 'found') throw new Error(page.detail);
      return page;
    };
    return this.#again(read, endpoint.id, 'a replay waits for the event store');
  }

  #stored<T>({ endpointId }: Replay, write: () => Promise<T>): Promise<T | null> {
    return this.#again(write, endpointId, 'a replay waits until its place is stored');
  }

  /** The first failure of all replays is logged, and then one a minute. */
  #again<T>(work: () => Promise<T>, endpointId: WebhookEndpointId, what: string): Promise<T | null> {
    const { clock } = this.#parts;
    const onFailure = (error: string) => {
      const unlogged = this.#logs.allow();
      if (unlogged !== null) log.warn({ endpointId, error, ...(unlogged > 0 ? { unlogged } : {}) }, what);
    };
    return untilDone(work, onFailure, { everyMs: limits.delivery.answerMs, stopping: this.#stopping.signal, clock });
  }

  /** Resolves when all are delivered or in the line, or the process stops. */
  async #put(endpoint: WebhookEndpoint, items: readonly ReplayedEvent[], toLine = false): Promise<void> {
    const { signal } = this.#stopping;
    const { delivery } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    let left = items.length;
    const done = () => {
      left -= 1;
      if (left === 0) resolve();
    };
    for (const { eventId, atMs, url, content } of items) {
      await delivery.room(signal);
      if (signal.aborted) return;
      delivery.put(endpoint, { eventId, url, sequence: atMs, content }, done, toLine);
    }
    if (left === 0) return;
    const stop = () => resolve();
    signal.addEventListener('abort', stop, { once: true });
    await promise;
    signal.removeEventListener('abort', stop);
  }
}

const refusedBy = ({ why, behindMs }: Unavailable): ReplayAnswer =>
  why === 'behind' ? { ok: false, why, behindMs: behindMs ?? null } : { ok: false, why: 'event_store_away' };
