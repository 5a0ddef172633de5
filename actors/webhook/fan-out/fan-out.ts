// Reads EVENTS and hands each event to the endpoints that get it (delivery.ts). It keeps no copy: an event is in EVENTS
// until its endpoint has taken it, or has it in its line (decision 254). So the place from where EVENTS is read after a crash has
// the first event that each endpoint has not taken; what was taken since the place was stored is sent again with the
// same webhook-id. While no account has an endpoint it reads nothing.
import type { JsMsg } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type StreamReader, readStream } from '../../../cluster/bus/read-stream.ts';
import { type StreamPosition, changeSince } from '../../../cluster/bus/stream-position.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import {
  type WebhookPlace,
  neededAfter,
  readWebhookPlace,
  webhookSequence,
  writeWebhookPlace,
} from '../../../cluster/bus/webhook-place.ts';
import type { Directory } from '../../../directory/contract.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { AccountId, WebhookEndpointId } from '../../../model/ids.ts';
import { eventsOf } from '../../../model/records/event-record.ts';
import { type WebhookEndpoint, subscribesTo, webhookTypeOfKind } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { EndpointEvent } from '../endpoint-events.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { ClientEvents } from './client-events.ts';
import { targetOf } from './event-target.ts';
import { Outstanding } from './outstanding.ts';
import { UndecidedEvents } from './undecided-events.ts';

type FanOutParts = {
  readonly bus: Bus;
  readonly bucket: KV;
  readonly directory: Directory;
  readonly delivery: Pick<Delivery, 'put' | 'hasRoom' | 'room'>;
  readonly clock: Clock;
};

/** A record of EVENTS of which some events are not decided yet. */
type Taken = { readonly seq: number; readonly storedAtNs: bigint; left: number };

/** Of an event: its record in EVENTS, and its place among all events. */
type EventPlace = { readonly seq: number; readonly sequence: number };

const bounds = limits.delivery;
const lookEveryMs = 1_000;
const beginning: StreamPosition = { made: '', seq: 0, storedAtNs: null };

