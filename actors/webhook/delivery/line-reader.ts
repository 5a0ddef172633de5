// Reads the line of one endpoint into memory, in its order and each event once. Of events that this process parked lately it
// knows the places, and reads several at once; of others it asks for the next one each time.
import type { Clock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import type { WebhookGroup } from '../../../model/records/webhook-record.ts';
import { type Item, type Shipment, batchOf, goesWith, newItem, shipmentOf } from './item.ts';
import type { EndpointKey } from './parked-counts.ts';
import type { ParkedLog, ParkedRecord } from './parked-log.ts';

/** `upTo`: the place after which the next one is read · isEnd: there was nothing more. */
type Fetched = { readonly records: readonly ParkedRecord[]; readonly upTo: number; readonly isEnd: boolean };

/** Two batches for each try of the schedule and more. */
const groupsMax = 4_096;

type Reading = {
  /** How many may be read; asked before and after they are fetched. */
  readonly room: () => number;
  readonly add: (item: Item) => void;
};

const { lineReadsMax, linePlacesMax } = limits.delivery;
const unknown = Number.POSITIVE_INFINITY;

export class LineReader {
  readonly #key: EndpointKey;
  readonly #log: ParkedLog;
  readonly #clock: Clock;
  /** An event of the line up to here is in `#held`, or gone. 0: it is read from its beginning, but for what is in `#held`. */
  #readSeq = 0;
  /** Ascending: every event of the line after `#knownAfter` and `#readSeq`, and perhaps some that are gone or were read. */
  #places: number[] = [];
  /** `unknown`: `#places` is empty, and the log is asked for the next event each time. */
  #knownAfter: number;
  /** The greatest place that was appended: one that is not greater was stored by a repeated publish. */
  #lastAppended = 0;
  /** Events of the line in memory that are not delivered: all of them are in `#held`. */
  readonly #inMemory = new Set<number>();
  /** What must not be read once more: those in memory, those that are being removed, and those in `#removed`. */
  readonly #held = new Set<number>();
  /** Gone from the line, and none in memory: a fetch that began before may still bring them. Empty unless one is on its way. */
  readonly #removed = new Set<number>();
  #isFetching = false;
  /** Batches in which events of the line were sent, as long as this process knows. */
  readonly #groups = new Map<number, WebhookGroup>();
  /** Grows whenever `#readSeq` goes back: what was being fetched by then would move it on, and is not taken. */
  #round = 0;
  #isReading = false;

  constructor(key: EndpointKey, log: ParkedLog, clock: Clock) {
    this.#key = key;
    this.#log = log;
    this.#clock = clock;
    this.#knownAfter = log.countOf(key.endpointId) === 0 ? 0 : unknown;
  }

  get isReading(): boolean {
    return this.#isReading;
  }

  /** Delivered events of it may be in the stream still. */
  get isRemoving(): boolean {
    return this.#held.size > this.#inMemory.size;
  }

  get inMemory(): number {
    return this.#inMemory.size;
  }

  /** Events of the line, and on their way there, that are not in memory. */
  get waiting(): number {
    return Math.max(0, this.#log.countOf(this.#key.endpointId) - this.#inMemory.size);
  }

  /** An event was put at the end of the line. `isRead`: the line is read now; else places are looked for when it is. */
  appended(seq: number, isRead: boolean): void {
    const last = this.#lastAppended;
    this.#lastAppended = Math.max(last, seq);
    if (!isRead) return this.#forgetPlaces();
    if (this.#held.has(seq)) return;
    // Its publish was repeated: it is stored behind others that are known, or were read.
    if (seq <= Math.max(this.#readSeq, last)) {
      this.#readSeq = Math.min(this.#readSeq, seq - 1);
      // What is being fetched would be read past it.
      this.#round += 1;
      return this.#forgetPlaces();
    }
    if (this.#knownAfter === unknown) this.#knownAfter = seq - 1;
    this.#places.push(seq);
    if (this.#places.length <= linePlacesMax) return;
    this.#places = this.#places.slice(linePlacesMax / 2);
    this.#knownAfter = (this.#places[0] ?? seq) - 1;
  }

  /** Reads on as long as there is room. */
  read(reading: Reading): void {
    if (this.#isReading || reading.room() <= 0) return;
    this.#isReading = true;
    this.#readAll(reading)
      .catch((error: unknown) => ignoring(error, 'the line of an endpoint is read again in a second'))
      .finally(() => {
        this.#isReading = false;
      });
  }

  async #readAll({ room, add }: Reading): Promise<void> {
    for (let left = room(); left > 0; left = room()) {
      const round = this.#round;
      this.#forgetRemoved();
      this.#isFetching = true;
      let fetched: Fetched;
      try {
        fetched = await this.#fetch(left);
      } finally {
        this.#isFetching = false;
      }
      if (this.#round !== round || room() <= 0) continue;
      this.#readSeq = fetched.upTo;
      for (const each of fetched.records) if (!this.#held.has(each.seq)) add(this.#itemOf(each));
      // Some may have been stored while it was asked for the next one.
      if (!fetched.isEnd || (this.#places.at(-1) ?? 0) > this.#readSeq) continue;
      this.#log.foundEnd(this.#key, this.#inMemory.size);
      break;
    }
    this.#forgetRemoved();
  }

  async #fetch(room: number): Promise<Fetched> {
    if (this.#readSeq < this.#knownAfter) {
      const last = this.#places.at(-1) ?? 0;
      const next = await this.#next(this.#readSeq);
      // What was stored before it was asked for and is not there is gone.
      return next === null
        ? { records: [], upTo: Math.max(this.#readSeq, last), isEnd: true }
        : { records: [next], upTo: next.seq, isEnd: false };
    }
    const from = this.#places.findIndex((seq) => seq > this.#readSeq);
    this.#places = from === -1 ? [] : this.#places.slice(from);
    const places = this.#places.slice(0, Math.min(room, lineReadsMax));
    const wanted = places.filter((seq) => !this.#held.has(seq));
    const found = await Promise.all(wanted.map((seq) => this.#log.at(this.#key, seq)));
    if (found.includes('other')) {
      // The stream lost its end, and has given its places to others.
      this.#forgetPlaces();
      this.#readSeq = 0;
      return { records: [], upTo: 0, isEnd: false };
    }
    const records: ParkedRecord[] = [];
    for (const [at, each] of found.entries()) {
      if (each !== null && each !== 'other') records.push(this.#withGroup(each));
      else {
        // It is gone, or a new leader of the stream does not have it yet: the next one that is there says.
        this.#forgetPlaces();
        return { records, upTo: (wanted[at] ?? 0) - 1, isEnd: false };
      }
    }
    return { records, upTo: places.at(-1) ?? this.#readSeq, isEnd: places.length === 0 };
  }

  /**
   * What the first request after a place carries, or from the beginning; where order matters, always from there. Null: there
   * is nothing, or it is not wanted any more.
   */
  async shipmentAfter(
    seq: number,
    { ordering, batch }: Pick<WebhookEndpoint, 'ordering' | 'batch'>,
    isWanted: () => boolean,
  ): Promise<Shipment | null> {
    const found = await this.#from(ordering === 'per_message' ? 0 : seq, batch?.max ?? 1);
    if (!isWanted()) return null;
    const items = found.map((each) => this.#itemOf(each));
    const [first] = items;
    if (first === undefined) return null;
    return batch === null ? shipmentOf(first) : batchOf(items);
  }

  async #from(afterSeq: number, max: number): Promise<readonly ParkedRecord[]> {
    const first = (await this.#nextFree(afterSeq)) ?? (await this.#nextFree(0));
    const found: ParkedRecord[] = [];
    for (let next = first; next !== null; next = await this.#nextFree(next.seq)) {
      if (found[0] !== undefined && !goesWith(found[0].record, next.record)) break;
      found.push(next);
      if (found.length >= Math.min(max, next.record.group?.size ?? max)) break;
    }
    if (first === null) this.#log.foundEnd(this.#key, this.#inMemory.size);
    return found;
  }

  /** An event of the line that is in memory from now on. */
  #itemOf({ seq, record }: ParkedRecord): Item {
    this.hold(seq);
    const settle = () => this.remove(seq);
    return newItem({ record, from: 'line', seq, settle, queuedAtMs: this.#clock.monotonicMs() });
  }

  /** An event that is being sent was put into the line: it is not to be read from there. */
  hold(seq: number): void {
    this.#held.add(seq);
    this.#inMemory.add(seq);
  }

  /** It was delivered. */
  remove(seq: number): void {
    this.#groups.delete(seq);
    this.#inMemory.delete(seq);
    // Until it is gone there, it could be read once more, also by a fetch that began before and is answered later.
    void this.#log.remove(this.#key, seq).finally(() => {
      this.#removed.add(seq);
      this.#forgetRemoved();
    });
  }

  #forgetRemoved(): void {
    if (this.#isFetching) return;
    for (const seq of this.#removed) this.#held.delete(seq);
    this.#removed.clear();
  }

  /** It was sent in a batch, and is sent again with the same events. */
  keepGroup(seq: number, group: WebhookGroup | null): void {
    if (group !== null && this.#groups.size < groupsMax) this.#groups.set(seq, group);
  }

  /** It has more than was known: it is read from its beginning, but for what is in memory. */
  readAgain(): void {
    this.#readSeq = 0;
    this.#round += 1;
    this.#forgetPlaces();
  }

  /** Nothing of the line is in memory any more. */
  forget(): void {
    // Others are being removed, and are in the stream until that is done.
    for (const seq of this.#inMemory) this.#held.delete(seq);
    this.#inMemory.clear();
    this.#readSeq = 0;
    this.#round += 1;
    this.#forgetPlaces();
  }

  #forgetPlaces(): void {
    this.#places = [];
    this.#knownAfter = unknown;
  }

  /** That is not in memory, and not being removed. */
  async #nextFree(afterSeq: number): Promise<ParkedRecord | null> {
    let next = await this.#next(afterSeq);
    while (next !== null && this.#held.has(next.seq)) next = await this.#next(next.seq);
    return next;
  }

  async #next(afterSeq: number): Promise<ParkedRecord | null> {
    const found = await this.#log.next(this.#key, afterSeq);
    return found === null ? null : this.#withGroup(found);
  }

  #withGroup(found: ParkedRecord): ParkedRecord {
    const group = this.#groups.get(found.seq);
    return group === undefined ? found : { ...found, record: { ...found.record, group } };
  }
}
