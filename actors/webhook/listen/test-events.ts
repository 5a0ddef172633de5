// Events of test messages for developers at their own machine, which no webhook reaches (`heliograph listen`): each
// request names the last event it got and waits for the next one. EVENTS and FACTS are read only while a client
// listens. Nothing is stored: a listener that was away for long begins at the present. Facts take their places behind
// the record of EVENTS that was the last one when they came; those that came while no client listened are not sent.
import type { JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type StreamReader, readStream } from '../../../cluster/bus/read-stream.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import type { AccountId, EventId } from '../../../model/ids.ts';
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import { eventsOf } from '../../../model/records/event-record.ts';
import { decodeFacts } from '../../../model/records/fact-record.ts';
import type { WebhookContent } from '../../../model/records/webhook-record.ts';
import { type Cancel, type Clock, systemClock } from '../../../platform/clock.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { eventBody } from '../event-body.ts';
import { contentOfFact } from '../fact-content.ts';
import { ClientEvents } from '../fan-out/client-events.ts';

/** `body`: the JSON that a webhook request would have. */
export type TestEvent = { readonly id: EventId; readonly body: string };

export type TestEventPage = {
  readonly events: readonly TestEvent[];
  /** Where the next request goes on. */
  readonly cursor: string;
  /** Events between the cursor of the request and these are not known here any more. */
  readonly missed: boolean;
};

/** A place between two events: the record of EVENTS, and the event in it. */
type Place = { readonly seq: number; readonly at: number };
type Entry = Place & { readonly id: EventId; readonly content: WebhookContent };

type Feed = {
  /** What comes after it is in `entries`. */
  from: Place;
  readonly entries: Entry[];
  readonly waiting: Set<() => void>;
  askedAtMs: number;
};

const bounds = limits.webhooks.listen;
/** Behind every event of its record. */
const endOfRecord = 1_023;
/** More than come between two records of EVENTS while a process reads. */
const factsBefore = 1_000_000;

export class TestEvents {
  readonly #bus: Bus;
  readonly #cipher: BodyCipher;
  readonly #clock: Clock;
  readonly #feeds = new Map<AccountId, Feed>();
  #reader: StreamReader | null = null;
  #facts: StreamReader | null = null;
  /** Of the last fact. */
  #factPlace: Place | null = null;
  /** When EVENTS was created: another value is another stream. */
  #madeMs = 0;
  #opening: Promise<void> | null = null;
  #clientEvents: ClientEvents;
  #stopSweep: Cancel = () => {};
  #stopped = false;

  constructor(bus: Bus, cipher: BodyCipher, clock: Clock = systemClock) {
    this.#bus = bus;
    this.#cipher = cipher;
    this.#clock = clock;
    this.#clientEvents = new ClientEvents(clock);
  }

