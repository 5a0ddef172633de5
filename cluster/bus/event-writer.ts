// Collects delivery events for a few milliseconds and publishes them to EVENTS in batches. Calls back when an event is
// durable, because acks upstream wait for that. Events of one message go to one shard, in order (event-order.ts). It never
// drops an event: while the bus does not answer it keeps them and reports so through `hasCapacity`, and its owner stops
// accepting work. A batch too large for one record is split; a single event that is too large is shortened, so that the
// final event of its message is still published.
import { type DeliveryEvent } from '../../model/delivery-event.ts';
import { shardOf } from '../../model/ids.ts';
import { assert } from '../../platform/assert.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { secretBytes } from '../../platform/random.ts';
import { metrics } from '../../platform/telemetry.ts';
import { encodeEvents, shortenedEvent } from '../../model/records/event-record.ts';
import { type EventDone, EventOrder, type WrittenEvent } from './event-order.ts';
import type { Publisher, PublishResult } from './publisher.ts';
import { eventSubject } from './subjects.ts';

type Batch = {
  readonly subject: string;
  events: DeliveryEvent[];
  done: EventDone[];
  cancel: Cancel | null;
  /** The second half of a batch that was split: published after this one is durable. */
  next: Batch | null;
};

type EventWriterOptions = {
  /** How long a batch that is not full waits; 0: to the end of the current turn. */
  readonly lingerMs?: number;
  readonly shards?: number;
  /** The most events held here before `hasCapacity` is false. */
  readonly heldMax?: number;
  readonly clock?: Clock;
  /** Called with every event that is written. */
  readonly watch?: (event: DeliveryEvent) => void;
  /** Called once with every event when it is durable. */
  readonly onDurable?: (event: DeliveryEvent) => void;
};

const retryAfterMs = 200;

export class EventWriter {
  readonly #publisher: Publisher;
  readonly #lingerMs: number;
  readonly #shards: number;
  readonly #heldMax: number;
  readonly #clock: Clock;
  readonly #watch: ((event: DeliveryEvent) => void) | undefined;
  readonly #onDurable: ((event: DeliveryEvent) => void) | undefined;
  readonly #batches = new Map<string, Batch>();
  readonly #order = new EventOrder();
  /** The prefix of its batch ids. */
  readonly id = secretBytes(9).toString('base64url');
  /** Called when EVENTS assigns sequences a second time: it was recreated or has lost its end. */
  onWentBack: () => void = () => {};
  #batchCount = 0;
  #lastSeq = 0;
  #inFlight = 0;
  #closed = false;

  constructor(publisher: Publisher, options: EventWriterOptions = {}) {
    this.#publisher = publisher;
    this.#lingerMs = options.lingerMs ?? limits.events.batchLingerMs;
    this.#shards = options.shards ?? 1;
    this.#heldMax = options.heldMax ?? limits.events.heldMax;
    this.#clock = options.clock ?? systemClock;
    this.#watch = options.watch;
    this.#onDurable = options.onDurable;
  }

