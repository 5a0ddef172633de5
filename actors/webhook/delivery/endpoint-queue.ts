// What of one endpoint is in memory and not being sent, in the order in which it is sent; and what the next request
// carries: one event, or a batch when it is full or its first event has waited long enough. It knows no endpoint's health.
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import { limits } from '../../../platform/limits.ts';
import { sentBefore } from './shipments-out.ts';
import { type Item, type Shipment, batchOf, chainOf, goesWith, shipmentOf } from './item.ts';

type Rules = Pick<WebhookEndpoint, 'ordering' | 'batch'>;

const { linePerRequest, groupWaitMs } = limits.delivery;

/** Events that are read from the line of an endpoint and may be in memory: some requests, or two batches. */
export function lineMaxOf({ batch }: Rules, concurrency: number): number {
  return Math.max(linePerRequest * Math.floor(concurrency), 2 * (batch?.max ?? 0));
}

export class EndpointQueue {
  #items: Item[] = [];
  /** Requests made up already: second tries, and those that show whether the endpoint works again. */
  #shipments: Shipment[] = [];

  get size(): number {
    return this.#items.length + this.#shipments.reduce((sum, { items }) => sum + items.length, 0);
  }

  /** Of requests that are made up, and wait for their turn. */
  get madeUp(): readonly Item[] {
    return this.#shipments.flatMap(({ items }) => items);
  }

  /** The first event that is in memory alone. */
  get firstQueued(): Item | undefined {
    return this.#items.find(({ from }) => from === 'queue');
  }

  add(item: Item): void {
    this.#items.push(item);
  }

  addShipment(shipment: Shipment): void {
    this.#shipments.push(shipment);
  }

  /** Takes every event out. */
  clear(): readonly Item[] {
    const all = [...this.#shipments.flatMap(sentBefore), ...this.#items];
    this.#items = [];
    this.#shipments = [];
    return all;
  }

  /** Takes the events out that came from the queue. */
  takeQueued(): readonly Item[] {
    const queued = this.#items.filter(({ from }) => from === 'queue');
    if (queued.length > 0) this.#items = this.#items.filter(({ from }) => from !== 'queue');
    return queued;
  }

  /** Milliseconds until a request is due; 0: now, null: there is nothing. Events that must wait for others count too. */
  dueInMs(rules: Rules, nowMs: number): number | null {
    const [first] = this.#items;
    if (this.#shipments.length > 0) return 0;
    if (first === undefined) return null;
    if (rules.batch === null) return 0;
    const { group } = first.record;
    const isFull =
      group === null
        ? this.#items.length >= rules.batch.max
        : this.#items.filter(({ record }) => record.group?.id === group.id).length >= group.size;
    const waitMs = group === null ? rules.batch.waitMs : groupWaitMs;
    return isFull ? 0 : Math.max(0, first.queuedAtMs + waitMs - nowMs);
  }

  /** Takes out what the next request carries; null when nothing is due. `busy`: chains that must wait. */
  next(rules: Rules, busy: () => Set<string>, nowMs: number): Shipment | null {
    const ready = this.#shipments.shift();
    if (ready !== undefined) return ready;
    if (this.dueInMs(rules, nowMs) !== 0) return null;
    if (rules.batch === null && rules.ordering === 'none') {
      const item = this.#items.shift();
      return item === undefined ? null : shipmentOf(item);
    }
    const taken = this.#taken(rules, rules.ordering === 'per_message' ? busy() : new Set());
    const [first] = taken;
    if (first === undefined) return null;
    const out = new Set(taken);
    this.#items = this.#items.filter((item) => !out.has(item));
    return rules.batch === null ? shipmentOf(first) : batchOf(taken);
  }

  /** The first event that may be sent now, and of a batch those that go with it. */
  #taken({ ordering, batch }: Rules, busy: Set<string>): readonly Item[] {
    const taken: Item[] = [];
    const max = batch?.max ?? 1;
    for (const item of this.#items) {
      const chain = chainOf(item.record);
      const isFree = ordering === 'none' || !busy.has(chain);
      if (isFree && (taken[0] === undefined || goesWith(taken[0].record, item.record))) taken.push(item);
      // What comes later in a chain waits for what does not go now.
      else busy.add(chain);
      if (taken.length >= (taken[0]?.record.group?.size ?? max)) break;
    }
    return taken;
  }
}
