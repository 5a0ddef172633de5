// The requests of one endpoint that were made: in flight, or between their first try and their second.
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { type Item, type Shipment, chainOf, groupOf } from './item.ts';

export class ShipmentsOut {
  /**
   * In any order, at most concurrencyMax. A Set that shrinks and grows all the time moves what it has had into V8's old generation (decision 242).
   */
  readonly #inFlight: Shipment[] = [];
  readonly #waiting = new Map<Shipment, Cancel>();
  #events = 0;

  get inFlight(): number {
    return this.#inFlight.length;
  }

  /** Events of all of them. */
  get events(): number {
    return this.#events;
  }

  get items(): readonly Item[] {
    return this.#all.flatMap(({ items }) => items);
  }

  /** A request is sent. */
  add(shipment: Shipment): void {
    for (const item of shipment.items) item.tries += 1;
    this.#inFlight.push(shipment);
    this.#events += shipment.items.length;
  }

  /** It was answered. False: nobody waits for that. */
  remove(shipment: Shipment): boolean {
    const at = this.#inFlight.indexOf(shipment);
    const last = this.#inFlight.at(-1);
    if (at === -1 || last === undefined) return false;
    this.#inFlight[at] = last;
    this.#inFlight.pop();
    this.#events -= shipment.items.length;
    shipment.cancel = null;
    return true;
  }

  /** It is sent again after so long. */
  wait(shipment: Shipment, waitMs: number, clock: Clock, due: () => void): void {
    this.#events += shipment.items.length;
    const cancel = clock.after(waitMs, () => {
      this.#waiting.delete(shipment);
      this.#events -= shipment.items.length;
      due();
    });
    this.#waiting.set(shipment, cancel);
  }

  /** Messages of which an event is out. */
  busyChains(): Set<string> {
    return new Set(this.items.map(({ record }) => chainOf(record)));
  }

  /** Ends all of them: their results are nobody's. Their events, which are to be sent again in the same batches. */
  abandon(): readonly Item[] {
    const [all, sent] = [this.#all, [...this.#inFlight]];
    for (const cancel of this.#waiting.values()) cancel();
    this.#waiting.clear();
    this.#inFlight.length = 0;
    this.#events = 0;
    for (const shipment of sent) shipment.cancel?.();
    return all.flatMap(sentBefore);
  }

  get #all(): readonly Shipment[] {
    return [...this.#inFlight, ...this.#waiting.keys()];
  }
}

/** The events of a request that was made. */
export function sentBefore(shipment: Shipment): readonly Item[] {
  return shipment.items.map((item) => {
    item.isOver = true;
    return { ...item, record: { ...item.record, group: groupOf(shipment) ?? item.record.group } };
  });
}
