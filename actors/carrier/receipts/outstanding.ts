// The submitted segments that wait for a receipt, by the carrier's message id. Carriers write one id in several ways:
// hexadecimal in the response and decimal in the receipt, with leading zeros, in either case. Ids are stored in a
// canonical form; a receipt's id is tried in each reading, the last successful one first, and a match counts only when
// the recipient is the same. Readings that never matched are dropped after a while, because by a wrong reading an
// old receipt can match a newer message to the same number.
import type { CarrierConfig } from '../../../config/configuration.ts';
import { type IdReading, canonical, readAs } from '../../../model/carrier-message-id.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { assert } from '../../../platform/assert.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { RecentTexts, numberOf } from '../../../platform/recent-texts.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { Submitted } from '../in-flight/facts.ts';
import { SubmitStore } from './submit-store.ts';

export type IdForm = IdReading | 'auto';

export type Match =
  | { readonly repeated: false; readonly submitted: Submitted }
  /** Its receipt arrived before. */
  | { readonly repeated: true };

const allReadings: readonly IdReading[] = ['raw', 'hex', 'decimal'];
/** How long a segment is remembered after its receipt, to recognise a repeat. */
const settledSpanMs = 60_000;
/** After this many matches that only one and the same reading gives, the others are dropped. */
const provenMatches = 20;
/** After this many consecutive messages that match only in a dropped reading, the carrier has changed its ids. */
const changedMatches = 3;

export class Outstanding {
  readonly #form: IdForm;
  /** The position of each in the store. */
  readonly #waiting = new Map<string, number>();
  readonly #store: SubmitStore;
  /** Of segments whose receipt arrived: the `numberOf` of their recipients. */
  readonly #settled: RecentTexts;
  readonly #onLearnt: (reading: IdReading) => void;
  #readings: IdReading[];
  /** Matches that only this reading gives. */
  readonly #proof: Record<IdReading, number> = { raw: 0, hex: 0, decimal: 0 };
  #dropped: IdReading[] = [];
  /** It is not known yet which readings this carrier needs. */
  #isLearning: boolean;
  /** Ids that matched only in a dropped reading since the last that matched in another. */
  readonly #inDroppedReading = new Set<string>();
  /** The last successful reading of receipt ids: what `receipt_id: auto` has learnt. Null before the first match. */
  learnt: IdReading | null = null;

  /** `onLearnt` is called for the first match, and when receipt ids match in another reading than before. */
  constructor(form: IdForm, clock: Clock = systemClock, onLearnt: (reading: IdReading) => void = () => {}) {
    this.#form = form;
    this.#isLearning = form === 'auto';
    this.#readings = form === 'auto' ? [...allReadings] : [form];
    this.#onLearnt = onLearnt;
    this.#settled = new RecentTexts(settledSpanMs, limits.carrier.outstandingMax, clock);
    this.#store = new SubmitStore(
      (lost, place) => this.#lose(lost, place),
      (moved, from, to) => this.#move(moved, from, to),
    );
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Octets of the stored segments; the index of ids comes on top. */
  get bytes(): number {
    return this.#store.bytes;
  }

  /** Stores a submitted segment until its receipt; the oldest are dropped when there are too many. */
  add(submitted: Submitted): void {
    if (submitted.carrierMessageId === null) return;
    const key = canonical(submitted.carrierMessageId);
    this.#forget(key);
    this.#waiting.set(key, this.#store.put(submitted));
    if (this.#waiting.size <= limits.carrier.outstandingMax) return;
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined) this.#forget(oldest);
  }

