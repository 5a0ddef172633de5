// A batch of the recorder: the rows of a closed range of records as columns, and the records themselves for queries
// before they are in ClickHouse. It keeps no object per event: at full load the garbage collector would spend a third
// of the role's CPU on them (measured).
import type { JsMsg } from '@nats-io/jetstream';
import { readBatch } from '../../model/records/event-record.ts';
import { type DeliveryEvent, expandEvent } from '../../model/delivery-event.ts';
import { EventColumns, type StreamPlace } from '../store/event-columns.ts';
import type { NumberHash } from '../../model/number-hash.ts';
import { fitsRow } from '../store/event-row.ts';
import type { NativeBlock } from '../store/native-block.ts';
import { ChangedTimes } from '../otp/late-changes.ts';
import { CountChanges } from './counts/count-changes.ts';
import { type CountedEvent, type CountedState, applyEvent, emptyCounted, isOfMessage } from './counts/counted-state.ts';
import type { Names } from '../store/names.ts';
import type { Recorded } from './recorded-before.ts';

/**
 * An event of a message older than the memories of ids and states: its row counts only if ClickHouse does not have it, and
 * what it changes follows from what ClickHouse has.
 */
type Suspect = { readonly row: number; readonly event: DeliveryEvent };

type BatchOpening = {
  readonly firstSeq: number;
  /** Monotonic. */
  readonly openedAtMs: number;
  /** The earliest `recorded_at` of its rows. Wall time, as the next two. */
  readonly stampedFromMs: number;
  /** The messages accepted before it are looked up. The same for the whole batch, so that no message is split. */
  readonly suspectBeforeMs: number;
  /** Messages accepted before it are in no count. */
  readonly countedFromMs: number;
  /** The names that the counted states refer to. */
  readonly names: Names;
};

export class Batch {
  readonly opening: BatchOpening;
  readonly suspects: Suspect[] = [];
  /** What its events change in the counts; without those of the suspects until `resolve`. */
  readonly counts: CountChanges;
  /** What its events of one-time passwords are about, recorded before or not. */
  readonly otpTimes = new ChangedTimes();
  /** Of erased numbers, whose events are left out: a row of `erased_messages` by message id. */
  readonly erased = new Map<string, string>();
  lastSeq: number;
  /** When the server stored the last record. */
  lastAtNs: bigint | null = null;
  readonly #columns = new EventColumns();
  readonly #records: Uint8Array[] = [];
  #byMessage: Map<string, DeliveryEvent[]> | null = null;
  #indexed = 0;

  constructor(opening: BatchOpening) {
    this.opening = opening;
    this.lastSeq = opening.firstSeq;
    this.counts = new CountChanges(opening.names);
  }

  get firstSeq(): number {
    return this.opening.firstSeq;
  }

  get rows(): number {
    return this.#columns.rows;
  }

  /** The record is part of the range, even when none of its events is new. Null: it cannot be read. */
  reach({ seq, timestampNanos }: Pick<JsMsg, 'seq' | 'timestampNanos'>, record: Uint8Array | null): void {
    this.lastSeq = seq;
    this.lastAtNs = timestampNanos;
    if (record !== null) this.#records.push(record);
  }

  /** One new event. `batchIndex`: its index among the events of its record. */
  push(event: DeliveryEvent, place: StreamPlace, batchIndex: number, recordedAtMs: number, hash: NumberHash): void {
    this.#columns.add(event, place, batchIndex, recordedAtMs, hash);
  }

  /** The event pushed last is a suspect. */
  suspect(event: DeliveryEvent): void {
    this.suspects.push({ row: this.rows - 1, event });
  }

  /**
   * Decides about the suspects, once: the rows to drop because their ids are `recorded`; what the others change is added
   * to the counts.
   */
  resolve(recorded: Recorded): ReadonlySet<number> {
    const dropped = new Set<number>();
    const states = new Map<string, CountedState>();
    for (const { row, event } of this.suspects) {
      const before = recorded.get(event.messageId) ?? [];
      if (before.some(({ eventId }) => eventId === event.eventId)) dropped.add(row);
      else if (event.acceptedAtMs >= this.opening.countedFromMs) this.#count(event, before, states);
    }
    return dropped;
  }

  #count(event: DeliveryEvent, recorded: readonly CountedEvent[], states: Map<string, CountedState>): void {
    if (!isOfMessage(event)) return this.counts.addOther(event);
    const { names } = this.counts;
    let state = states.get(event.messageId) ?? null;
    if (state === null && recorded.length > 0) {
      state = emptyCounted();
      for (const each of recorded) applyEvent(state, each, names);
    }
    const after = state === null ? emptyCounted() : { ...state };
    applyEvent(after, event, names);
    this.counts.add(event, state, after);
    states.set(event.messageId, after);
  }

  /** The rows to insert, without the `dropped` ones. Null when nothing is left. */
  block(dropped: ReadonlySet<number>): NativeBlock | null {
    return this.#columns.block(dropped);
  }

  /** The events of one message, in stream order, repeats included. Records are decoded again only for a query. */
  eventsOf(messageId: string): readonly DeliveryEvent[] {
    return this.#index().get(messageId) ?? [];
  }

  /** One event of each message. */
  *messages(): Iterable<DeliveryEvent> {
    for (const [first] of this.#index().values()) if (first !== undefined) yield first;
  }

  #index(): ReadonlyMap<string, readonly DeliveryEvent[]> {
    const byMessage = (this.#byMessage ??= new Map());
    for (; this.#indexed < this.#records.length; this.#indexed += 1) {
      const { events } = readBatch(this.#records[this.#indexed] as Uint8Array);
      for (const event of events.filter(fitsRow).flatMap(expandEvent)) {
        const held = byMessage.get(event.messageId);
        if (held === undefined) byMessage.set(event.messageId, [event]);
        else held.push(event);
      }
    }
    return byMessage;
  }
}

/** The events of all batches that are held. In the stream they come after all recorded ones; the fold drops repeats. */
export type Unflushed = {
  /** In stream order; empty when none is held. */
  eventsOf(messageId: string): readonly DeliveryEvent[];
  /** One event of each message held. */
  messages(): Iterable<DeliveryEvent>;
};

/** `batches` is called for each query, because batches change. */
export function unflushedOver(batches: () => Iterable<Batch>): Unflushed {
  return {
    eventsOf(messageId) {
      const events: DeliveryEvent[] = [];
      for (const batch of batches()) events.push(...batch.eventsOf(messageId));
      return events;
    },
    *messages() {
      for (const batch of batches()) yield* batch.messages();
    },
  };
}
