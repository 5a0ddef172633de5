// Turns records of EVENTS into batches of new rows: decodes, expands, drops known events, closes a batch when it is
// large or old enough. It holds a bounded number of rows, then the reader must wait. It never writes.
import type { JsMsg } from '@nats-io/jetstream';
import { type EventBatch, encodeUnread, readBatch, unreadOf } from '../../model/records/event-record.ts';
import { type DeliveryEvent, expandEvent } from '../../model/delivery-event.ts';
import { type NumberHashes, hashText } from '../../model/number-hash.ts';
import { type Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { type ErasedNumbers, erasedMessageRow } from '../erasure/erased-numbers.ts';
import { fitsRow } from '../store/event-row.ts';
import { Batch } from './batch.ts';
import type { MessageStates } from './counts/message-states.ts';
import type { PendingRange } from './progress.ts';
import type { SeenIds } from './seen-ids.ts';

/** For a repeated range ClickHouse may keep the rows of the first attempt, with its timestamps. */
const stampedBefore = 0;

export type EventRecord = Pick<JsMsg, 'seq' | 'data' | 'subject' | 'timestampNanos'>;

export type BatcherOptions = {
  readonly streamEpoch: number;
  readonly seen: SeenIds;
  readonly states: MessageStates;
  /** Messages accepted before it are in no count (recorded-before.ts). */
  readonly countedFromMs: number;
  /** The range to build again exactly, before anything else. */
  readonly replay: PendingRange | null;
  /** A batch is ready to be written. */
  readonly closed: () => void;
  /** A new event arrived. */
  readonly arrived: (event: DeliveryEvent) => void;
  /** Moves an unreadable record to DEAD. */
  readonly deadLetter: (record: Omit<EventRecord, 'timestampNanos'>, reason: string) => Promise<void>;
  readonly numbers: NumberHashes;
  /** Their events are left out. */
  readonly erased: ErasedNumbers;
  readonly clock: Clock;
  readonly insertRowsMax?: number;
  readonly heldRowsMax?: number;
};

export class Batcher {
  readonly #options: BatcherOptions;
  readonly #insertRowsMax: number;
  readonly #heldRowsMax: number;
  #replay: PendingRange | null;
  #collecting: Batch | null = null;
  /** Closed batches, oldest first; the first is being written. */
  #ready: Batch[] = [];
  #heldRows = 0;
  #lastSeq = 0;
  #stampMs = 0;
  #roomAgain: (() => void) | null = null;

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#replay = options.replay;
    this.#insertRowsMax = options.insertRowsMax ?? limits.recorder.insertRowsMax;
    this.#heldRowsMax = options.heldRowsMax ?? limits.recorder.heldRowsMax;
  }

  /** The last record taken; 0 before the first. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Everything held, in stream order. */
  *unflushed(): Iterable<Batch> {
    yield* this.#ready;
    if (this.#collecting !== null) yield this.#collecting;
  }

  /** Takes one record; a returned promise must settle before the next call. */
  take(record: EventRecord): Promise<void> | undefined {
    // The repeated range ends here even when its last record is no longer in the stream.
    if (this.#replay !== null && record.seq > this.#replay.last) this.#close();
    let batch: EventBatch;
    try {
      batch = readBatch(record.data);
    } catch (error) {
      return this.#options.deadLetter(record, messageOf(error)).then(() => this.#add(record, null, []));
    }
    const { events, unread } = batch;
    const unfit = events.filter((event) => !fitsRow(event));
    const apart = [...unread, ...unfit.map((event) => unreadOf(event, 'an event that does not fit a row'))];
    if (apart.length === 0) return this.#add(record, record.data, events);
    // Only those: the other events of the record are recorded now.
    metrics.eventsUnread.inc({ reader: 'recorder' }, apart.length);
    const why = `${String(apart.length)} of ${String(events.length + unread.length)} events: ${apart[0]?.why ?? ''}`;
    return this.#options
      .deadLetter({ seq: record.seq, subject: record.subject, data: encodeUnread(apart) }, why)
      .then(() => this.#add(record, record.data, events.filter(fitsRow)));
  }

  /** The earliest `recorded_at` of the held rows; null when none is held. */
  get heldSinceMs(): number | null {
    if (this.#replay !== null) return stampedBefore;
    return (this.#ready[0] ?? this.#collecting)?.opening.stampedFromMs ?? null;
  }

  /** When the oldest held batch was begun, in monotonic ms; null when none is held. */
  get openedAtMs(): number | null {
    return (this.#ready[0] ?? this.#collecting)?.opening.openedAtMs ?? null;
  }

  /** Closes the batch when it is old enough and no other batch waits to be written. */
  tick(): void {
    const batch = this.#collecting;
    if (batch === null || this.#replay !== null || this.#ready.length > 0) return;
    if (this.#options.clock.monotonicMs() - batch.opening.openedAtMs >= limits.recorder.insertEveryMs) this.#close();
  }

  /** Closes the last batch before a stop. An incomplete repeated range is dropped: the next start repeats it. */
  finish(): void {
    if (this.#replay === null) return this.#close();
    this.#heldRows -= this.#collecting?.rows ?? 0;
    this.#collecting = null;
  }

  /** The oldest closed batch. It stays held until `written()`. */
  oldest(): Batch | null {
    return this.#ready[0] ?? null;
  }

  written(): void {
    const batch = this.#ready.shift();
    this.#heldRows -= batch?.rows ?? 0;
    metrics.unflushedEvents.set(this.#heldRows);
    if (this.#heldRows >= this.#heldRowsMax) return;
    this.#roomAgain?.();
    this.#roomAgain = null;
  }

  /** Drops all batches: another node records now. */
  forget(): void {
    this.#ready = [];
    this.#collecting = null;
    this.#heldRows = 0;
    this.#roomAgain?.();
  }

  #add(record: EventRecord, octets: Uint8Array | null, events: readonly DeliveryEvent[]): Promise<void> | undefined {
    const { seq } = record;
    const { seen, states, countedFromMs, arrived, streamEpoch, numbers, erased, clock } = this.#options;
    // Never decreasing, because `coversFromMs` refers to these timestamps.
    this.#stampMs = Math.max(this.#stampMs, clock.nowMs());
    const batch = (this.#collecting ??= this.#open(seq));
    const { suspectBeforeMs } = batch.opening;
    const before = batch.rows;
    batch.reach(record, octets);
    this.#lastSeq = seq;
    const stampMs = this.#stampMs;
    const place = { streamEpoch, streamSeq: seq };
    let batchIndex = -1;
    let known = 0;
    for (const compact of events) {
      for (const event of expandEvent(compact)) {
        batchIndex += 1;
        // A row that was recorded before may have been so without its note.
        if (event.category === 'otp') batch.otpTimes.ofMessage(event.accountId, event.livemode, event.acceptedAtMs);
        if (!seen.add(event.eventId)) {
          known += 1;
          continue;
        }
        const hash = numbers.hashOf(event.recipient);
        if (erased.covers(hash, event)) {
          batch.erased.set(event.messageId, erasedMessageRow(hashText(hash), event));
          continue;
        }
        // Decided by the message's age, not the event's: an event that is published again may have a new time.
        const isSuspect = event.acceptedAtMs < suspectBeforeMs;
        batch.push(event, place, batchIndex, stampMs, hash);
        if (isSuspect) batch.suspect(event);
        else if (event.acceptedAtMs >= countedFromMs) states.apply(event, batch.counts);
        arrived(event);
      }
    }
    if (known > 0) metrics.recorderDuplicates.inc(known);
    this.#heldRows += batch.rows - before;
    if (this.#replay === null ? batch.rows >= this.#insertRowsMax : seq === this.#replay.last) this.#close();
    if (this.#heldRows < this.#heldRowsMax) return undefined;
    return new Promise((resolve) => {
      this.#roomAgain = resolve;
    });
  }

  #open(firstSeq: number): Batch {
    const { seen, states, countedFromMs, clock } = this.#options;
    seen.turnWhenFull(this.#stampMs);
    states.turnWhenFull(this.#stampMs);
    return new Batch({
      firstSeq,
      openedAtMs: clock.monotonicMs(),
      stampedFromMs: this.#replay === null ? this.#stampMs : stampedBefore,
      suspectBeforeMs: Math.max(seen.coversFromMs, states.coversFromMs) + limits.recorder.clockSkewMsMax,
      countedFromMs,
      names: states.names,
    });
  }

  #close(): void {
    this.#replay = null;
    if (this.#collecting === null) return;
    this.#ready.push(this.#collecting);
    this.#collecting = null;
    this.#options.closed();
  }
}
