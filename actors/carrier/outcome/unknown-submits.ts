// Submits with an unknown outcome, by segment, indexed by what a receipt contains: recipient and sender. A receipt
// without a known id settles one only when all matches are of one message: its segments are interchangeable, because
// the message has ended when each has its receipt. Matches of two messages prove nothing.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';
import type { Submitted } from '../in-flight/facts.ts';

/** After a day no receipt is expected. */
const rememberedMs = 24 * 3_600_000;

export class UnknownSubmits {
  readonly #byNumbers: RotatingMap<string, DeliveryEvent[]>;

  constructor(clock: Clock = systemClock) {
    this.#byNumbers = new RotatingMap(rememberedMs, limits.carrier.unknownRememberedMax, clock);
  }

  add(unknown: DeliveryEvent): void {
    const key = keyOf(unknown.recipient, unknown.sender);
    const others = (this.#byNumbers.get(key) ?? []).filter((each) => !isSame(each, unknown));
    this.#byNumbers.set(key, [...others, unknown].slice(-candidatesMax));
  }

  /** A segment of the only message this receipt can be about, or null. `submittedAtMs`: the receipt's submit date. */
  find(recipient: string, sender: string, submittedAtMs: number | null): DeliveryEvent | null {
    const candidates = (this.#byNumbers.get(keyOf(recipient, sender)) ?? []).filter(
      (each) => submittedAtMs === null || Math.abs(each.atMs - submittedAtMs) < submitDateToleranceMs,
    );
    const [first] = candidates;
    return first !== undefined && candidates.every((each) => each.messageId === first.messageId) ? first : null;
  }

  /** This segment is settled: no receipt may match it any more. */
  settle(unknown: Submitted): void {
    if (this.#byNumbers.size === 0) return;
    const key = keyOf(unknown.recipient, unknown.sender);
    const left = (this.#byNumbers.get(key) ?? []).filter((each) => !isSame(each, unknown));
    if (left.length === 0) this.#byNumbers.delete(key);
    else this.#byNumbers.set(key, left);
  }
}

/** Two messages with all their segments: with more candidates a receipt does not identify its submit either. */
const candidatesMax = 2 * limits.message.segmentsMax;
/** A receipt's submit date is in minutes without a time zone: this covers all zones. */
const submitDateToleranceMs = 14 * 3_600_000;

/** Segment 0 is all of a message. Each copy of a message sent again has its own receipt, and so its own entry. */
function isSame(one: Submitted, other: Submitted): boolean {
  if (one.messageId !== other.messageId || one.attempt !== other.attempt) return false;
  return one.segment === other.segment || one.segment === 0 || other.segment === 0;
}

/** A number on the wire has no plus sign. */
function keyOf(recipient: string, sender: string): string {
  return `${recipient}|${sender.replace(/^\+/, '').toLowerCase()}`;
}
