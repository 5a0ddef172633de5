// Reads the line of one endpoint into memory, in its order and each event once.
import type { Clock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import type { WebhookGroup } from '../../../model/records/webhook-record.ts';
import { type Item, goesWith, newItem } from './item.ts';
import type { EndpointKey } from './parked-counts.ts';
import type { ParkedLog, ParkedRecord } from './parked-log.ts';

/** Two batches for each try of the schedule and more. */
const groupsMax = 4_096;

type Reading = {
  /** Asked before and after each event is fetched. */
  readonly mayRead: () => boolean;
  readonly add: (item: Item) => void;
};

export class LineReader {
  readonly #key: EndpointKey;
  readonly #log: ParkedLog;
  readonly #clock: Clock;
  /** Up to here the line was read. */
  #readSeq = 0;
  /** Events of the line in memory, and those that were removed while something was being fetched. */
  readonly #held = new Set<number>();
  readonly #removed = new Set<number>();
  #isFetching = false;
  /** Batches in which events of the line were sent, as long as this process knows. */
  readonly #groups = new Map<number, WebhookGroup>();
  /** Grows with every `forget`: what is being fetched then is not taken. */
  #round = 0;
  #isReading = false;

  constructor(key: EndpointKey, log: ParkedLog, clock: Clock) {
    this.#key = key;
    this.#log = log;
    this.#clock = clock;
  }

  get isReading(): boolean {
    return this.#isReading;
  }

  /** Reads on as long as it may. */
  read(reading: Reading): void {
    if (this.#isReading || !reading.mayRead()) return;
    this.#isReading = true;
    this.#readAll(reading)
      .catch((error: unknown) => ignoring(error, 'the line of an endpoint is read again in a second'))
      .finally(() => {
        this.#isReading = false;
      });
  }

  async #readAll({ mayRead, add }: Reading): Promise<void> {
    while (mayRead()) {
      const round = this.#round;
      this.#forgetRemoved();
      let next: ParkedRecord | null;
      this.#isFetching = true;
      try {
        next = await this.#next(this.#readSeq);
      } finally {
        this.#isFetching = false;
      }
      // Decided before the removal of any event is forgotten.
      const isStopped = this.#round !== round || !mayRead();
      if (!isStopped && next !== null) {
        this.#readSeq = next.seq;
        if (!this.#held.has(next.seq)) add(this.itemOf(next));
        continue;
      }
      this.#forgetRemoved();
      if (!isStopped && this.#held.size === 0) this.#log.foundEmpty(this.#key);
      return;
    }
  }

  /** The first events of the line after a place, or from its beginning, at most so many. */
  async from(afterSeq: number, max: number): Promise<readonly ParkedRecord[]> {
    const first = (await this.#next(afterSeq)) ?? (await this.#next(0));
    const found: ParkedRecord[] = [];
    for (let next = first; next !== null; next = await this.#next(next.seq)) {
      if (found[0] !== undefined && !goesWith(found[0].record, next.record)) break;
      found.push(next);
      if (found.length >= Math.min(max, next.record.group?.size ?? max)) break;
    }
    if (first === null) this.#log.foundEmpty(this.#key);
    return found;
  }

  /** An event of the line that is in memory from now on. */
  itemOf({ seq, record }: ParkedRecord): Item {
    this.#held.add(seq);
    const settle = () => this.remove(seq);
    return newItem({ record, from: 'line', seq, settle, queuedAtMs: this.#clock.monotonicMs() });
  }

  /** An event that is being sent was put into the line: it is not to be read from there. */
  hold(seq: number): void {
    this.#held.add(seq);
  }

  /** It was delivered. */
  remove(seq: number): void {
    this.#groups.delete(seq);
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

  /** Nothing of the line is in memory any more. */
  forget(): void {
    this.#held.clear();
    this.#readSeq = 0;
    this.#round += 1;
  }

  async #next(afterSeq: number): Promise<ParkedRecord | null> {
    const found = await this.#log.next(this.#key, afterSeq);
    const group = found === null ? undefined : this.#groups.get(found.seq);
    return found === null || group === undefined ? found : { ...found, record: { ...found.record, group } };
  }
}
