// Reads EVENTS and writes one record into WEBHOOKS for each event and each endpoint that it matches. While no account
// has an endpoint it reads nothing. A record is published under the event's id and the endpoint's, so what is read
// again after a crash is stored once within the stream's memory; later than that it is sent again with the same
// webhook-id. An event about an endpoint itself is published through `publishEndpointEvent`.
import type { JsMsg } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type StreamReader, readStream } from '../../../cluster/bus/read-stream.ts';
import { type StreamPosition, changeSince } from '../../../cluster/bus/stream-position.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { type WebhookPlace, readWebhookPlace, writeWebhookPlace } from '../../../cluster/bus/webhook-place.ts';
import type { Directory } from '../../../directory/contract.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { AccountId } from '../../../model/ids.ts';
import { eventsOf } from '../../../model/records/event-record.ts';
import { type WebhookEndpoint, subscribesTo, webhookTypeOfKind } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { EndpointEvent } from '../endpoint-events.ts';
import type { WebhookQueue } from '../webhook-queue.ts';
import { ClientEvents } from './client-events.ts';
import { targetOf } from './event-target.ts';
import { UndecidedEvents } from './undecided-events.ts';

type FanOutParts = {
  readonly bus: Bus;
  readonly bucket: KV;
  readonly directory: Directory;
  readonly queue: WebhookQueue;
  readonly clock: Clock;
};

/** A record of EVENTS of which some events are not decided, or some publishes not durable yet. */
type Taken = { readonly seq: number; readonly storedAtNs: bigint; left: number };

const bounds = limits.delivery;
const eventsPerRecord = 1_024;
const lookEveryMs = 1_000;

