// Which submitted segments wait for a receipt, by the carrier's message id. Carriers write one id in several
// ways: hexadecimal in the response and decimal in the receipt, with leading zeros, in either case. Ids are
// kept in one canonical form; a receipt's id is tried in each reading, the one that worked last first, and a
// match counts only when the recipient is the same, so that two readings can never mix two messages up.
import { type IdReading, canonical, readAs } from '../../model/carrier-message-id.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { Generations } from './generations.ts';

export type IdForm = IdReading | 'auto';

export type Match = { readonly submitted: DeliveryEvent; readonly repeated: boolean };

/** After the first receipt a segment is remembered this long, to recognise the second as a repeat. */
const settledSpanMs = 60_000;

export class Outstanding {
  readonly #form: IdForm;
  readonly #waiting = new Map<string, DeliveryEvent>();
  readonly #settled: Generations<string, DeliveryEvent>;
  #readings: IdReading[];

  constructor(form: IdForm, clock: Clock = systemClock) {
    this.#form = form;
    this.#readings = form === 'auto' ? ['raw', 'hex', 'decimal'] : [form];
    this.#settled = new Generations(settledSpanMs, limits.carrier.outstandingMax, clock);
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** The reading of receipt ids that worked last: what `receipt_id: auto` has learnt. */
  get learnt(): IdReading {
    return this.#readings[0] as IdReading;
  }

  /** Remembers a submitted event until its receipt; the oldest go first when there are too many. */
  add(submitted: DeliveryEvent): void {
    if (submitted.carrierMessageId === null) return;
    this.#waiting.set(canonical(submitted.carrierMessageId), submitted);
    if (this.#waiting.size <= limits.carrier.outstandingMax) return;
    for (const oldest of this.#waiting.keys()) {
      this.#waiting.delete(oldest);
      return;
    }
  }

  /** The submit a receipt is about. `recipient` in E.164, or null when the receipt does not name it. */
  find(receiptId: string, recipient: string | null): Match | null {
    for (const [at, reading] of this.#readings.entries()) {
      const key = readAs(receiptId, reading);
      if (key === null) continue;
      const waiting = this.#waiting.get(key);
      const submitted = waiting ?? this.#settled.get(key);
      if (submitted === undefined || (recipient !== null && submitted.recipient !== recipient)) continue;
      if (at > 0) this.#prefer(reading);
      return { submitted, repeated: waiting === undefined };
    }
    return null;
  }

  /** The canonical ids a receipt's id may stand for: what to ask the event store for. */
  candidates(receiptId: string): string[] {
    return [...new Set(this.#readings.map((reading) => readAs(receiptId, reading)).filter((each) => each !== null))];
  }

  settle(submitted: DeliveryEvent): void {
    if (submitted.carrierMessageId === null) return;
    const key = canonical(submitted.carrierMessageId);
    this.#waiting.delete(key);
    this.#settled.set(key, submitted);
  }

  #prefer(reading: IdReading): void {
    if (this.#form !== 'auto') return;
    this.#readings = [reading, ...this.#readings.filter((each) => each !== reading)];
  }
}
