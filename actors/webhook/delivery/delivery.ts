// Delivers what the fan-out wrote: a consumer for each shard of WEBHOOKS gives records to the workers of their
// endpoints, which take turns. So many requests are in flight in all, and so many of one account. It belongs to one
// process at a time (single-owner.ts).
import type { JsMsg } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { moveToDead } from '../../../cluster/bus/dead-letter.ts';
import { dropConsumer } from '../../../cluster/bus/ensure.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { streamNames, webhookConsumer } from '../../../cluster/bus/streams.ts';
import type { Directory } from '../../../directory/contract.ts';
import type { AccountId, WebhookEndpointId } from '../../../model/ids.ts';
import { type WebhookRecord, decodeWebhook } from '../../../model/records/webhook-record.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { SendResult } from '../send/http-sender.ts';
import type { WebhookRequests } from '../send/webhook-requests.ts';
import type { AttemptLog } from '../attempts/attempt-log.ts';
import type { AccountRequests } from './account-requests.ts';
import { EndpointStates } from './endpoint-states.ts';
import { EndpointWorker } from './endpoint-worker.ts';
import { type Shipment, triesOfShipment } from './item.ts';
import { GatheredAcks } from './gathered-acks.ts';
import type { EndpointKey } from './parked-counts.ts';
import type { ParkedLog } from './parked-log.ts';
import { Retries } from './retries.ts';
import { type FailureStreak, type Failing, disabledBy, isWarningDue } from './schedule.ts';

export type DeliveryParts = {
  readonly bus: Bus;
  readonly bucket: KV;
  readonly directory: Directory;
  readonly requests: WebhookRequests;
  readonly parked: ParkedLog;
  /** For records that cannot be read. */
  readonly publisher: Publisher;
  readonly requestsOf: AccountRequests;
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
  /** Sequences of WEBHOOKS in memory: a redelivered one is there already. */
  readonly #held = new Set<number>();
  readonly #acks: GatheredAcks;
  #consumptions: Consumption[] = [];
  #stopLooking: Cancel = () => {};
  #isPumping = false;
  /** finishes: nothing more is sent, and what is answered counts. stopped: no answer counts any more. */
  #state: 'runs' | 'finishes' | 'stopped' = 'runs';

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
    this.#states = new EndpointStates(parts.bucket);
    this.#retries = new Retries({ log: parts.parked, clock: parts.clock, workerOf: (key) => this.#workerOf(key) });
    this.#acks = new GatheredAcks(parts.clock, (seq) => this.#held.delete(seq));
  }

  /** Resolves when it delivers. */
  async start(): Promise<void> {
    const { bus, parked, clock } = this.#parts;
    this.#failing = await this.#states.readFailing();
    this.#streaks = await this.#states.readStreaks();
    const { lines, retries } = await parked.start();
    parked.watch((key) => this.#workerOf(key)?.readLine());
    for (const key of retries) this.#retries.found(key);
    for (let shard = 0; shard < bounds.shards; shard += 1) {
      const consumer = webhookConsumer(shard);
      // A new one begins with the oldest record that was not acked: in order, and at once after a crash.
      await dropConsumer(bus.manager, streamNames.webhooks, consumer.durable_name ?? '');
      const consumption = await consumeStream(bus, {
        stream: streamNames.webhooks,
        consumer,
        prefetch: bounds.prefetch,
        handle: (msg) => this.#take(msg),
        onPoison: (msg, reason) => this.#moveToDead(msg, reason),
        lowPriority: true,
        clock,
      });
      this.#consumptions.push(consumption);
    }
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
   * Sends nothing more, waits so long for the answers of requests in flight, and makes durable what they say. What was not
   * delivered is delivered by the next one.
   */
  async stop(answersWithinMs: number): Promise<void> {
    const { parked, requestsOf, clock } = this.#parts;
    this.#state = 'finishes';
    this.#stopLooking();
    this.#retries.stop();
    const stopped = this.#consumptions.map((each) => each.stop());
    await Promise.all([requestsOf.wait(answersWithinMs, clock), ...stopped]);
    this.#state = 'stopped';
    for (const worker of this.#workers.values()) worker.stop();
    await parked.settled();
    this.#acks.flush();
  }

  #take(msg: JsMsg): void {
    if (this.#held.has(msg.seq)) return;
    let record: WebhookRecord;
    try {
      record = decodeWebhook(msg.data);
    } catch (error) {
      return this.#moveToDead(msg, messageOf(error));
    }
    const endpoint = this.#parts.directory.webhookEndpoint(record.endpointId);
    // It was deleted: nobody wants its events.
    if (endpoint === undefined) return msg.ack();
    const worker = this.#workerOf({ accountId: endpoint.accountId, endpointId: endpoint.id });
    this.#held.add(msg.seq);
    worker?.take(record, () => this.#acks.add(msg));
  }

  #moveToDead(msg: JsMsg, reason: string): void {
    moveToDead(this.#parts.publisher, msg, streamNames.webhooks, reason);
  }

  /** Null when the endpoint was deleted. */
  #workerOf(key: EndpointKey): EndpointWorker | null {
    const known = this.#workers.get(key.endpointId);
    if (known !== undefined) return known;
    const endpoint = this.#parts.directory.webhookEndpoint(key.endpointId);
    if (endpoint === undefined) return null;
    const { parked, clock } = this.#parts;
    const { endpointId } = key;
    const before = {
      failing: this.#failing.get(endpointId) ?? null,
      streak: this.#streaks.get(endpointId) ?? null,
    };
    const worker = new EndpointWorker(key, endpoint, before, {
      log: parked,
      clock,
      ready: (each) => this.#becameReady(each),
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

  #compareCounts(): Promise<void> {
    const { parked, directory } = this.#parts;
    return parked.compare((endpointId) => directory.webhookEndpoint(endpointId) !== undefined);
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
    worker.stop();
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
