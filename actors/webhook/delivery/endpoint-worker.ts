// The work of one endpoint: a small queue, requests at once by AIMD, and what becomes of failures. An endpoint that
// cannot follow has its events parked in its line and reads them from there, in order; one that fails as a whole has
// all of them parked and costs one request for each step of the schedule. Nothing it does delays another endpoint.
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import type { WebhookRecord } from '../../../model/records/webhook-record.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { SendResult } from '../send/http-sender.ts';
import type { SendError } from '../send/send-error.ts';
import { EndpointQueue, queueMaxOf } from './endpoint-queue.ts';
import { type Item, type Shipment, batchOf, groupOf, newItem, shipmentOf, triesOf, triesOfShipment } from './item.ts';
import { LineReader } from './line-reader.ts';
import { moveToLine } from './move-to-line.ts';
import type { EndpointKey, ParkedLog } from './parked-log.ts';
import { ShipmentsOut, sentBefore } from './shipments-out.ts';
import { type Failing, failed, isExhausted, isOfEndpoint, nextConcurrency, waitAfter } from './schedule.ts';

/** What a worker has its owner do. */
export type WorkerOwner = {
  readonly log: ParkedLog;
  readonly clock: Clock;
  /** It has something to send. */
  ready(worker: EndpointWorker): void;
  /** It began to fail, failed again, or (null) works. */
  changed(worker: EndpointWorker, failing: Failing | null): void;
  /** An event is kept there until its time. */
  retryLater(seq: number, dueAtMs: number): void;
};

const bounds = limits.delivery;

export class EndpointWorker {
  readonly key: EndpointKey;
  readonly #owner: WorkerOwner;
  readonly #queue = new EndpointQueue();
  readonly #out = new ShipmentsOut();
  readonly #line: LineReader;
  /** Events that are being sent and on their way to the line. */
  #moving = 0;
  /** Wakes it when a batch is due. */
  #wake: Cancel | null = null;
  #concurrency: number = bounds.concurrencyFirst;
  #failuresInARow = 0;
  #failing: Failing | null;
  #endpoint: WebhookEndpoint;
  #isProbing = false;
  /** It is among those that are ready: set by its owner. */
  isReady = false;
  /** An event about it is being published to its account: set by its owner. */
  isPublishing = false;

  constructor(key: EndpointKey, endpoint: WebhookEndpoint, failing: Failing | null, owner: WorkerOwner) {
    this.key = key;
    this.#endpoint = endpoint;
    this.#failing = failing;
    this.#owner = owner;
    this.#line = new LineReader(key, owner.log, owner.clock);
  }

  get failing(): Failing | null {
    return this.#failing;
  }

  get endpoint(): WebhookEndpoint {
    return this.#endpoint;
  }

  /** Nothing in memory that could not be made again. */
  get isIdle(): boolean {
    return this.#held === 0 && this.#failing === null && !this.#line.isReading && !this.#hasLine && this.isEnabled;
  }

  get isEnabled(): boolean {
    return this.#endpoint.status === 'enabled';
  }

