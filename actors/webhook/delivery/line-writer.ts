// Writes events of one endpoint that are in memory alone into its line, before what comes later: nothing in memory alone may be
// older than the line, or after a crash it would be handed over behind it (decision 254).
import type { EndpointQueue } from './endpoint-queue.ts';
import { type Item, bySequence, triesOf } from './item.ts';
import type { LineReader } from './line-reader.ts';
import type { EndpointKey } from './parked-counts.ts';
import type { ParkedLog } from './parked-log.ts';
import type { ShipmentsOut } from './shipments-out.ts';

type Parts = {
  readonly key: EndpointKey;
  readonly log: ParkedLog;
  readonly line: LineReader;
  readonly queue: EndpointQueue;
  readonly out: ShipmentsOut;
  /** An event that was to be stored, and for which there is no room. */
  readonly putBack: (item: Item) => void;
  /** An event that is being sent is in the line. */
  readonly moved: () => void;
};

export class LineWriter {
  readonly #parts: Parts;
  #moving = 0;
  #alone = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Events that are being sent and on their way to the line. */
  get moving(): number {
    return this.#moving;
  }

  /** One more event is in memory alone. Returns what is to be called when it is not any more. */
  count(): () => void {
    this.#alone += 1;
    return () => {
      this.#alone -= 1;
    };
  }

  /** Since when the oldest event is in memory alone, monotonic; infinity when there is none. */
  get oldestMs(): number {
    const first = this.#parts.queue.firstQueued;
    const all = first === undefined ? this.#sent : [first, ...this.#sent];
    return all.reduce((least, { queuedAtMs }) => Math.min(least, queuedAtMs), Number.POSITIVE_INFINITY);
  }

  /**
   * All of them; also what is being sent, which is deleted there when its request succeeds. `isNeeded`: something later is to be
   * stored now, for which another endpoint of a full account may lose events; else they stay in memory then. False: they stay there.
   */
  moveAll(isNeeded: boolean): boolean {
    const { key, log, queue, putBack } = this.#parts;
    const count = this.#alone - this.#moving;
    if (count === 0) return true;
    if (!(isNeeded ? log.takes(key, count) : log.hasRoomOf(key.accountId))) return false;
    const sent = new Set(this.#sent);
    for (const item of [...sent, ...queue.takeQueued()].toSorted(bySequence)) {
      if (sent.has(item)) this.#move(item);
      else this.store(item, () => putBack(item));
    }
    return true;
  }

  /** One that is not being sent. */
  store(item: Item, full: () => void): void {
    const { key, log } = this.#parts;
    const record = { ...item.record, tries: triesOf(item) };
    log.append(key, record, (seq) => (seq === null ? full() : item.settle()));
  }

  /** What is being sent, or is to be. */
  get #sent(): readonly Item[] {
    const { out, queue } = this.#parts;
    return [...out.items, ...queue.madeUp].filter(({ from, isMoving }) => from === 'queue' && !isMoving);
  }

  #move(item: Item): void {
    const { key, log, line, moved } = this.#parts;
    const settle = item.settle;
    let isDelivered = false;
    this.#moving += 1;
    item.isMoving = true;
    item.settle = () => {
      isDelivered = true;
    };
    log.append(key, { ...item.record, tries: triesOf(item) }, (seq) => {
      this.#moving -= 1;
      item.isMoving = false;
      if (seq === null) {
        item.settle = settle;
        if (isDelivered) settle();
        // Its request was ended meanwhile: nothing else has it.
        else if (item.isOver) this.#parts.putBack({ ...item, isOver: false });
        return;
      }
      settle();
      item.from = 'line';
      item.seq = seq;
      item.settle = () => line.remove(seq);
      // If its request was ended meanwhile, it is read from the line like the others.
      if (isDelivered || !item.isOver) line.hold(seq);
      if (isDelivered) line.remove(seq);
      moved();
    });
  }
}
