// The work of one endpoint: a small queue, requests at once by AIMD, and what becomes of failures. An endpoint that
// cannot follow has its events parked in its line and reads them from there, in order; one that fails as a whole has
// all of them parked and costs one request for each step of the schedule. Nothing it does delays another endpoint.
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import type { WebhookRecord } from '../../../model/records/webhook-record.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import type { Random } from '../../../platform/random.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { SendResult } from '../send/http-sender.ts';
import type { SendError } from '../send/send-error.ts';
import { type Item, chainOf, newItem, triesOf } from './item.ts';
import type { EndpointKey, ParkedLog } from './parked-log.ts';
import { type Failing, failed, isExhausted, isOfEndpoint, nextConcurrency, waitAfter } from './schedule.ts';

/** What a worker has its owner do. */
export type WorkerOwner = {
  readonly log: ParkedLog;
  readonly clock: Clock;
  readonly random: Random;
  /** It has something to send. */
  ready(worker: EndpointWorker): void;
  /** It began to fail, failed again, or (null) works. */
  changed(worker: EndpointWorker, failing: Failing | null): void;
  /** An event is kept there until its time. */
  retryLater(key: EndpointKey, seq: number, dueAtMs: number): void;
};

const bounds = limits.delivery;
const readBelow = bounds.queueMax / 2;

export class EndpointWorker {
  readonly key: EndpointKey;
  readonly #owner: WorkerOwner;
  /** In the order in which they are sent. */
  #queue: Item[] = [];
  readonly #inFlight = new Set<Item>();
  /** Between their first try and their second. */
  readonly #waiting = new Map<Item, Cancel>();
  #concurrency: number = bounds.concurrencyFirst;
  #failuresInARow = 0;
  #failing: Failing | null;
  #endpoint: WebhookEndpoint;
  /** Up to here its line was read. */
  #readSeq = 0;
  /** Items from its line in memory. */
  #fromLine = 0;
  #isReading = false;
  #isProbing = false;
  /** It is among those that are ready: set by its owner. */
  isReady = false;

  constructor(key: EndpointKey, endpoint: WebhookEndpoint, failing: Failing | null, owner: WorkerOwner) {
    this.key = key;
    this.#endpoint = endpoint;
    this.#failing = failing;
    this.#owner = owner;
  }

  get failing(): Failing | null {
    return this.#failing;
  }

  get endpoint(): WebhookEndpoint {
    return this.#endpoint;
  }

  /** Nothing in memory that could not be made again. */
  get isIdle(): boolean {
    return this.#held === 0 && this.#failing === null && !this.#isReading && !this.#hasLine && this.isEnabled;
  }

  get isEnabled(): boolean {
    return this.#endpoint.status === 'enabled';
  }

