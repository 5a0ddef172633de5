// Which delivery events clients get: those that change what a client sees of the message, once each. A message of
// several segments has an event for each; clients get the one that completes them. The rules are those of
// model/fold.ts; this one holds a number for each message, for as long as its events usually take, instead of its whole
// history.
import type { DeliveryEvent, EventKind } from '../../../model/delivery-event.ts';
import { type MessageStatus, endsOfSending } from '../../../model/status.ts';
import { copiesAfter, endOfCopy, noCopies, statusOfCopies } from '../../../model/copies.ts';
import { webhookTypeOfKind } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';

/** Bits of a message's state: the segments submitted (1–10), those delivered (17–26), and what was published. */
const deliveredFrom = 16;
const publishedSubmitted = 1 << 27;
const publishedUnknown = 1 << 28;
const publishedEnd = 1 << 29;

/** A copy that ends like this was not delivered. */
function isEnd(kind: EventKind): kind is EventKind & MessageStatus {
  return kind !== 'delivered' && (endsOfSending as readonly string[]).includes(kind);
}

export class ClientEvents {
  readonly #messages: RotatingMap<string, number>;
  /** Of hedged messages: their copies at two carriers. */
  readonly #copies: RotatingMap<string, number>;
  /** Messages accepted earlier may have had events that this process never saw. */
  #sinceMs: number;

  /** `sinceMs`: wall time of the first event it sees. */
  constructor(clock: Clock, sinceMs: number) {
    const { rememberedMs, rememberedMax } = limits.delivery;
    this.#messages = new RotatingMap(rememberedMs, rememberedMax, clock);
    this.#copies = new RotatingMap(rememberedMs, rememberedMax, clock);
    this.#sinceMs = sinceMs;
  }

  /** Everything from this wall time on was seen. */
  seenSince(sinceMs: number): void {
    this.#sinceMs = sinceMs;
  }

  /** What clients get for this event, or null. Call it for every event of a message, in the order of the stream. */
  next(event: DeliveryEvent): DeliveryEvent | null {
    if (event.kind === 'hedged') this.#copies.set(event.messageId, copiesAfter(this.#copiesOf(event), event));
    if (webhookTypeOfKind[event.kind] === undefined) return null;
    const shown = this.#ofCopies(event);
    return shown !== null && this.#isPublished(shown) ? shown : null;
  }

  #copiesOf({ messageId }: DeliveryEvent): number {
    return this.#copies.size === 0 ? noCopies : (this.#copies.get(messageId) ?? noCopies);
  }

  /** Null while another copy of the message may be delivered; `unknown` when what became of it is not known. */
  #ofCopies(event: DeliveryEvent): DeliveryEvent | null {
    const before = this.#copiesOf(event);
    if (before === noCopies || !isEnd(event.kind)) return event;
    const after = endOfCopy(before, event, event.kind);
    this.#copies.set(event.messageId, after);
    const kind = statusOfCopies(after, event.kind);
    if (kind === null) return null;
    return kind === event.kind ? event : { ...event, kind };
  }

  #isPublished(event: DeliveryEvent): boolean {
    const { kind, messageId } = event;
    // Each is complete by itself.
    if (kind === 'received' || kind === 'opted_out') return true;
    // One with a carrier is about a copy of a message that is delivered (model/copies.ts).
    if (kind === 'canceled') return event.carrier === '';
    const before = this.#messages.get(messageId) ?? 0;
    const after = this.#stateAfter(before, event);
    if (after !== before) this.#messages.set(messageId, after);
    return (after & ~before & (publishedSubmitted | publishedUnknown | publishedEnd)) !== 0;
  }

  #stateAfter(before: number, event: DeliveryEvent): number {
    const { kind, segments } = event;
    const isOver = (before & publishedEnd) !== 0;
    // Of an older message the events of other segments may have come before this process: the last one is not known.
    const isAlone = segments <= 1 || event.segment === 0 || (before === 0 && event.acceptedAtMs < this.#sinceMs);
    const all = ((1 << segments) - 1) << 1;
    switch (kind) {
      case 'submitted': {
        const bits = before | (isAlone ? all : 1 << event.segment);
        if (isOver || (before & publishedUnknown) !== 0 || (bits & all) !== all) return bits;
        return bits | publishedSubmitted;
      }
      case 'delivered': {
        const bits = before | (isAlone ? all << deliveredFrom : 1 << (event.segment + deliveredFrom));
        return isOver || ((bits >>> deliveredFrom) & all) !== all ? bits : bits | publishedEnd;
      }
      case 'unknown':
        return isOver ? before : before | publishedUnknown;
      default:
        return isOver ? before : before | publishedEnd;
    }
  }
}