  get #held(): number {
    return this.#queue.size + this.#out.events + this.#moving;
  }

  get #hasLine(): boolean {
    return this.#owner.log.countOf(this.key.endpointId) > 0;
  }

  /** A record of WEBHOOKS; `ack` when it is delivered or stored elsewhere. */
  take(record: WebhookRecord, ack: () => void): void {
    // What comes later must not overtake the line.
    if (this.#isFull || this.#hasLine || this.#failing !== null || !this.isEnabled) {
      if (this.#endpoint.ordering === 'per_message') this.#moveAllToLine();
      return this.#owner.log.park(this.key.accountId, record, ack);
    }
    this.#add(newItem({ record, from: 'queue', seq: 0, settle: ack, queuedAtMs: this.#owner.clock.monotonicMs() }));
  }

  /** An event whose time has come. False: not now. */
  retry(seq: number, record: WebhookRecord): boolean {
    if (this.#isFull || this.#failing !== null || !this.isEnabled) return false;
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

  /** What the next request carries; null when nothing is due, or as many as may be are in flight. */
  next(): Shipment | null {
    if (this.#out.inFlight >= Math.floor(this.#concurrency)) return null;
    return this.#queue.next(this.#endpoint, () => this.#out.busyChains(), this.#owner.clock.monotonicMs());
  }

  hasNext(): boolean {
    if (this.#out.inFlight >= Math.floor(this.#concurrency)) return false;
    return this.#queue.dueInMs(this.#endpoint, this.#owner.clock.monotonicMs()) === 0;
  }

  sent(shipment: Shipment): void {
    this.#out.add(shipment);
  }

  /** The result of a request. */
  answered(shipment: Shipment, result: SendResult): void {
    if (!this.#out.remove(shipment)) return;
    this.#concurrency = nextConcurrency(this.#concurrency, result.error === null);
    if (result.error === null) this.#succeeded(shipment);
    else this.#failed(shipment, result.error, result);
    this.readLine();
    this.#wakeWhenDue();
  }

  /** Once a second: is something due? */
  look(nowMs: number, monotonicMs: number): void {
    if (this.#failing !== null) {
      if (this.isEnabled && nowMs >= this.#failing.nextTryAtMs) void this.#probe(this.#failing);
      return;
    }
    const { first } = this.#queue;
    if (first?.from === 'queue' && monotonicMs - first.queuedAtMs > bounds.queueWaitMs) this.#parkQueue();
    this.readLine();
  }

  /** Reads its line into memory, as far as there is room. */
  readLine(): void {
    this.#line.read({ mayRead: () => this.#mayRead(), add: (item) => this.#add(item) });
  }

  /** The event about it that was due is published. */
  published(of: Partial<Pick<Failing, 'warnings' | 'isDisabledPublished'>>): void {
    if (this.#failing !== null) this.#setFailing({ ...this.#failing, ...of });
  }

  /** What it has stays where it is stored. */
  stop(): void {
    this.#wake?.();
    this.#out.abandon();
  }

  get #isFull(): boolean {
    return this.#held >= queueMaxOf(this.#endpoint, this.#concurrency);
  }

  #mayRead(): boolean {
    const hasRoom = this.#held < queueMaxOf(this.#endpoint, this.#concurrency) / 2 && this.#moving === 0;
    return this.#failing === null && this.isEnabled && this.#hasLine && hasRoom;
  }

  #add(item: Item): void {
    this.#queue.add(item);
    this.#wakeWhenDue();
  }

  #wakeWhenDue(): void {
    const dueInMs = this.#queue.dueInMs(this.#endpoint, this.#owner.clock.monotonicMs());
    if (dueInMs === 0) return this.#owner.ready(this);
    if (dueInMs === null || this.#wake !== null) return;
    this.#wake = this.#owner.clock.after(dueInMs, () => {
      this.#wake = null;
      this.#wakeWhenDue();
    });
  }

  #succeeded({ items }: Shipment): void {
    this.#failuresInARow = 0;
    if (this.#failing !== null) this.#setFailing(null);
    for (const item of items) item.settle();
  }

  #failed(shipment: Shipment, error: SendError, result: SendResult): void {
    this.#failuresInARow += 1;
    const isFirst = shipment.items.every(({ tries }) => tries <= 1);
    const isWhole =
      this.#failing !== null ||
      error === 'gone' ||
      (error === 'throttled' && result.retryAfterMs !== null) ||
      this.#failuresInARow >= bounds.failuresInARow ||
      (!isFirst && (isOfEndpoint(error) || this.#endpoint.ordering === 'per_message'));
    if (isWhole) return this.#failAsWhole(shipment, error, result);
    if (triesOfShipment(shipment) === 1) return this.#tryAgain(shipment);
    this.#retryLater(shipment);
  }

  /** The second try is made from memory. */
  #tryAgain(shipment: Shipment): void {
    this.#out.wait(shipment, waitAfter(1), this.#owner.clock, () => {
      this.#queue.addShipment(shipment);
      this.#owner.ready(this);
    });
  }

  /** Further tries of these events, while others of the endpoint succeed. */
  #retryLater(shipment: Shipment): void {
    const { log: parked, clock } = this.#owner;
    const tries = triesOfShipment(shipment);
    if (isExhausted(tries)) return this.#giveUp(shipment);
    const dueAtMs = clock.nowMs() + waitAfter(tries);
    for (const item of shipment.items) {
      const record = { ...item.record, tries, dueAtMs, group: groupOf(shipment) };
      parked.keepForRetry(this.key.accountId, record, (seq) => {
        if (seq !== null) this.#owner.retryLater(seq, dueAtMs);
        item.settle();
      });
    }
  }

  #giveUp({ items }: Shipment): void {
    for (const item of items) {
      metrics.webhookDropped.inc({ reason: 'given_up' });
      const { eventId, endpointId } = item.record;
      log.warn({ eventId, endpointId, tries: triesOf(item) }, 'an event was refused at every try and is given up');
      item.settle();
    }
  }

  #failAsWhole(shipment: Shipment, error: SendError, { retryAfterMs }: SendResult): void {
    const triedSeq = shipment.items.at(-1)?.seq ?? 0;
    const failing = failed(this.#failing, { error, retryAfterMs }, triedSeq, this.#owner.clock.nowMs());
    // Where order matters, one event that is refused at every try would hold up the others for ever.
    if (this.#endpoint.ordering === 'per_message' && !isOfEndpoint(error) && isExhausted(failing.tries)) {
      this.#giveUp(shipment);
      return this.#setFailing(null);
    }
    this.#setFailing(failing);
    this.#parkAll(sentBefore(shipment));
  }

  /** Everything in memory goes to the line, in its order; what came from there stays. */
  #parkAll(answered: readonly Item[] = []): void {
    const items = [...answered, ...this.#out.abandon(), ...this.#queue.clear()];
    this.#line.forget();
    for (const item of items.toSorted(bySequence)) this.#park(item);
  }

  /** It is slow: what waits in memory goes to the line, and comes from there. */
  #parkQueue(): void {
    if (this.#endpoint.ordering === 'per_message') return this.#moveAllToLine();
    for (const item of this.#queue.takeQueued()) this.#park(item);
  }

  /**
   * Where order matters, what is being sent goes to the line as well, before what comes later: after a crash it would
   * otherwise come from WEBHOOKS, behind the line.
   */
  #moveAllToLine(): void {
    const moved = new Set(this.#out.items.filter(({ from, isMoving }) => from === 'queue' && !isMoving));
    for (const item of [...moved, ...this.#queue.takeQueued()].toSorted(bySequence)) {
      if (!moved.has(item)) {
        this.#park(item);
        continue;
      }
      this.#moving += 1;
      moveToLine(item, { key: this.key, log: this.#owner.log, line: this.#line }, () => {
        this.#moving -= 1;
        this.readLine();
      });
    }
  }

  #park(item: Item): void {
    item.isOver = true;
    const { log: parked, clock } = this.#owner;
    const record = { ...item.record, tries: triesOf(item) };
    if (item.from === 'queue' && !item.isMoving) parked.park(this.key.accountId, record, item.settle);
    else if (item.from === 'line') this.#line.keepGroup(item.seq, record.group);
    else if (item.from === 'retry') this.#owner.retryLater(item.seq, clock.nowMs() + waitAfter(triesOf(item)));
  }

  /** One request shows whether it works again. Each time with other events: one may be what it fails at. */
  async #probe({ triedSeq }: Failing): Promise<void> {
    if (this.#isProbing || this.#held > 0 || !this.#hasLine) return;
    this.#isProbing = true;
    try {
      const { ordering, batch } = this.#endpoint;
      const found = await this.#line.from(ordering === 'per_message' ? 0 : triedSeq, batch?.max ?? 1);
      const items = found.map((each) => this.#line.itemOf(each));
      const [first] = items;
      if (first === undefined) return;
      this.#queue.addShipment(batch === null ? shipmentOf(first) : batchOf(items));
      this.#owner.ready(this);
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

const bySequence = (one: Item, other: Item) => one.record.sequence - other.record.sequence;