export class FanOut {
  readonly #parts: FanOutParts;
  readonly #clientEvents: ClientEvents;
  readonly #undecided: UndecidedEvents;
  /** In stream order; the first is the oldest. */
  readonly #taken: Taken[] = [];
  #place: Omit<WebhookPlace, 'pending'> = { position: beginning, sequenceBase: 0, idle: true };
  readonly #outstanding = new Outstanding();
  /** What was handed to whom before EVENTS was opened. */
  #before: Pick<WebhookPlace, 'position' | 'pending'> = { position: beginning, pending: new Map() };
  /** Everything up to here is decided and handed over. */
  #doneTo = 0;
  #saved = '';
  #reader: StreamReader | null = null;
  /** Up to here events were published before this process: read again for what they say of messages on their way. */
  #warmUpTo = 0;
  /** The end of EVENTS at the last look; null: there was none, or EVENTS is read. */
  #nextRest: StreamPosition | null = null;
  /** Lets the reader go on when there is room. */
  #wake: () => void = () => {};
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  readonly #isWanted = (accountId: string, livemode: boolean): boolean =>
    (this.#parts.directory.account(accountId as AccountId)?.webhooks.of(livemode).length ?? 0) > 0;

  constructor(parts: FanOutParts) {
    this.#parts = parts;
    const { bus, clock } = parts;
    this.#clientEvents = new ClientEvents(clock);
    this.#undecided = new UndecidedEvents({ bus, clientEvents: this.#clientEvents, clock });
  }

  /** Resolves when it knows where to go on. */
  async start(): Promise<void> {
    const found = await readWebhookPlace(this.#parts.bucket);
    if (found !== null) [this.#place, this.#before] = [found, found];
    const { position } = this.#place;
    // Endpoints may have been made while no process read: what came before each of them is left out by its time.
    if (position.made !== '' && (await changeSince(this.#parts.bus, streamNames.events, position)) !== null) {
      this.#changed();
    }
    this.#running = this.#keep();
  }

  /** Hands over no further event, but what the event store decides so soon. */
  async stop(answersWithinMs: number): Promise<void> {
    this.#stopping.abort(new Error('the fan-out stops'));
    this.#wake();
    this.#reader?.stop();
    await this.#running;
    await this.#undecided.stop(answersWithinMs);
  }

  /** After `stop`, when what was handed over is taken or stored: else the next one hands it over again. */
  async saveLast(): Promise<void> {
    await this.#save().catch((error: unknown) => ignoring(error, 'the next fan-out reads a little again'));
  }

  /** Hands an event about an endpoint to the account's other endpoints. `done` when they have it. */
  publishEndpointEvent(of: WebhookEndpoint, { eventId, content }: EndpointEvent, done: () => void): void {
    const all = this.#parts.directory.account(of.accountId)?.webhooks.of(of.livemode) ?? [];
    const others = all.filter((each) => each.id !== of.id && subscribesTo(each, content.type));
    const { sequence } = this;
    let left = others.length;
    if (left === 0) return done();
    for (const endpoint of others) {
      this.#parts.delivery.put(endpoint, { eventId, url: null, sequence, content }, () => {
        left -= 1;
        if (left === 0) done();
      });
    }
  }

  /** Of what is sent from now on and is no delivery event: after the delivery events that were handed over. */
  get sequence(): number {
    return webhookSequence(this.#place, this.#place.position.seq, 0);
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
      await clock
        .sleep(this.#reader === null ? lookEveryMs : bounds.placeEveryMs, signal)
        .catch((error: unknown) => ignoring(error, 'the fan-out stops'));
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
    this.#outstanding.clear();
    this.#before = { position: this.#place.position, pending: new Map() };
  }

  #open(): void {
    const { bus, clock } = this.#parts;
    const { position } = this.#place;
    this.#place = { ...this.#place, idle: false };
    this.#nextRest = null;
    this.#warmUpTo = this.#doneTo = neededAfter({ ...this.#place, ...this.#before });
    const seq = Math.max(0, this.#warmUpTo - bounds.warmUpRecords);
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
      // What it handed over is in memory still.
      if (!this.#isAgain) this.#before = { position: this.#place.position, pending: new Map() };
      this.#taken.length = 0;
      this.#reader = null;
    });
  }

  /** EVENTS is another stream: read from its beginning, with sequences above all of before. */
  #changed(): void {
    metrics.eventsChanged.inc({ reader: 'webhooks' });
    log.error({ alarm: 'events_changed' }, 'reads EVENTS again for webhooks');
    this.#warmUpTo = 0;
    this.#taken.length = 0;
    // Those of the other stream are in memory, and nowhere else.
    this.#outstanding.clear();
    const sequenceBase = webhookSequence(this.#place, this.#place.position.seq + 1, 0);
    this.#place = { ...this.#place, sequenceBase, position: beginning };
    this.#before = { position: beginning, pending: new Map() };
    this.#doneTo = 0;
  }

  #take(record: JsMsg): Promise<void> | undefined {
    if (record.seq <= this.#warmUpTo) {
      this.#warmUp(record);
      return undefined;
    }
    const taken: Taken = { seq: record.seq, storedAtNs: record.timestampNanos, left: 1 };
    this.#taken.push(taken);
    for (const { event, at } of this.#wantedOf(record)) {
      const place = { seq: record.seq, sequence: webhookSequence(this.#place, record.seq, at) };
      if (this.#undecided.has(event) || !this.#clientEvents.knows(event)) this.#decideLater(event, taken, place);
      else this.#handOver(this.#clientEvents.next(event), place);
    }
    this.#done(taken);
    return this.#parts.delivery.hasRoom && this.#hasRoom ? undefined : this.#room();
  }

  /** While the event store is away, undecided events hold back the place of all that come after them. */
  get #hasRoom(): boolean {
    return this.#undecided.hasRoom && this.#taken.length < bounds.takenMax;
  }

  async #room(): Promise<void> {
    const { signal } = this.#stopping;
    await this.#parts.delivery.room(signal);
    while (!this.#hasRoom && !signal.aborted) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  #decideLater(event: DeliveryEvent, taken: Taken, place: EventPlace): void {
    taken.left += 1;
    this.#undecided.add(event, (shown) => {
      this.#handOver(shown, place);
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

  #handOver(event: DeliveryEvent | null, { seq, sequence }: EventPlace): void {
    if (event === null || webhookTypeOfKind[event.kind] === undefined) return;
    const { eventId } = event;
    for (const endpoint of this.#parts.directory.account(event.accountId as AccountId)?.webhooks.of(event.livemode) ??
      []) {
      if (event.atMs < endpoint.createdAtMs - bounds.clockDifferenceMs) continue;
      const target = targetOf(endpoint, event, event.callback);
      if (target === null || this.#hadBefore(endpoint.id, seq, sequence)) continue;
      const { url } = target;
      this.#outstanding.add(endpoint.id, sequence);
      const done = () => this.#outstanding.remove(endpoint.id, sequence);
      this.#parts.delivery.put(endpoint, { eventId, url, sequence, content: { event } }, done);
    }
  }

  /** The endpoint took it from the process before this one, or it is in its line. */
  #hadBefore(endpointId: WebhookEndpointId, seq: number, sequence: number): boolean {
    const { position, pending } = this.#before;
    return seq <= position.seq && sequence < (pending.get(endpointId) ?? Number.POSITIVE_INFINITY);
  }

  #done(taken: Taken): void {
    taken.left -= 1;
    let done = 0;
    while (this.#taken[done]?.left === 0) done += 1;
    const last = this.#taken[done - 1];
    if (last !== undefined) {
      // At once: after an outage of the event store there may be thousands.
      this.#taken.splice(0, done);
      this.#doneTo = last.seq;
      const { made } = this.#reader?.position ?? this.#place.position;
      if (!this.#isAgain)
        this.#place = { ...this.#place, position: { made, seq: last.seq, storedAtNs: last.storedAtNs } };
    }
    if (this.#hasRoom) this.#wake();
  }

  /** It reads what was read before, for endpoints that had not taken all of it. */
  get #isAgain(): boolean {
    return this.#doneTo < this.#before.position.seq;
  }

  /** What endpoints have not taken of what was handed to them, now or before and not again yet. */
  #pending(): WebhookPlace['pending'] {
    const pending = new Map(this.#outstanding.first());
    if (!this.#isAgain) return pending;
    const next = webhookSequence(this.#place, this.#doneTo + 1, 0);
    for (const [endpointId, first] of this.#before.pending)
      pending.set(endpointId, Math.min(pending.get(endpointId) ?? next, Math.max(first, next)));
    return pending;
  }

  async #save(): Promise<void> {
    const place = { ...this.#place, pending: this.#pending() };
    const { position, pending, idle } = place;
    if (position.made === '') return;
    const saved = `${position.made} ${position.seq} ${idle} ${[...pending].join()}`;
    if (saved === this.#saved) return;
    await writeWebhookPlace(this.#parts.bucket, place);
    this.#saved = saved;
  }
}