export class FanOut {
  readonly #parts: FanOutParts;
  readonly #clientEvents: ClientEvents;
  readonly #undecided: UndecidedEvents;
  /** In stream order; the first is the oldest. */
  readonly #taken: Taken[] = [];
  #place: WebhookPlace = { position: { made: '', seq: 0, storedAtNs: null }, sequenceBase: 0, idle: true };
  #savedSeq = -1;
  #reader: StreamReader | null = null;
  /** Up to here events were published before this process: read again for what they say of messages on their way. */
  #warmUpTo = 0;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(parts: FanOutParts) {
    this.#parts = parts;
    const { bus, clock } = parts;
    this.#clientEvents = new ClientEvents(clock);
    const stopping = this.#stopping.signal;
    this.#undecided = new UndecidedEvents({ bus, clientEvents: this.#clientEvents, clock, stopping });
  }

  /** Resolves when it knows where to go on. */
  async start(): Promise<void> {
    const found = await readWebhookPlace(this.#parts.bucket);
    if (found !== null) this.#place = found;
    const { position } = this.#place;
    // Endpoints may have been made while no process read: what came before each of them is left out by its time.
    if (position.made !== '' && (await changeSince(this.#parts.bus, streamNames.events, position)) !== null) {
      this.#changed();
    }
    this.#running = this.#keep();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the fan-out stops'));
    this.#wake();
    this.#reader?.stop();
    await this.#running;
    // Else the next one puts into WEBHOOKS what is there already, or was delivered from there.
    await this.#parts.queue.settled();
    await this.#save().catch((error: unknown) => ignoring(error, 'the next fan-out reads a little again'));
  }

  /** Publishes an event about an endpoint to the account's other endpoints. `done` when it is durable. */
  publishEndpointEvent(of: WebhookEndpoint, { eventId, content }: EndpointEvent, done: () => void): void {
    const all = this.#parts.directory.account(of.accountId)?.webhooks.of(of.livemode) ?? [];
    const others = all.filter((each) => each.id !== of.id && subscribesTo(each, content.type));
    const { sequence } = this;
    let left = others.length;
    if (left === 0) return done();
    for (const endpoint of others) {
      this.#parts.queue.put(endpoint, { eventId, url: null, sequence, content }, () => {
        left -= 1;
        if (left === 0) done();
      });
    }
  }

  /** Of what is published now and is no delivery event: after the delivery events that were published. */
  get sequence(): number {
    return this.#sequenceOf(this.#place.position.seq, 0);
  }

  async #keep(): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        if (this.#hasEndpoints() && this.#reader === null) this.#open();
        else if (!this.#hasEndpoints()) await this.#rest();
        await this.#save();
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'the place of the webhooks could not be stored, trying again');
      }
      await clock.sleep(lookEveryMs, signal).catch((error: unknown) => ignoring(error, 'the fan-out stops'));
    }
  }

  #hasEndpoints(): boolean {
    return this.#parts.directory.state().webhooks > 0;
  }

  /**
   * No account has an endpoint: remembers the end of the stream as it was a look ago, so that an endpoint that appears
   * now gets the events of messages that were sent right after it was made.
   */
  async #rest(): Promise<void> {
    this.#reader?.stop();
    this.#reader = null;
    this.#taken.length = 0;
    const before = this.#nextRest;
    const { created, state } = await this.#parts.bus.manager.streams.info(streamNames.events);
    this.#nextRest = { made: String(created), seq: state.last_seq, storedAtNs: null };
    this.#place = { ...this.#place, position: before ?? this.#nextRest, idle: true };
  }
  #nextRest: StreamPosition | null = null;

  #open(): void {
    const { bus, clock } = this.#parts;
    const { position } = this.#place;
    this.#place = { ...this.#place, idle: false };
    this.#warmUpTo = position.seq;
    const seq = Math.max(0, position.seq - bounds.warmUpRecords);
    const from = seq === position.seq ? position : { made: position.made, seq, storedAtNs: null };
    const reader = readStream(bus, {
      stream: streamNames.events,
      from,
      take: (record) => this.#take(record),
      onChanged: () => this.#changed(),
      prefetch: bounds.prefetch,
      clock,
    });
    this.#reader = reader;
    reader.done.catch((error: unknown) => {
      if (this.#stopping.signal.aborted || this.#reader !== reader) return ignoring(error, 'the fan-out was stopped');
      log.error({ error: messageOf(error) }, 'the fan-out to webhooks ended, reopening it');
      this.#reader = null;
    });
  }

  /** EVENTS is another stream: read from its beginning, with sequences above all of before. */
  #changed(): void {
    metrics.eventsChanged.inc({ reader: 'webhooks' });
    log.error({ alarm: 'events_changed' }, 'reads EVENTS again for webhooks');
    this.#warmUpTo = 0;
    this.#taken.length = 0;
    const sequenceBase = this.#place.sequenceBase + (this.#place.position.seq + 1) * eventsPerRecord;
    this.#place = { ...this.#place, sequenceBase, position: { made: '', seq: 0, storedAtNs: null } };
  }

  #take(record: JsMsg): Promise<void> | undefined {
    if (record.seq <= this.#warmUpTo) {
      this.#warmUp(record);
      return undefined;
    }
    const taken: Taken = { seq: record.seq, storedAtNs: record.timestampNanos, left: 1 };
    this.#taken.push(taken);
    for (const { event, at } of this.#wantedOf(record)) {
      const sequence = this.#sequenceOf(record.seq, at);
      if (this.#undecided.has(event) || !this.#clientEvents.knows(event)) this.#decideLater(event, taken, sequence);
      else this.#publish(this.#clientEvents.next(event), taken, sequence);
    }
    this.#done(taken);
    return this.#parts.queue.hasRoom && this.#hasRoom ? undefined : this.#room();
  }

  /** While the event store is away, undecided events hold back the place of all that come after them. */
  get #hasRoom(): boolean {
    return this.#undecided.hasRoom && this.#taken.length < bounds.takenMax;
  }

  async #room(): Promise<void> {
    const { signal } = this.#stopping;
    await this.#parts.queue.room(signal);
    while (!this.#hasRoom && !signal.aborted) await new Promise<void>((resolve) => (this.#wake = resolve));
  }
  #wake: () => void = () => {};

  #decideLater(event: DeliveryEvent, taken: Taken, sequence: number): void {
    taken.left += 1;
    this.#undecided.add(event, (shown) => {
      this.#publish(shown, taken, sequence);
      this.#done(taken);
    });
  }

  /** What is not known stays so: it is asked for when an event depends on it. */
  #warmUp(record: JsMsg): void {
    for (const { event } of this.#wantedOf(record)) {
      if (this.#clientEvents.knows(event)) this.#clientEvents.next(event);
    }
  }

  #wantedOf({ data, seq }: JsMsg): ReturnType<typeof eventsOf> {
    try {
      return eventsOf(data, this.#isWanted);
    } catch (error) {
      // The recorder moves it to DEAD, from where it is published again.
      log.warn({ seq, error: messageOf(error) }, 'a record of EVENTS cannot be read and is not sent to webhooks');
      return [];
    }
  }

  readonly #isWanted = (accountId: string, livemode: boolean): boolean =>
    (this.#parts.directory.account(accountId as AccountId)?.webhooks.of(livemode).length ?? 0) > 0;

  #sequenceOf(seq: number, at: number): number {
    return this.#place.sequenceBase + seq * eventsPerRecord + at;
  }

  #publish(event: DeliveryEvent | null, taken: Taken, sequence: number): void {
    if (event === null || webhookTypeOfKind[event.kind] === undefined) return;
    const { eventId } = event;
    for (const endpoint of this.#parts.directory.account(event.accountId as AccountId)?.webhooks.of(event.livemode) ??
      []) {
      if (event.atMs < endpoint.createdAtMs - bounds.clockDifferenceMs) continue;
      const target = targetOf(endpoint, event, event.callback);
      if (target === null) continue;
      const { url } = target;
      taken.left += 1;
      this.#parts.queue.put(endpoint, { eventId, url, sequence, content: { event } }, () => this.#done(taken));
    }
  }

  #done(taken: Taken): void {
    taken.left -= 1;
    let done = 0;
    while (this.#taken[done]?.left === 0) done += 1;
    const last = this.#taken[done - 1];
    if (last !== undefined) {
      // At once: after an outage of the event store there may be thousands.
      this.#taken.splice(0, done);
      const { made } = this.#reader?.position ?? this.#place.position;
      this.#place = { ...this.#place, position: { made, seq: last.seq, storedAtNs: last.storedAtNs } };
    }
    if (this.#hasRoom) this.#wake();
  }

  async #save(): Promise<void> {
    const place = this.#place;
    if (place.position.made === '' || place.position.seq === this.#savedSeq) return;
    await writeWebhookPlace(this.#parts.bucket, place);
    this.#savedSeq = place.position.seq;
  }
}
