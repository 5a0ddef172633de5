// Which delivery events are told: those that change what a client sees of the message, once each. A message of several
// segments has an event for each; told is the one that completes them. The rules are those of model/fold.ts; this one
// holds a number for each message, for as long as its events usually take, instead of its whole history.
import type { DeliveryEvent, EventKind } from '../../../model/delivery-event.ts';
import { type MessageStatus, endsOfSending } from '../../../model/status.ts';
import { copiesAfter, endOfCopy, noCopies, statusOfCopies } from '../../../model/copies.ts';
import { webhookTypeOfKind } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';

/** Bits of a message's state: the segments submitted (1–10), those delivered (17–26), and what was told. */
const deliveredFrom = 16;
const toldSubmitted = 1 << 27;
const toldUnknown = 1 << 28;
const toldEnd = 1 << 29;

/** A copy that ends like this was not delivered. */
function isEnd(kind: EventKind): kind is EventKind & MessageStatus {
  return kind !== 'delivered' && (endsOfSending as readonly string[]).includes(kind);
}

export class Told {
  readonly #messages: RotatingMap<string, number>;
  /** Of hedged messages: their copies at two carriers. */
  readonly #copies: RotatingMap<string, number>;
  /** Messages accepted earlier may have had events that this process never saw. */
  #sinceMs: number;

  /** `sinceMs`: wall time of the first event it sees. */
  constructor(clock: Clock, sinceMs: number) {
    const { toldMs, toldMax } = limits.delivery;
    this.#messages = new RotatingMap(toldMs, toldMax, clock);
    this.#copies = new RotatingMap(toldMs, toldMax, clock);
    this.#sinceMs = sinceMs;
  }

  /** Everything from this wall time on was seen. */
  seenSince(sinceMs: number): void {
    this.#sinceMs = sinceMs;
  }

  /** What is told of this event, or null. Call it for every event of a message, in the order of the stream. */
  toTell(event: DeliveryEvent): DeliveryEvent | null {
    if (event.kind === 'hedged') this.#copies.set(event.messageId, copiesAfter(this.#copiesOf(event), event));
    if (webhookTypeOfKind[event.kind] === undefined) return null;
    const shown = this.#ofCopies(event);
    return shown !== null && this.#isTold(shown) ? shown : null;
  }

  #copiesOf({ messageId }: DeliveryEvent): number {
    return this.#copies.size === 0 ? noCopies : (this.#copies.get(messageId) ?? noCopies);
  }

  /** Null while another copy of the message may be delivered; `unknown` when nobody knows of it. */
  #ofCopies(event: DeliveryEvent): DeliveryEvent | null {
    const before = this.#copiesOf(event);
    if (before === noCopies || !isEnd(event.kind)) return event;
    const after = endOfCopy(before, event, event.kind);
    this.#copies.set(event.messageId, after);
    const kind = statusOfCopies(after, event.kind);
    if (kind === null) return null;
    return kind === event.kind ? event : { ...event, kind };
  }

  #isTold(event: DeliveryEvent): boolean {
    const { kind, messageId } = event;
    // Each is complete by itself.
    if (kind === 'received' || kind === 'opted_out') return true;
    // One with a carrier is about a copy of a message that is delivered (model/copies.ts).
    if (kind === 'canceled') return event.carrier === '';
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