  /** Events that are not durable yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The highest sequence in EVENTS of its batches since EVENTS was created: later writes get higher ones. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  get hasCapacity(): boolean {
    return this.#inFlight < this.#heldMax;
  }

  /** Adds an event to its batch. `urgent` (OTP) publishes the batch at once. */
  write(event: DeliveryEvent, done: EventDone, urgent = false): void {
    this.#inFlight += 1;
    this.#watch?.(event);
    if (!this.#order.keeps(event, done)) this.#add(event, done, urgent);
  }

  #add(event: DeliveryEvent, done: EventDone, urgent: boolean): void {
    const subject = eventSubject(event.carrier, shardOf(event.messageId, this.#shards));
    let batch = this.#batches.get(subject);
    if (batch === undefined) {
      batch = { subject, events: [], done: [], cancel: null, next: null };
      this.#batches.set(subject, batch);
    }
    batch.events.push(event);
    batch.done.push(done);
    if (urgent || batch.events.length >= limits.events.batchMax) return this.#flush(batch);
    const opened = batch;
    batch.cancel ??= this.#clock.after(this.#lingerMs, () => this.#flush(opened));
  }

  /** Publishes every open batch now. */
  flush(): void {
    for (const batch of [...this.#batches.values()]) this.#flush(batch);
  }

  /** Reports everything not yet durable as lost. First flush, and wait for the publisher. */
  close(): void {
    this.#closed = true;
    for (const batch of this.#batches.values()) {
      batch.cancel?.();
      this.#settle(batch, false);
    }
    this.#batches.clear();
  }

  #flush(batch: Batch): void {
    batch.cancel?.();
    batch.cancel = null;
    if (this.#batches.get(batch.subject) === batch) this.#batches.delete(batch.subject);
    this.#order.publishes(batch.events);
    this.#send(batch);
  }

  #send(batch: Batch): void {
    const payload = encodeEvents(batch.events);
    if (payload.length > limits.events.batchBytesMax && batch.events.length > 1) return this.#split(batch);
    this.#batchCount += 1;
    this.#publish(batch, payload, `${this.id}.${this.#batchCount}`);
  }

  #onBack(seq: number): void {
    this.#lastSeq = seq - 1;
    this.onWentBack();
  }

  /** `afterSeq`: `lastSeq` at the first publish of the batch. */
  #publish(batch: Batch, payload: Uint8Array, id: string, afterSeq = this.#lastSeq): void {
    this.#publisher.publish(batch.subject, payload, id, (result: PublishResult) => {
      if (result.ok) {
        if (result.seq > afterSeq) this.#lastSeq = Math.max(this.#lastSeq, result.seq);
        else this.#onBack(result.seq);
        return this.#settle(batch, true);
      }
      if (this.#closed || result.failure === 'closed') return this.#settle(batch, false);
      // The server's limit is lower than assumed. If a copy under this id was stored, its events have the same ids.
      if (result.failure === 'too_large') return this.#split(batch);
      // The stream is full or away. The id stays, so a stored copy is not counted twice.
      this.#clock.after(retryAfterMs, () => this.#publish(batch, payload, id, afterSeq));
    });
  }

  /** Splits into two records, one after the other; shortens a single event. */
  #split(batch: Batch): void {
    const { subject, events, done } = batch;
    const half = Math.ceil(events.length / 2);
    if (events.length > 1) {
      const { next } = batch;
      const second: Batch = { subject, events: events.slice(half), done: done.slice(half), cancel: null, next };
      return this.#send({
        subject,
        events: events.slice(0, half),
        done: done.slice(0, half),
        cancel: null,
        next: second,
      });
    }
    const [event] = events;
    assert(event !== undefined, 'an empty batch was too large');
    const { messageId, carrier, kind } = event;
    log.error({ alarm: 'event_shortened', messageId, carrier, kind }, 'an event is too large for a record: shortened');
    metrics.eventsShortened.inc({ carrier });
    batch.events = [shortenedEvent(event)];
    // Certainly small now: a refusal is retried like any other.
    this.#batchCount += 1;
    this.#publish(batch, encodeEvents(batch.events), `${this.id}.${this.#batchCount}`);
  }

  #settle(batch: Batch, durable: boolean): void {
    this.#inFlight -= batch.events.length;
    this.#goOn(this.#order.ended(batch.events));
    if (durable && this.#onDurable !== undefined) for (const event of batch.events) this.#onDurable(event);
    for (const done of batch.done) done(durable);
    if (batch.next !== null) this.#send(batch.next);
  }

  /** Writes what has waited, at once: a process that stops waits only for what is in flight. */
  #goOn(waited: readonly WrittenEvent[]): void {
    if (waited.length === 0) return;
    if (this.#closed) {
      this.#inFlight -= waited.length;
      for (const { done } of waited) done(false);
      return;
    }
    for (const { event, done } of waited) this.#add(event, done, false);
    this.flush();
  }
}
