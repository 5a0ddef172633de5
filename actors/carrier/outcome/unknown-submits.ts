// Submits whose outcome nobody knows, segment by segment, findable by what a receipt can still tell about them:
// recipient and sender. A receipt without a known id settles one only when all that fit are of one message: its
// segments may stand for each other, because it has ended when each has its receipt; two messages prove nothing.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';
import type { Submitted } from '../in-flight/facts.ts';

/** A carrier that has not reported after a day will not. */
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

  /** A segment of the only message this receipt can be about, or null. `submittedAtMs` is the receipt's submit date. */
  find(recipient: string, sender: string, submittedAtMs: number | null): DeliveryEvent | null {
    const candidates = (this.#byNumbers.get(keyOf(recipient, sender)) ?? []).filter(
      (each) => submittedAtMs === null || Math.abs(each.atMs - submittedAtMs) < submitDateToleranceMs,
    );
    const [first] = candidates;
    return first !== undefined && candidates.every((each) => each.messageId === first.messageId) ? first : null;
  }

  /** This segment is settled, by whatever way: from now on it is nobody's candidate. */
  settle(unknown: Submitted): void {
    if (this.#byNumbers.size === 0) return;
    const key = keyOf(unknown.recipient, unknown.sender);
    const left = (this.#byNumbers.get(key) ?? []).filter((each) => !isSame(each, unknown));
    if (left.length === 0) this.#byNumbers.delete(key);
    else this.#byNumbers.set(key, left);
  }
}

/** Of two messages with all their segments: more prove nothing either. */
const candidatesMax = 2 * limits.message.segmentsMax;
/** Receipts carry the submit date in minutes, in a time zone nobody agrees on: half a day covers all of them. */
const submitDateToleranceMs = 14 * 3_600_000;

/** Segment 0 is all of a message. Of one that was sent again each copy has its own receipt, and so its own place. */
function isSame(one: Submitted, other: Submitted): boolean {
  if (one.messageId !== other.messageId || one.attempt !== other.attempt) return false;
  return one.segment === other.segment || one.segment === 0 || other.segment === 0;
}

/** On the wire a number has no plus: a receipt never shows it. */
function keyOf(recipient: string, sender: string): string {
  return `${recipient}|${sender.replace(/^\+/, '').toLowerCase()}`;
}
