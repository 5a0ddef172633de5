// Which delivery events are told: those that change what a client sees of the message, once each. A message of several
// segments has an event for each; told is the one that completes them. The rules are those of model/fold.ts; this one
// holds a number for each message, for as long as its events usually take, instead of its whole history.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { webhookTypeOfKind } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';

/** Bits of a message's state: the segments submitted (1–10), those delivered (17–26), and what was told. */
const deliveredFrom = 16;
const toldSubmitted = 1 << 27;
const toldUnknown = 1 << 28;
const toldEnd = 1 << 29;

export class Told {
  readonly #messages: RotatingMap<string, number>;
  /** Messages accepted earlier may have had events that this process never saw. */
  #sinceMs: number;

  /** `sinceMs`: wall time of the first event it sees. */
  constructor(clock: Clock, sinceMs: number) {
    const { toldMs, toldMax } = limits.delivery;
    this.#messages = new RotatingMap(toldMs, toldMax, clock);
    this.#sinceMs = sinceMs;
  }

  /** Everything from this wall time on was seen. */
  seenSince(sinceMs: number): void {
    this.#sinceMs = sinceMs;
  }

  /** Whether this event is told. Call it for every event of a message, in the order of the stream. */
  isTold(event: DeliveryEvent): boolean {
    const { kind, messageId } = event;
    if (webhookTypeOfKind[kind] === undefined) return false;
    // Each is complete by itself.
    if (kind === 'received' || kind === 'opted_out' || kind === 'canceled') return true;
    const before = this.#messages.get(messageId) ?? 0;
    const after = this.#next(before, event);
    if (after !== before) this.#messages.set(messageId, after);
    return (after & ~before & (toldSubmitted | toldUnknown | toldEnd)) !== 0;
  }

  #next(before: number, event: DeliveryEvent): number {
    const { kind, segments } = event;
    const isOver = (before & toldEnd) !== 0;
    // Of an older message the events of other segments may have come before this process: the last one is not known.
    const isAlone = segments <= 1 || event.segment === 0 || (before === 0 && event.acceptedAtMs < this.#sinceMs);
    const all = ((1 << segments) - 1) << 1;
    switch (kind) {
      case 'submitted': {
        const bits = before | (isAlone ? all : 1 << event.segment);
        if (isOver || (before & toldUnknown) !== 0 || (bits & all) !== all) return bits;
        return bits | toldSubmitted;
      }
      case 'delivered': {
        const bits = before | (isAlone ? all << deliveredFrom : 1 << (event.segment + deliveredFrom));
        return isOver || ((bits >>> deliveredFrom) & all) !== all ? bits : bits | toldEnd;
      }
      case 'unknown':
        return isOver ? before : before | toldUnknown;
      default:
        return isOver ? before : before | toldEnd;
    }
  }
}