  /**
   * The submit a receipt is about. `recipient` in E.164, or null when the receipt does not name it; `swapped`: the
   * receipt's other address.
   */
  find(receiptId: string, recipient: string | null, swapped: string | null = null): Match | null {
    for (const [at, reading] of this.#readings.entries()) {
      const match = this.#matchIn(reading, receiptId, recipient, swapped);
      if (match === null) continue;
      if (this.#inDroppedReading.size > 0) this.#inDroppedReading.clear();
      if (this.#isLearning) this.#prove(reading, receiptId, recipient, swapped);
      if (at > 0) this.#prefer(reading);
      if (this.learnt !== reading) {
        this.learnt = reading;
        this.#onLearnt(reading);
      }
      return match;
    }
    return null;
  }

  /**
   * Whether an id that `find` does not find matches a submit to this recipient in a dropped reading. This settles
   * nothing, but after a few such ids of different messages in a row all readings are tried again.
   */
  fitsDroppedReading(receiptId: string, recipient: string | null, swapped: string | null = null): boolean {
    const fits = this.#dropped.some((reading) => this.#matchIn(reading, receiptId, recipient, swapped) !== null);
    if (!fits) return false;
    this.#inDroppedReading.add(receiptId);
    if (this.#inDroppedReading.size >= changedMatches) this.#tryAll();
    return true;
  }

  /**
   * The canonical ids that a receipt's id may refer to, likeliest first and never none: for a query of the event store.
   * An id that cannot be read in any form in use (letters, where all were decimal) is taken as it is written.
   */
  candidates(receiptId: string): string[] {
    const read = this.#readings.map((reading) => readAs(receiptId, reading)).filter((each) => each !== null);
    return read.length > 0 ? [...new Set(read)] : [canonical(receiptId)];
  }

  settle({ carrierMessageId, recipient }: Pick<Submitted, 'carrierMessageId' | 'recipient'>): void {
    if (carrierMessageId === null) return;
    const key = canonical(carrierMessageId);
    this.#forget(key);
    this.#settled.set(key, numberOf(recipient));
  }

  /** The recipient of the message with this id in the readings in use: compared with a receipt that matched nothing. */
  recipientOf(receiptId: string): string | null {
    for (const reading of this.learnt === null ? this.#readings : [this.learnt]) {
      const key = readAs(receiptId, reading);
      const place = key === null ? undefined : this.#waiting.get(key);
      if (place !== undefined) return this.#store.read(place).recipient;
    }
    return null;
  }

  #prove(by: IdReading, receiptId: string, recipient: string | null, swapped: string | null): void {
    const isOnlyOne = this.#readings.every((each) => {
      return each === by || this.#matchIn(each, receiptId, recipient, swapped) === null;
    });
    if (!isOnlyOne) return;
    this.#proof[by] += 1;
    if (this.#proof[by] < provenMatches) return;
    this.#isLearning = false;
    // A reading that was needed before is kept: such a carrier mixes two systems.
    this.#dropped = this.#readings.filter((each) => this.#proof[each] === 0);
    this.#readings = this.#readings.filter((each) => this.#proof[each] > 0);
  }

  #tryAll(): void {
    this.#readings = [...this.#readings, ...this.#dropped];
    this.#dropped = [];
    this.#isLearning = true;
    this.#inDroppedReading.clear();
    for (const each of this.#readings) this.#proof[each] = 0;
  }

  #matchIn(reading: IdReading, receiptId: string, recipient: string | null, swapped: string | null): Match | null {
    const key = readAs(receiptId, reading);
    return key === null ? null : this.#matchOf(key, recipient, swapped);
  }

  #matchOf(key: string, recipient: string | null, swapped: string | null): Match | null {
    const place = this.#waiting.get(key);
    if (place !== undefined) {
      const submitted = this.#store.read(place);
      const isOf = recipient === null || submitted.recipient === recipient || submitted.recipient === swapped;
      return isOf ? { submitted, repeated: false } : null;
    }
    const settled = this.#settled.get(key);
    if (settled === 0) return null;
    const isOf =
      recipient === null || settled === numberOf(recipient) || (swapped !== null && settled === numberOf(swapped));
    return isOf ? { repeated: true } : null;
  }

  #forget(key: string): void {
    const place = this.#waiting.get(key);
    if (place === undefined) return;
    this.#waiting.delete(key);
    this.#store.drop(place);
  }

  /** From now on it is found through the event store. */
  #lose({ carrierMessageId }: Submitted, place: number): void {
    const key = canonical(carrierMessageId ?? '');
    if (this.#waiting.get(key) === place) this.#waiting.delete(key);
  }

  #move({ carrierMessageId }: Submitted, from: number, to: number): void {
    const key = canonical(carrierMessageId ?? '');
    assert(this.#waiting.get(key) === from, 'a submitted segment was kept that is in no index');
    this.#waiting.set(key, to);
  }

  #prefer(reading: IdReading): void {
    if (this.#form !== 'auto') return;
    this.#readings = [reading, ...this.#readings.filter((each) => each !== reading)];
  }
}

/** By carrier, in the thread that hosts it. */
const known = new Map<string, Set<IdReading>>();

/**
 * Logs in which form a carrier writes the ids of its receipts: with `receipt_id: auto` it is learnt, and operators
 * should know of a carrier that changes it. One line per form, not per change.
 */
export function receiptFormLearnt({ name, receiptId }: CarrierConfig, form: IdReading): void {
  for (const each of allReadings) metrics.receiptIdForm.set({ carrier: name, form: each }, each === form ? 1 : 0);
  const before = known.get(name) ?? new Set();
  if (receiptId !== 'auto' || before.has(form)) return;
  known.set(name, before.add(form));
  const also = [...before].filter((each) => each !== form);
  log.info({ carrier: name, form, ...(also.length > 0 ? { also } : {}) }, 'the form of receipt ids was learnt');
}
