// Delivers events: the worker of each endpoint takes what it is handed, and the workers take turns. So many requests are in
// flight in all, and so many of one account; so many events are in memory. It belongs to one process at a time
// (single-owner.ts).
import type { KV } from '@nats-io/kv';
import type { Directory } from '../../../directory/contract.ts';
import type { AccountId, WebhookEndpointId } from '../../../model/ids.ts';
import type { WebhookRecord } from '../../../model/records/webhook-record.ts';
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import type { SharedBound } from '../../../platform/shared-bound.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { SendResult } from '../send/http-sender.ts';
import type { WebhookRequests } from '../send/webhook-requests.ts';
import type { AttemptLog } from '../attempts/attempt-log.ts';
import type { AccountRequests } from './account-requests.ts';
import { EndpointStates } from './endpoint-states.ts';
import { EndpointWorker } from './endpoint-worker.ts';
import { type Shipment, triesOfShipment } from './item.ts';
import type { EndpointKey } from './parked-counts.ts';
import type { ParkedLog } from './parked-log.ts';
import { Retries } from './retries.ts';
import { type FailureStreak, type Failing, disabledBy, isWarningDue } from './schedule.ts';

export type DeliveryParts = {
  readonly bucket: KV;
  readonly directory: Directory;
  readonly requests: WebhookRequests;
  readonly parked: ParkedLog;
  readonly requestsOf: AccountRequests;
  /** Events in memory. */
  readonly held: SharedBound;
  readonly attempts: AttemptLog;
  readonly clock: Clock;
  /** Publishes the event that an endpoint fails, or was disabled, to its account. `done` when that is durable. */
  readonly publishEvent: (
    what: 'failing' | 'disabled',
    worker: EndpointWorker,
    failing: Failing,
    done: () => void,
  ) => void;
  /** The endpoint is to be disabled, for this reason. Called again until it is. */
  readonly disable: (worker: EndpointWorker, reason: 'gone' | 'failing') => void;
};

/** One event for one endpoint, not tried yet. */
export type WebhookEvent = Pick<WebhookRecord, 'eventId' | 'url' | 'sequence' | 'content'>;

