// The work of one endpoint: a small queue, requests at once by AIMD, and what becomes of failures. An endpoint that
// cannot follow has its events parked in its line and reads them from there, in order; one that fails as a whole has
// all of them parked and costs one request for each step of the schedule. Nothing it does delays another endpoint.
import { type WebhookEndpoint, enabledAtOf } from '../../../model/webhook-endpoint.ts';
import type { WebhookRecord } from '../../../model/records/webhook-record.ts';
import { messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import type { SendResult } from '../send/http-sender.ts';
import type { SendError } from '../send/send-error.ts';
import { DueTimer } from './due-timer.ts';
import { EndpointFailures, type FailedBefore } from './endpoint-failures.ts';
import { EndpointQueue, lineMaxOf } from './endpoint-queue.ts';
import { type Item, type Shipment, bySequence, newItem, triesOf, triesOfShipment } from './item.ts';
import { LineReader } from './line-reader.ts';
import { giveUp } from './give-up.ts';
import { LineWriter } from './line-writer.ts';
import type { EndpointKey } from './parked-counts.ts';
import { retryShipment } from './retry-shipment.ts';
import { ShipmentsOut, sentBefore } from './shipments-out.ts';
import type { WorkerOwner } from './worker-owner.ts';
import { type Failing, failsAsWhole, isExhausted, isOfEndpoint, nextConcurrency, waitAfter } from './schedule.ts';

const bounds = limits.delivery;

export class EndpointWorker {
  readonly key: EndpointKey;
  readonly #owner: WorkerOwner;
  readonly #queue = new EndpointQueue();
  readonly #out = new ShipmentsOut();
  readonly #line: LineReader;
  readonly #writer: LineWriter;
  readonly #timer: DueTimer;
  #concurrency: number = bounds.concurrencyFirst;
  readonly #failures: EndpointFailures;
  #endpoint: WebhookEndpoint;
  #isProbing = false;
  #end: Parameters<EndpointWorker['end']>[0] | null = null;
  /** It is among those that are ready: set by its owner. */
  isReady = false;
  /** An event about it is being published to its account: set by its owner. */
  isPublishing = false;

  constructor(key: EndpointKey, endpoint: WebhookEndpoint, before: FailedBefore, owner: WorkerOwner) {
    this.key = key;
    this.#endpoint = endpoint;
    this.#failures = new EndpointFailures(before, owner);
    if (before.failing !== null && before.failing.enabledAtMs !== enabledAtOf(endpoint)) this.#failures.end();
    this.#owner = owner;
    this.#timer = new DueTimer(owner, () => this.#queue.dueInMs(this.#endpoint, owner.clock.monotonicMs()));
    const line = new LineReader(key, owner.log, owner.clock);
    this.#line = line;
    this.#writer = new LineWriter({
      ...{ key, log: owner.log, line, queue: this.#queue, out: this.#out },
      putBack: (item) => this.#putBack(item),
      moved: () => this.readLine(),
    });
  }

  get failing(): Failing | null {
    return this.#failures.failing;
  }

  get endpoint(): WebhookEndpoint {
    return this.#endpoint;
  }

  /** Nothing in memory that could not be made again. */
  get isIdle(): boolean {
    return this.#isAtRest && !this.#line.isRemoving && this.#failures.isNone && this.isEnabled;
  }

  get #isAtRest(): boolean {
    return this.#held === 0 && !this.#line.isReading && !this.#hasLine;
  }

  get isEnabled(): boolean {
    return this.#endpoint.status === 'enabled';
  }

  /** It gets events as they come, not single ones from its line. */
  get #isServed(): boolean {
    return this.failing === null && this.isEnabled;
  }

  get #held(): number {
    return this.#queue.size + this.#out.events + this.#writer.moving;
  }

  get #hasLine(): boolean {
    return this.#owner.log.countOf(this.key.endpointId) > 0;
  }

  /** A new event; `done` when it is delivered or stored. `toLine`: it is to be stored at once. */
  take(record: WebhookRecord, done: () => void, toLine: boolean): void {
    // What comes later must not overtake what waits in the line.
    const isStored = toLine && this.#owner.log.hasRoomOf(this.key.accountId);
    if (isStored || this.#line.waiting > 0 || this.#isFull || !this.#isServed || !this.#owner.hold()) {
      if (!isStored && !this.#writer.moveAll(true)) return this.#owner.log.refuse(this.key.accountId, record, done);
      return this.#takeToLine(record, done);
    }
    const uncount = this.#writer.count();
    const settle = () => {
      uncount();
      this.#owner.release();
      done();
    };
    this.#add(newItem({ record, from: 'queue', seq: 0, settle, queuedAtMs: this.#owner.clock.monotonicMs() }));
  }

  #takeToLine(record: WebhookRecord, done: () => void): void {
    // Where batches are sent the one that failed has an id of its own, and a new event is of no batch yet: always another.
    const isOther = this.#endpoint.ordering === 'none' && this.#failures.isOther(record.eventId);
    this.#owner.log.park(this.key.accountId, record, (seq) => {
      done();
      if (isOther && seq !== null) this.#failures.tryNext(seq, this.#owner.clock.nowMs());
    });
  }

  get takesRetry(): boolean {
    return !this.#isFull || !this.#isServed;
  }

  /** An event whose time has come. False: not now. */
  retry(seq: number, record: WebhookRecord): boolean {
    if (!this.#isServed) this.#retryFromLine(seq, record);
    else if (this.#isFull) return false;
    else {
      const settle = () => this.#owner.removeRetry(seq);
      this.#add(newItem({ record, from: 'retry', seq, settle, queuedAtMs: this.#owner.clock.monotonicMs() }));
    }
    return true;
  }

  /** The endpoint gets nothing now but from its line. */
  #retryFromLine(seq: number, record: WebhookRecord): void {
    this.#owner.log.append(this.key, record, (lineSeq) => {
      if (lineSeq === null) this.#owner.retryStays(seq);
      else this.#owner.removeRetry(seq);
    });
  }

  /** Its settings are these now. */
  follow(endpoint: WebhookEndpoint): void {
    const before = this.#endpoint;
    this.#endpoint = endpoint;
    if (!this.isEnabled && before.status === 'enabled') this.#parkAll();
    // The account has done something about it: tried at once.
    const isEnabledAgain = enabledAtOf(endpoint) !== enabledAtOf(before);
    const isChanged = endpoint.url !== before.url || isEnabledAgain || (this.isEnabled && before.status !== 'enabled');
    if (isChanged && this.#failures.end()) this.#concurrency = 1;
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
    this.#timer.set();
  }

  /** Once a second: is something due? */
  look(nowMs: number, monotonicMs: number): void {
    const { failing } = this;
    if (this.#isAtRest) this.#failures.keep();
    if (failing !== null) {
      if (this.isEnabled && nowMs >= failing.nextTryAtMs) void this.#probe(failing);
      return;
    }
    // It is slow: after a crash everything since its oldest event would be sent again.
    const waitMs = bounds.queueWaitMs + (this.#endpoint.batch?.waitMs ?? 0);
    if (monotonicMs - this.#writer.oldestMs > waitMs) this.#writer.moveAll(false);
    this.readLine();
  }

  /** An event of it was put at the end of its line. */
  appended(seq: number): void {
    this.#line.appended(seq, this.#isServed);
    this.readLine();
  }

  /** Its line has more than was known. */
  readAgain(): void {
    this.#line.readAgain();
    this.readLine();
  }

  /** Reads its line into memory, as far as there is room. */
  readLine(): void {
    if (this.#end !== null) return;
    this.#line.read({ room: () => this.#roomForLine(), add: (item) => this.#add(item) });
  }

  /** The event about it that was due is published. */
  published(of: Partial<Pick<Failing, 'warnings' | 'isDisabledPublished'>>): void {
    this.#failures.change(of);
  }

  /** Events in memory that were read from its line. */
  get fromLine(): number {
    return this.#line.inMemory;
  }

  /**
   * Ends its requests. stored: what is in memory alone goes to the line; without room the next process is handed it again · left:
   * another process delivers · forgotten: its endpoint was deleted, and nobody wants its events.
   */
  end(how: 'stored' | 'left' | 'forgotten'): void {
    this.#end = how;
    this.#timer.stop();
    for (const item of this.#takeAll()
      .filter(({ from, isMoving }) => from === 'queue' && !isMoving)
      .toSorted(bySequence)) {
      if (how === 'stored') this.#writer.store(item, () => {});
      else if (how === 'forgotten') item.settle();
    }
    if (how === 'forgotten') this.#line.forget();
  }

  get #isFull(): boolean {
    return this.#held >= bounds.queueMax;
  }

  #roomForLine(): number {
    if (this.#end !== null || !this.#isServed || this.#line.waiting === 0 || this.#writer.moving > 0) return 0;
    return lineMaxOf(this.#endpoint, this.#concurrency) - this.#held;
  }

  #putBack(item: Item): void {
    if (this.#end === 'forgotten') item.settle();
    else if (this.#end === null && this.#isServed) this.#add(item);
    else if (this.#end === null) this.#park(item);
  }

  #add(item: Item): void {
    this.#queue.add(item);
    this.#timer.set();
  }

  #succeeded({ items }: Shipment): void {
    if (this.#failures.end()) this.#concurrency = 1;
    for (const item of items) item.settle();
  }

  #failed(shipment: Shipment, error: SendError, result: SendResult): void {
    const { webhookId, items } = shipment;
    const inARow = this.#failures.add(error, webhookId, this.#owner.clock.nowMs());
    const tries = triesOfShipment(shipment);
    const wasFailing = this.failing !== null;
    const isAgain = items.some((item) => item.tries > 1);
    const { ordering } = this.#endpoint;
    if (failsAsWhole({ error, retryAfterMs: result.retryAfterMs, inARow, tries, isAgain, wasFailing, ordering }))
      return this.#failAsWhole(shipment, error, result);
    if (tries > 1) return retryShipment(shipment, this.key, this.#owner);
    // The second try is made from memory.
    this.#out.wait(shipment, waitAfter(1), this.#owner.clock, () => {
      this.#queue.addShipment(shipment);
      this.#owner.ready();
    });
  }

  #failAsWhole(shipment: Shipment, error: SendError, { retryAfterMs }: SendResult): void {
    const last = shipment.items.at(-1);
    const triedSeq = last?.from === 'line' ? last.seq : 0;
    const nowMs = this.#owner.clock.nowMs();
    // Where order matters, one event that is refused at every try would hold up the others for ever.
    const holdsUp = this.#endpoint.ordering === 'per_message' && !isOfEndpoint(error);
    const refusedId = holdsUp ? (shipment.items[0]?.record.eventId ?? null) : null;
    const failure = { error, retryAfterMs, triedSeq, refusedId, enabledAtMs: enabledAtOf(this.#endpoint) };
    const { refused } = this.#failures.failAsWhole(failure, nowMs);
    if (refusedId !== null && isExhausted(refused?.times ?? 0)) {
      giveUp(shipment);
      return this.#failures.change({ scheduledTries: 0, refused: null, nextTryAtMs: nowMs });
    }
    this.#parkAll(sentBefore(shipment));
  }

  /** Takes everything out. The queue first: the end of each request that is abandoned lets the next one be sent at once. */
  #takeAll(): readonly Item[] {
    const queued = this.#queue.clear();
    return [...this.#out.abandon(), ...queued];
  }

  /** Everything in memory goes to the line, in its order; what came from there stays. */
  #parkAll(answered: readonly Item[] = []): void {
    const items = [...answered, ...this.#takeAll()];
    this.#line.forget();
    for (const item of items.toSorted(bySequence)) this.#park(item);
  }

  #park(item: Item): void {
    item.isOver = true;
    const record = { ...item.record, tries: triesOf(item) };
    if (item.from === 'line') this.#line.keepGroup(item.seq, record.group);
    else if (item.from === 'retry') this.#retryFromLine(item.seq, record);
    else if (!item.isMoving) this.#owner.log.park(this.key.accountId, record, item.settle);
  }

  /** One request shows whether it works again. Each time with other events: one may be what it fails at. */
  async #probe({ triedSeq }: Failing): Promise<void> {
    if (this.#isProbing || this.#held > 0 || !this.#hasLine) return;
    this.#isProbing = true;
    try {
      const stillFails = () => this.failing !== null && this.#held === 0;
      const shipment = await this.#line.shipmentAfter(triedSeq, this.#endpoint, stillFails);
      if (shipment === null) return;
      this.#queue.addShipment(shipment);
      this.#owner.ready();
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'an endpoint that fails is tried in a second');
    } finally {
      this.#isProbing = false;
    }
  }
}
