// What the recorder has taken from the stream and not yet written: the rows of a closed range of records, and the
// same events for whoever asks about them before they are in ClickHouse. It is filled once and then only read.
import type { DeliveryEvent } from '../../model/delivery-event.ts';

export class Batch {
  readonly firstSeq: number;
  readonly openedAtMs: number;
  readonly events: DeliveryEvent[] = [];
  readonly rows: string[] = [];
  /** Events of messages older than the memory of ids reaches back: places in `events`, to be looked up. */
  readonly suspects: number[] = [];
  #lastSeq: number;
  #byMessage: Map<string, number[]> | null = null;
  #indexed = 0;

  /** `openedAtMs`: monotonic. */
  constructor(firstSeq: number, openedAtMs: number) {
    this.firstSeq = firstSeq;
    this.#lastSeq = firstSeq;
    this.openedAtMs = openedAtMs;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** The record `seq` is part of the range, even when none of its events was new. */
  reach(seq: number): void {
    this.#lastSeq = seq;
  }

  push(event: DeliveryEvent, row: string, suspect: boolean): void {
    if (suspect) this.suspects.push(this.events.length);
    this.events.push(event);
    this.rows.push(row);
  }

  /** The batch as the insert's payload, without the rows at `dropped`. Null when nothing is left. */
  payload(dropped: ReadonlySet<number>): { readonly octets: Buffer; readonly rows: number } | null {
    const rows = dropped.size === 0 ? this.rows : this.rows.filter((_, at) => !dropped.has(at));
    return rows.length === 0 ? null : { octets: Buffer.from(rows.join('')), rows: rows.length };
  }

  /** The events of one message, in stream order. The index is only built when somebody asks. */
  eventsOf(messageId: string): DeliveryEvent[] {
    return (this.#index().get(messageId) ?? []).map((at) => this.events[at] as DeliveryEvent);
  }

  messageIds(): Iterable<string> {
    return this.#index().keys();
  }

  firstOf(messageId: string): DeliveryEvent | undefined {
    return this.events[this.#index().get(messageId)?.[0] ?? -1];
  }

  #index(): Map<string, number[]> {
    this.#byMessage ??= new Map();
    for (; this.#indexed < this.events.length; this.#indexed += 1) {
      const { messageId } = this.events[this.#indexed] as DeliveryEvent;
      const held = this.#byMessage.get(messageId);
      if (held === undefined) this.#byMessage.set(messageId, [this.#indexed]);
      else held.push(this.#indexed);
    }
    return this.#byMessage;
  }
}