  get #held(): number {
    return this.#queue.length + this.#inFlight.size + this.#waiting.size;
  }

  get #hasLine(): boolean {
    return this.#owner.log.countOf(this.key.endpointId) > 0;
  }

  /** A record of WEBHOOKS; `ack` when it is delivered or stored elsewhere. */
  take(record: WebhookRecord, ack: () => void): void {
    // What comes later must not overtake the line.
    if (this.#held >= bounds.queueMax || this.#hasLine || this.#failing !== null || !this.isEnabled) {
      // After a crash what was in memory would come behind the line.
      if (this.#endpoint.ordering === 'per_message') this.#parkQueue();
      return this.#owner.log.park(this.key.accountId, record, ack);
    }
    this.#add(newItem({ record, from: 'queue', seq: 0, settle: ack, queuedAtMs: this.#owner.clock.monotonicMs() }));
  }

  /** An event whose time has come. False: not now. */
  retry(seq: number, record: WebhookRecord): boolean {
    if (this.#held >= bounds.queueMax || this.#failing !== null || !this.isEnabled) return false;
    const settle = () => this.#owner.log.removeRetry(this.key, seq);
    this.#add(newItem({ record, from: 'retry', seq, settle, queuedAtMs: this.#owner.clock.monotonicMs() }));
    return true;
  }

  /** Its settings are these now. */
  follow(endpoint: WebhookEndpoint): void {
    const before = this.#endpoint;
    this.#endpoint = endpoint;
    if (!this.isEnabled && before.status === 'enabled') this.#parkAll();
    // The account has done something about it: tried at once.
    const isChanged = endpoint.url !== before.url || (this.isEnabled && before.status !== 'enabled');
    if (isChanged && this.#failing !== null) this.#setFailing(null);
    this.readLine();
  }

  /** The next item to send; null when there is none, or as many as may be are in flight. */
  next(): Item | null {
    if (this.#inFlight.size >= Math.floor(this.#concurrency)) return null;
    const at = this.#endpoint.ordering === 'per_message' ? this.#firstFreeChain() : 0;
    const item = this.#queue[at];
    if (item === undefined) return null;
    this.#queue.splice(at, 1);
    return item;
  }

  hasNext(): boolean {
    return this.#queue.length > 0 && this.#inFlight.size < Math.floor(this.#concurrency);
  }

  /** It could not be sent at once: it goes back to its place. */
  putBack(item: Item): void {
    this.#queue.unshift(item);
  }

  sent(item: Item): void {
    item.tries += 1;
    this.#inFlight.add(item);
  }

  /** The result of an item's request. */
  answered(item: Item, result: SendResult): void {
    this.#inFlight.delete(item);
    if (item.isOver) return;
    item.cancel = null;
    this.#concurrency = nextConcurrency(this.#concurrency, result.error === null);
    if (result.error === null) this.#succeeded(item);
    else this.#failed(item, result.error, result);
    this.readLine();
    if (this.hasNext()) this.#owner.ready(this);
  }

  /** Once a second: is something due? */
  look(nowMs: number, monotonicMs: number): void {
    if (this.#failing !== null) {
      if (this.isEnabled && nowMs >= this.#failing.nextTryAtMs) void this.#probe(this.#failing);
      return;
    }
    const [oldest] = this.#queue;
    if (oldest?.from === 'queue' && monotonicMs - oldest.queuedAtMs > bounds.queueWaitMs) this.#parkQueue();
    this.readLine();
  }

  /** Reads its line into memory, as far as there is room. */
  readLine(): void {
    if (this.#isReading || !this.#mayRead()) return;
    this.#isReading = true;
    this.#read()
      .catch((error: unknown) => ignoring(error, 'the line of an endpoint is read again in a second'))
      .finally(() => {
        this.#isReading = false;
      });
  }

  /** Its account was told that it fails. */
  warned(): void {
    if (this.#failing === null) return;
    this.#setFailing({ ...this.#failing, warnings: this.#failing.warnings + 1 });
  }

  /** What it has stays where it is stored. */
  stop(): void {
    for (const cancel of this.#waiting.values()) cancel();
    for (const item of this.#inFlight) this.#abandon(item);
  }

  #mayRead(): boolean {
    return this.#failing === null && this.isEnabled && this.#hasLine && this.#held < readBelow;
  }

  async #read(): Promise<void> {
    while (this.#mayRead()) {
      const afterSeq = this.#readSeq;
      const found = await this.#owner.log.next(this.key, afterSeq);
      // It began to fail meanwhile.
      if (this.#readSeq !== afterSeq || !this.#mayRead()) return;
      if (found === null) {
        if (this.#fromLine === 0) this.#owner.log.foundEmpty(this.key);
        return;
      }
      this.#readSeq = found.seq;
      this.#fromLine += 1;
      this.#add(this.#lineItem(found.seq, found.record));
    }
  }

  #lineItem(seq: number, record: WebhookRecord): Item {
    const settle = () => {
      this.#fromLine -= 1;
      this.#owner.log.remove(this.key, seq);
    };
    return newItem({ record, from: 'line', seq, settle, queuedAtMs: this.#owner.clock.monotonicMs() });
  }

  #add(item: Item): void {
    this.#queue.push(item);
    this.#owner.ready(this);
  }

  #firstFreeChain(): number {
    const busy = new Set<string>();
    for (const { record } of this.#inFlight) busy.add(chainOf(record));
    for (const { record } of this.#waiting.keys()) busy.add(chainOf(record));
    return this.#queue.findIndex(({ record }) => !busy.has(chainOf(record)));
  }

  #succeeded(item: Item): void {
    this.#failuresInARow = 0;
    if (this.#failing !== null) this.#setFailing(null);
    item.settle();
  }

  #failed(item: Item, error: SendError, result: SendResult): void {
    this.#failuresInARow += 1;
    const isWhole =
      this.#failing !== null ||
      error === 'gone' ||
      (error === 'throttled' && result.retryAfterMs !== null) ||
      this.#failuresInARow >= bounds.failuresInARow ||
      (item.tries > 1 && (isOfEndpoint(error) || this.#endpoint.ordering === 'per_message'));
    if (isWhole) return this.#failAsWhole(item, error, result);
    if (triesOf(item) === 1) return this.#tryAgain(item);
    this.#retryLater(item);
  }

  /** The second try is made from memory. */
  #tryAgain(item: Item): void {
    const { clock, random } = this.#owner;
    const cancel = clock.after(waitAfter(1, random), () => {
      this.#waiting.delete(item);
      this.#queue.unshift(item);
      this.#owner.ready(this);
    });
    this.#waiting.set(item, cancel);
  }

  /** Further tries of this one event, while others of the endpoint succeed. */
  #retryLater(item: Item): void {
    const { log: parked, clock, random } = this.#owner;
    const tries = triesOf(item);
    if (isExhausted(tries)) return this.#giveUp(item);
    const dueAtMs = clock.nowMs() + waitAfter(tries, random);
    parked.keepForRetry(this.key.accountId, { ...item.record, tries, dueAtMs }, (seq) => {
      if (seq !== null) this.#owner.retryLater(this.key, seq, dueAtMs);
      item.settle();
    });
  }

  #giveUp(item: Item): void {
    metrics.webhookDropped.inc({ reason: 'given_up' });
    const { eventId, endpointId } = item.record;
    log.warn({ eventId, endpointId, tries: triesOf(item) }, 'an event was refused at every try and is given up');
    item.settle();
  }

  #failAsWhole(item: Item, error: SendError, { retryAfterMs }: SendResult): void {
    const { clock, random } = this.#owner;
    const failing = failed(this.#failing, { error, retryAfterMs }, item.seq, clock.nowMs(), random);
    // Where order matters, one event that is refused at every try would hold up the others for ever.
    if (this.#endpoint.ordering === 'per_message' && !isOfEndpoint(error) && isExhausted(failing.tries)) {
      this.#giveUp(item);
      return this.#setFailing(null);
    }
    this.#setFailing(failing);
    this.#waiting.set(item, () => {});
    this.#parkAll();
  }

  /** Everything in memory goes to the line; what came from there stays. */
  #parkAll(): void {
    for (const cancel of this.#waiting.values()) cancel();
    const items = [...this.#inFlight, ...this.#waiting.keys(), ...this.#queue];
    items.sort((one, other) => one.record.sequence - other.record.sequence);
    for (const item of this.#inFlight) this.#abandon(item);
    this.#waiting.clear();
    this.#queue = [];
    this.#fromLine = 0;
    this.#readSeq = 0;
    for (const item of items) this.#park(item);
  }

  /** It is slow: what waits in memory goes to the line, and comes from there. */
  #parkQueue(): void {
    const parked = this.#queue.filter(({ from }) => from === 'queue');
    this.#queue = this.#queue.filter(({ from }) => from !== 'queue');
    for (const item of parked) this.#park(item);
  }

  #park(item: Item): void {
    const { log: parked, clock } = this.#owner;
    const record = { ...item.record, tries: triesOf(item) };
    if (item.from === 'queue') parked.park(this.key.accountId, record, item.settle);
    else if (item.from === 'retry') {
      const dueAtMs = clock.nowMs() + waitAfter(triesOf(item), this.#owner.random);
      this.#owner.retryLater(this.key, item.seq, dueAtMs);
    }
  }

  #abandon(item: Item): void {
    item.isOver = true;
    item.cancel?.();
  }

  /** One request shows whether it works again. Each time another event: one may be what it fails at. */
  async #probe({ triedSeq }: Failing): Promise<void> {
    if (this.#isProbing || this.#held > 0 || !this.#hasLine) return;
    this.#isProbing = true;
    try {
      const afterSeq = this.#endpoint.ordering === 'per_message' ? 0 : triedSeq;
      const { log: parked } = this.#owner;
      const found = (await parked.next(this.key, afterSeq)) ?? (await parked.next(this.key, 0));
      if (found === null) return parked.foundEmpty(this.key);
      this.#fromLine += 1;
      this.#add(this.#lineItem(found.seq, found.record));
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'an endpoint that fails is tried in a second');
    } finally {
      this.#isProbing = false;
    }
  }

  #setFailing(failing: Failing | null): void {
    if (failing === null) {
      this.#failuresInARow = 0;
      this.#concurrency = 1;
    }
    this.#failing = failing;
    this.#owner.changed(this, failing);
  }
}