const bounds = limits.delivery;
const lookEveryMs = 1_000;

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #states: EndpointStates;
  readonly #workers = new Map<WebhookEndpointId, EndpointWorker>();
  #failing = new Map<WebhookEndpointId, Failing>();
  /** Of endpoints that failed when nothing more was sent to them. */
  #streaks = new Map<WebhookEndpointId, FailureStreak>();
  /** Those with something to send, in turn. */
  #ready: EndpointWorker[] = [];
  /** Those that wait for a request of their account to end. */
  readonly #waitingFor = new Map<AccountId, EndpointWorker[]>();
  readonly #retries: Retries;
  readonly #events = metrics.webhookEvents.tally({});
  #stopLooking: Cancel = () => {};
  #isPumping = false;
  /** finishes: nothing more is sent, and what is answered counts. stopped: no answer counts any more. */
  #state: 'runs' | 'finishes' | 'stopped' = 'runs';

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
    this.#states = new EndpointStates(parts.bucket);
    this.#retries = new Retries({ log: parts.parked, clock: parts.clock, workerOf: (key) => this.#workerOf(key) });
  }

  /** Resolves when it delivers. */
  async start(): Promise<void> {
    const { parked, clock } = this.#parts;
    this.#failing = await this.#states.readFailing();
    this.#streaks = await this.#states.readStreaks();
    const { lines, retries } = await parked.start();
    parked.watch({
      parked: (key, seq) => this.#workerOf(key)?.appended(seq),
      inMemory: (endpointId) => this.#workers.get(endpointId)?.fromLine ?? 0,
      wrongCounts: () => void this.#compareCounts(),
    });
    for (const key of retries) this.#retries.found(key);
    for (const key of lines) this.#workerOf(key)?.readLine();
    for (const endpointId of [...this.#failing.keys(), ...this.#streaks.keys()]) {
      const endpoint = this.#parts.directory.webhookEndpoint(endpointId);
      // One that was deleted while no process delivered has no worker that would forget it.
      if (endpoint === undefined) this.#forgetState(endpointId);
      else this.#workerOf({ accountId: endpoint.accountId, endpointId });
    }
    const stopLooking = clock.every(lookEveryMs, () => this.#look());
    const stopComparing = clock.every(bounds.compareEveryMs, () => void this.#compareCounts());
    this.#stopLooking = () => {
      stopLooking();
      stopComparing();
    };
  }

  /** How an endpoint fails; null when it works. */
  failingOf(endpointId: WebhookEndpointId): Failing | null {
    return this.#workers.get(endpointId)?.failing ?? this.#failing.get(endpointId) ?? null;
  }

  /**
   * Sends nothing more, waits so long for the answers of requests in flight, and makes durable what they say. What is left
   * in memory is stored in the lines, from where the next process sends it.
   */
  async stop(answersWithinMs: number): Promise<void> {
    const { parked, requestsOf, clock } = this.#parts;
    this.#state = 'finishes';
    this.#stopLooking();
    this.#retries.stop();
    await requestsOf.wait(answersWithinMs, clock);
    this.#state = 'stopped';
    for (const worker of this.#workers.values()) worker.end('stored');
    await parked.settled();
  }

  /** Ends everything at once, and leaves it where it is: another process delivers. */
  abandon(): void {
    this.#state = 'stopped';
    this.#stopLooking();
    this.#retries.stop();
    for (const worker of this.#workers.values()) worker.end('left');
  }

  /**
   * Hands an event to its endpoint. `done` when the endpoint has taken it, when it is stored in the line or among the retries of its
   * endpoint, or when nobody wants it; never when the process stops before: who handed it over does so again. `toLine`: it is stored
   * at once.
   */
  put(endpoint: WebhookEndpoint, event: WebhookEvent, done: () => void, toLine = false): void {
    if (this.#state === 'stopped') return;
    const { accountId, id: endpointId } = endpoint;
    this.#events.inc();
    const worker = this.#workerOf({ accountId, endpointId });
    // It was deleted.
    if (worker === null) return done();
    worker.take({ ...event, endpointId, tries: 0, dueAtMs: 0, group: null }, done, toLine);
  }

  /** False: so many events are on their way to lines that no further ones are to be handed over. */
  get hasRoom(): boolean {
    return this.#parts.parked.hasRoom;
  }

  /** Whether an event of this account can be stored for later. */
  canStore(accountId: AccountId): boolean {
    return this.#parts.parked.hasRoomOf(accountId);
  }

  /** Resolves when there is room, or when `stopping`. */
  room(stopping: AbortSignal): Promise<void> {
    return this.#parts.parked.room(stopping);
  }

  /** Null when the endpoint was deleted. */
  #workerOf(key: EndpointKey): EndpointWorker | null {
    const known = this.#workers.get(key.endpointId);
    if (known !== undefined) return known;
    const endpoint = this.#parts.directory.webhookEndpoint(key.endpointId);
    if (endpoint === undefined) return null;
    const { parked, held, clock } = this.#parts;
    const { accountId, endpointId } = key;
    const before = {
      failing: this.#failing.get(endpointId) ?? null,
      streak: this.#streaks.get(endpointId) ?? null,
    };
    const worker: EndpointWorker = new EndpointWorker(key, endpoint, before, {
      log: parked,
      clock,
      hold: () => held.take(accountId) === 'taken',
      release: () => held.giveBack(accountId),
      ready: () => this.#becameReady(worker),
      changed: (failing) => this.#changed(key, failing),
      keepStreak: (streak) => this.#keepStreak(endpointId, streak),
      retryLater: (seq, dueAtMs) => this.#retries.add(key, { seq, dueAtMs }),
      retryStays: (seq) => this.#retries.putBack(key, seq),
      removeRetry: (seq) => this.#retries.remove(key, seq),
    });
    this.#workers.set(endpointId, worker);
    return worker;
  }

  #becameReady(worker: EndpointWorker): void {
    if (!worker.isReady) {
      worker.isReady = true;
      this.#ready.push(worker);
    }
    this.#pump();
  }

  /** One request for each worker in turn. */
  #pump(): void {
    // Called from within: the loop that runs goes on to it.
    if (this.#isPumping || this.#state !== 'runs') return;
    this.#isPumping = true;
    for (let turn = this.#ready; turn.length > 0; turn = this.#ready) {
      this.#ready = [];
      for (const [at, worker] of turn.entries()) {
        if (this.#turnOf(worker)) continue;
        // All requests are in flight: the others keep their places.
        this.#ready = [...turn.slice(at), ...this.#ready];
        this.#isPumping = false;
        return;
      }
    }
    this.#isPumping = false;
  }

  /** False when no more requests may be in flight at all. */
  #turnOf(worker: EndpointWorker): boolean {
    const { accountId } = worker.key;
    const taken = worker.hasNext() ? this.#parts.requestsOf.look(accountId) : 'taken';
    if (taken === 'full') return false;
    worker.isReady = false;
    if (taken === 'account_full') {
      worker.isReady = true;
      const waiting = this.#waitingFor.get(accountId) ?? [];
      this.#waitingFor.set(accountId, waiting);
      waiting.push(worker);
      return true;
    }
    const shipment = worker.next();
    if (shipment === null) return true;
    this.#parts.requestsOf.take(accountId);
    this.#send(worker, shipment);
    if (worker.hasNext() && !worker.isReady) {
      worker.isReady = true;
      this.#ready.push(worker);
    }
    return true;
  }

  #send(worker: EndpointWorker, shipment: Shipment): void {
    worker.sent(shipment);
    let isOver = false;
    const { webhookId, isBatch, items } = shipment;
    const outgoing = { webhookId, isBatch, records: items.map(({ record }) => record) };
    const cancel = this.#parts.requests.send(worker.endpoint, outgoing, triesOfShipment(shipment), (result, ended) => {
      isOver = true;
      this.#parts.attempts.add(ended);
      this.#answered(worker, shipment, result);
    });
    if (!isOver) shipment.cancel = cancel;
  }

  #answered(worker: EndpointWorker, shipment: Shipment, result: SendResult): void {
    const { accountId } = worker.key;
    this.#parts.requestsOf.ended(accountId, result.error);
    const waiting = this.#waitingFor.get(accountId);
    if (waiting !== undefined) {
      this.#waitingFor.delete(accountId);
      this.#ready.push(...waiting);
    }
    if (this.#state !== 'stopped') worker.answered(shipment, result);
    this.#pump();
  }

  #changed({ endpointId }: EndpointKey, failing: Failing | null): void {
    if (failing === null) {
      this.#failing.delete(endpointId);
      log.info({ endpointId }, 'a webhook endpoint no longer counts as failing');
    } else {
      this.#failing.set(endpointId, failing);
      if (failing.tries === 1) log.info({ endpointId, error: failing.error }, 'a webhook endpoint fails');
    }
    this.#states.writeFailing(endpointId, failing);
  }

  #keepStreak(endpointId: WebhookEndpointId, streak: FailureStreak | null): void {
    if (streak === null) this.#streaks.delete(endpointId);
    else this.#streaks.set(endpointId, streak);
    this.#states.writeStreak(endpointId, streak);
  }

  async #compareCounts(): Promise<void> {
    const { parked, directory } = this.#parts;
    const more = await parked.compare((endpointId) => directory.webhookEndpoint(endpointId) !== undefined);
    if (this.#state === 'runs') for (const key of more) this.#workerOf(key)?.readAgain();
  }

  #look(): void {
    const { clock, directory } = this.#parts;
    const nowMs = clock.nowMs();
    const monotonicMs = clock.monotonicMs();
    for (const [endpointId, worker] of this.#workers) {
      const endpoint = directory.webhookEndpoint(endpointId);
      if (endpoint === undefined) {
        this.#forget(worker);
        continue;
      }
      if (endpoint !== worker.endpoint) worker.follow(endpoint);
      worker.look(nowMs, monotonicMs);
      this.#judge(worker, nowMs);
      if (worker.isIdle && !worker.isReady) this.#workers.delete(endpointId);
    }
    this.#retries.look();
    metrics.webhookFailing.set(this.#failing.size);
  }

  #judge(worker: EndpointWorker, nowMs: number): void {
    const { failing, endpoint } = worker;
    if (failing === null || worker.isPublishing) return;
    if (!worker.isEnabled) {
      if (endpoint.disabledReason === 'client' || failing.isDisabledPublished) return;
      return this.#publishEvent('disabled', worker, failing, { isDisabledPublished: true });
    }
    const reason = disabledBy(failing, nowMs);
    if (reason !== null) return this.#parts.disable(worker, reason);
    if (isWarningDue(failing, nowMs))
      this.#publishEvent('failing', worker, failing, { warnings: failing.warnings + 1 });
  }

  #publishEvent(
    what: 'failing' | 'disabled',
    worker: EndpointWorker,
    failing: Failing,
    published: Partial<Failing>,
  ): void {
    worker.isPublishing = true;
    this.#parts.publishEvent(what, worker, failing, () => {
      worker.isPublishing = false;
      worker.published(published);
    });
  }

  /** It was deleted, and its events are nobody's. */
  #forget(worker: EndpointWorker): void {
    const { endpointId } = worker.key;
    worker.end('forgotten');
    this.#workers.delete(endpointId);
    this.#forgetState(endpointId);
    this.#retries.forget(worker.key);
    void this.#parts.parked.purge(worker.key);
  }

  #forgetState(endpointId: WebhookEndpointId): void {
    if (this.#failing.delete(endpointId)) this.#states.writeFailing(endpointId, null);
    if (this.#streaks.has(endpointId)) this.#keepStreak(endpointId, null);
  }
}
