// Submits whose outcome nobody knows, findable by what a receipt can still tell about them: recipient and
// sender. A receipt without a known id settles one only when exactly one fits; two candidates prove nothing.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { Generations } from './generations.ts';

/** A carrier that has not reported after a day will not. */
const rememberedMs = 24 * 3_600_000;

export class UnknownSubmits {
  readonly #byNumbers: Generations<string, DeliveryEvent[]>;

  constructor(clock: Clock = systemClock) {
    this.#byNumbers = new Generations(rememberedMs, limits.carrier.unknownRememberedMax, clock);
  }

  add(unknown: DeliveryEvent): void {
    const key = keyOf(unknown.recipient, unknown.sender);
    const others = (this.#byNumbers.get(key) ?? []).filter((each) => each.messageId !== unknown.messageId);
    this.#byNumbers.set(key, [...others, unknown].slice(-candidatesMax));
  }

  /** The only unknown submit this receipt can be about, or null. `submittedAtMs` is the receipt's submit date. */
  find(recipient: string, sender: string, submittedAtMs: number | null): DeliveryEvent | null {
    const candidates = (this.#byNumbers.get(keyOf(recipient, sender)) ?? []).filter(
      (each) => submittedAtMs === null || Math.abs(each.atMs - submittedAtMs) < submitDateToleranceMs,
    );
    return candidates.length === 1 ? (candidates[0] as DeliveryEvent) : null;
  }

  /** This message is settled, by whatever way: from now on it is nobody's candidate. */
  settle(unknown: DeliveryEvent): void {
    if (this.#byNumbers.size === 0) return;
    const key = keyOf(unknown.recipient, unknown.sender);
    const left = (this.#byNumbers.get(key) ?? []).filter((each) => each.messageId !== unknown.messageId);
    if (left.length === 0) this.#byNumbers.delete(key);
    else this.#byNumbers.set(key, left);
  }
}

const candidatesMax = 8;
/** Receipts carry the submit date in minutes, in a time zone nobody agrees on: half a day covers all of them. */
const submitDateToleranceMs = 14 * 3_600_000;

/** On the wire a number has no plus: a receipt never shows it. */
function keyOf(recipient: string, sender: string): string {
  return `${recipient}|${sender.replace(/^\+/, '').toLowerCase()}`;
}