  /**
   * The events of the account behind `cursor`; without one, none: it begins now. Waits at most `waitMs` for the first.
   * Null while so many accounts listen that there is no room for one more.
   */
  async poll(accountId: AccountId, cursor: string | null, waitMs: number): Promise<TestEventPage | null> {
    const after = cursor === null ? null : placeOf(cursor);
    if (!this.#feeds.has(accountId) && this.#feeds.size >= bounds.accountsMax) return null;
    await (this.#opening ??= this.#open(accountId, after));
    const feed = this.#feedOf(accountId);
    feed.askedAtMs = this.#clock.monotonicMs();
    // A place in a stream that was lost says nothing about this one.
    if (after === null || after.madeMs !== this.#madeMs)
      return { events: [], cursor: this.#cursorOf(this.#end), missed: after !== null };
    const missed = isBehind(feed.from, after);
    let found = feed.entries.filter((entry) => isBehind(entry, after));
    if (found.length === 0 && waitMs > 0 && !missed) {
      await this.#next(feed, waitMs);
      found = feed.entries.filter((entry) => isBehind(entry, after));
    }
    feed.askedAtMs = this.#clock.monotonicMs();
    const page = found.slice(0, bounds.pageMax);
    const last = page.length < found.length ? (page.at(-1) ?? after) : this.#end;
    return {
      events: page.map(({ id, content }) => ({ id, body: eventBody({ content }, this.#cipher) })),
      // Never back: the reader may still be on its way to the cursor.
      cursor: this.#cursorOf(isBehind(last, after) ? last : after),
      missed,
    };
  }

  /** Ends the reading, and the wait of every request. */
  stop(): void {
    this.#stopped = true;
    this.#close();
  }

  get #end(): Place {
    const end = { seq: this.#reader?.position.seq ?? 0, at: endOfRecord };
    return this.#factPlace !== null && isBehind(this.#factPlace, end) ? this.#factPlace : end;
  }

  #cursorOf({ seq, at }: Place): string {
    return `${seq}-${at}-${this.#madeMs}`;
  }

  /** What came since the reading began was not kept for an account that begins to listen later. */
  #feedOf(accountId: AccountId, from = this.#end): Feed {
    let feed = this.#feeds.get(accountId);
    if (feed === undefined) {
      feed = { from, entries: [], waiting: new Set(), askedAtMs: this.#clock.monotonicMs() };
      this.#feeds.set(accountId, feed);
    }
    return feed;
  }

  /** Goes on at the cursor of a listener who was here before this process, unless that is too far back. */
  async #open(accountId: AccountId, after: Cursor | null): Promise<void> {
    try {
      const { created, state } = await this.#bus.manager.streams.info(streamNames.events);
      this.#madeMs = Date.parse(String(created));
      const isHere = after !== null && after.madeMs === this.#madeMs && after.seq <= state.last_seq;
      const isNear = isHere && after.seq >= state.last_seq - bounds.backMax;
      // The record of the cursor is read again: only its last events may be wanted.
      const seq = isNear ? Math.max(0, after.seq - 1) : state.last_seq;
      this.#feedOf(accountId, { seq, at: endOfRecord });
      // Behind the cursors of all who listened to the process before.
      if (isNear) this.#factPlace = { seq: after.seq, at: after.at + factsBefore };
      this.#clientEvents = new ClientEvents(this.#clock);
      const reader = readStream(this.#bus, {
        stream: streamNames.events,
        from: { made: String(created), seq, storedAtNs: null },
        take: (record) => this.#take(record),
        onChanged: () => this.#close(),
        prefetch: bounds.prefetch,
        clock: this.#clock,
      });
      this.#reader = reader;
      reader.done.catch((error: unknown) => {
        if (this.#reader !== reader) return ignoring(error, 'nobody listens any more');
        log.warn({ error: messageOf(error) }, 'events of test messages cannot be read: listeners begin at the present');
        this.#close();
      });
      this.#facts = await this.#readFacts();
      this.#stopSweep = this.#clock.every(bounds.sweepEveryMs, () => this.#sweep());
      if (isNear) await reader.caughtUp;
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  async #readFacts(): Promise<StreamReader> {
    const { created, state } = await this.#bus.manager.streams.info(streamNames.facts);
    const reader = readStream(this.#bus, {
      stream: streamNames.facts,
      from: { made: String(created), seq: state.last_seq, storedAtNs: null },
      take: (record) => this.#takeFact(record),
      onChanged: () => {},
      prefetch: bounds.prefetch,
      clock: this.#clock,
    });
    reader.done.catch((error: unknown) => ignoring(error, 'nobody listens any more'));
    return reader;
  }

  #takeFact({ data, seq }: JsMsg): undefined {
    try {
      for (const fact of decodeFacts(data)) {
        const content = fact.livemode ? null : contentOfFact(fact);
        // Its place is taken by every one, so that what is behind a cursor does not depend on who listens.
        const { seq: after, at } = this.#end;
        this.#factPlace = { seq: after, at: at + 1 };
        if (content !== null) this.#put(fact.accountId as AccountId, { ...this.#factPlace, id: fact.eventId, content });
      }
    } catch (error) {
      log.warn({ seq, error: messageOf(error) }, 'a record of FACTS cannot be read and is not sent');
    }
    return undefined;
  }

  #put(accountId: AccountId, entry: Entry): void {
    const feed = this.#feeds.get(accountId);
    if (feed === undefined) return;
    feed.entries.push(entry);
    if (feed.entries.length > bounds.eventsMax) feed.from = feed.entries.shift() ?? feed.from;
    for (const wake of feed.waiting) wake();
  }

  #take({ data, seq }: JsMsg): undefined {
    for (const { event, at } of eventsOf(data, isTest)) {
      // Every account's, so that one which begins to listen knows which segments a message already had.
      if (!this.#clientEvents.knows(event)) this.#clientEvents.takeForLast(event);
      const shown = this.#clientEvents.next(event);
      if (shown === null) continue;
      this.#put(event.accountId as AccountId, { seq, at, id: shown.eventId, content: { event: shown } });
    }
    return undefined;
  }

  /** Resolves at the account's next event, or after `waitMs`. */
  async #next(feed: Feed, waitMs: number): Promise<void> {
    if (this.#stopped) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        cancel();
        feed.waiting.delete(wake);
        resolve();
      };
      const cancel = this.#clock.after(waitMs, wake);
      feed.waiting.add(wake);
    });
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [accountId, { waiting, askedAtMs }] of this.#feeds)
      if (waiting.size === 0 && nowMs - askedAtMs > bounds.idleMs) this.#feeds.delete(accountId);
    if (this.#feeds.size === 0) this.#close();
  }

  #close(): void {
    const reader = this.#reader;
    this.#facts?.stop();
    this.#reader = this.#facts = this.#opening = this.#factPlace = null;
    for (const { waiting } of this.#feeds.values()) for (const wake of waiting) wake();
    this.#feeds.clear();
    this.#stopSweep();
    reader?.stop();
  }
}

const isTest = (_accountId: string, livemode: boolean) => !livemode;

/** Whether `one` comes after `other`. */
const isBehind = (one: Place, other: Place) => one.seq > other.seq || (one.seq === other.seq && one.at > other.at);

type Cursor = Place & { readonly madeMs: number };

export const testEventCursor = /^\d{1,15}-\d{1,9}-\d{1,15}$/;
function placeOf(cursor: string): Cursor {
  const [seq = 0, at = 0, madeMs = 0] = cursor.split('-').map(Number);
  return { seq, at, madeMs };
}
