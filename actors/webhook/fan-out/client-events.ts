// Which delivery events clients get: those that change what a client sees of the message, once each. The first end stays,
// and a carrier may report another one hours later. A message of several segments has an event for each; clients get the
// one that completes them. A one-time password may have two copies; the failure of one ends nothing while the other may be
// delivered. The rules are those of model/fold.ts; this one holds a number for each message, for as long as its events
// usually take, instead of its whole history. Where that was too short, or the process began later, `knows` says so, and
// the history can be given to `learn`.
import type { DeliveryEvent, EventKind } from '../../../model/delivery-event.ts';
import { type MessageStatus, endsOfSending } from '../../../model/status.ts';
import { copiesAfter, copiesBits, endOfCopy, noCopies, statusOfCopies } from '../../../model/copies.ts';
import { webhookTypeOfKind } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';

/**
 * Bits of a message's state: whether everything before is in it (0), the segments submitted (1–10), those delivered
 * (17–26), and what was published (11–13, 27–29). A message of one segment has in 2–9 its copies at two carriers.
 */
const complete = 1;
const copiesFrom = 2;
const deliveredFrom = 16;
/** Events that are complete by themselves, and may be published again by a process that was killed. */
const publishedAlone = { received: 1 << 11, opted_out: 1 << 12, canceled: 1 << 13 } as const;
const publishedSubmitted = 1 << 27;
const publishedUnknown = 1 << 28;
const publishedEnd = 1 << 29;

/** Whether what it means for its message depends on what came before: an end, other segments, another copy. */
function dependsOnEarlier(event: DeliveryEvent): boolean {
  return event.kind === 'submitted' || (isEnd(event.kind) && !isEndUnsent(event));
}

/** No carrier had any of it, so no receipt can have ended it. Of a one-time password it may be the end of one copy. */
function isEndUnsent({ kind, category, segments, segment, carrierMessageId }: DeliveryEvent): boolean {
  if (segments <= 1 && category === 'otp') return false;
  return (kind === 'blocked' || kind === 'expired' || kind === 'failed') && segment === 0 && carrierMessageId === null;
}

function isEnd(kind: EventKind): kind is EventKind & MessageStatus {
  return (endsOfSending as readonly string[]).includes(kind);
}

const copiesIn = (state: number): number => (state >>> copiesFrom) & copiesBits;
const withCopies = (state: number, copies: number): number =>
  (state & ~(copiesBits << copiesFrom)) | (copies << copiesFrom);

/**
 * Nothing was sent of the message before it: a later intent has the progress. Of a one-time password, a later try may come
 * after a second copy was sent, and a later hop may be that copy. `accepted` is none of other messages: a campaign that
 * waits for its turn would push out those whose receipts are due.
 */
function isFirst({ kind, category, segments, hop, attempt, progress = 0 }: DeliveryEvent): boolean {
  if (segments > 1 || category !== 'otp') return kind === 'intent' && progress === 0;
  return kind === 'accepted' || (kind === 'intent' && hop === 0 && attempt <= 1);
}

export class ClientEvents {
  readonly #messages: RotatingMap<string, number>;

  constructor(clock: Clock) {
    const { rememberedMs, rememberedMax } = limits.delivery;
    this.#messages = new RotatingMap(rememberedMs, rememberedMax, clock);
  }

  /** False: earlier events of the message decide about this one, and this process did not see them or forgot them. */
  knows(event: DeliveryEvent): boolean {
    if (!dependsOnEarlier(event)) return true;
    return ((this.#messages.get(event.messageId) ?? 0) & (complete | publishedEnd)) !== 0;
  }

  /** The events of the message before those that come to `next` from now on, in the order of the stream. */
  learn(messageId: string, before: readonly DeliveryEvent[]): void {
    this.#messages.set(copyOfId(messageId), complete);
    for (const event of before) this.next(event);
  }

  /** For a reader who cannot look up what was before: all other segments have come so far, no copy was sent, no end came. */
  takeForLast({ kind, messageId, segments, segment }: DeliveryEvent): void {
    const others = segments <= 1 ? 0 : allOf(segments) & ~(1 << segment);
    const delivered = kind === 'delivered' ? others << deliveredFrom : 0;
    const seen = segments <= 1 ? (this.#messages.get(messageId) ?? 0) : 0;
    this.#messages.set(messageId, seen | complete | others | delivered);
  }

  /**
   * What clients get for this event, or null. Call it for every event of a message, in the order of the stream. What it
   * does not know counts as not having happened.
   */
  next(event: DeliveryEvent): DeliveryEvent | null {
    if (isFirst(event)) this.#begin(event);
    if (event.kind === 'hedged') this.#hedge(event);
    if (webhookTypeOfKind[event.kind] === undefined) return null;
    const shown = this.#ofCopies(event);
    return shown !== null && this.#isPublished(shown) ? shown : null;
  }

  #begin({ messageId }: DeliveryEvent): void {
    if (this.#messages.get(messageId) === undefined) this.#messages.set(copyOfId(messageId), complete);
  }

  #hedge(event: DeliveryEvent): void {
    if (event.segments > 1) return;
    const before = this.#messages.get(event.messageId) ?? 0;
    this.#messages.set(event.messageId, withCopies(before, copiesAfter(copiesIn(before), event)));
  }

  /** Null while another copy of the message may be delivered; `unknown` when what became of it is not known. */
  #ofCopies(event: DeliveryEvent): DeliveryEvent | null {
    if (event.segments > 1 || event.kind === 'delivered' || !isEnd(event.kind)) return event;
    const state = this.#messages.get(event.messageId) ?? 0;
    const before = copiesIn(state);
    if (before === noCopies) return event;
    const after = endOfCopy(before, event, event.kind);
    this.#messages.set(event.messageId, withCopies(state, after));
    const kind = statusOfCopies(after, event.kind);
    if (kind === null) return null;
    return kind === event.kind ? event : { ...event, kind };
  }

  #isPublished(event: DeliveryEvent): boolean {
    const { kind, messageId } = event;
    // One with a carrier is about a copy of a message that is delivered (model/copies.ts).
    if (kind === 'canceled' && event.carrier !== '') return false;
    const before = this.#messages.get(messageId) ?? 0;
    if (kind === 'received' || kind === 'opted_out' || kind === 'canceled') {
      const after = before | publishedAlone[kind];
      if (after !== before) this.#messages.set(messageId, after);
      return after !== before;
    }
    const after = this.#stateAfter(before, event);
    if (after !== before) this.#messages.set(messageId, after);
    return (after & ~before & (publishedSubmitted | publishedUnknown | publishedEnd)) !== 0;
  }

  #stateAfter(before: number, event: DeliveryEvent): number {
    const { kind, segments } = event;
    const isOver = (before & publishedEnd) !== 0;
    const isAlone = segments <= 1 || event.segment === 0;
    const all = allOf(segments);
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

const allOf = (segments: number): number => ((1 << segments) - 1) << 1;

/** A string decoded from a record is a slice of a longer one and keeps it in memory: 234 octets for each message, with a copy 79. */
const copyOfId = (id: string): string => Buffer.from(id, 'latin1').toString('latin1');
