// Decides from counters in memory whether a message can be accepted now: the clock, the fill of EVENTS, events not yet
// written, publishes in flight to its stream, its account's publish slots. The caller decides whether to wait.
import type { ClusterClock } from '../cluster/bus/cluster-clock.ts';
import type { EventWriter } from '../cluster/bus/event-writer.ts';
import type { Publisher } from '../cluster/bus/publisher.ts';
import type { StreamSpace } from '../cluster/bus/stream-space.ts';
import { laneSubject, waitFilter } from '../cluster/bus/subjects.ts';
import type { Message } from '../model/message.ts';
import type { SharedBound, Use } from '../platform/shared-bound.ts';
import { type AcceptanceRefusal, publisherBusy, refusal, refusalOfTaken } from './refusal.ts';

export type CapacityParts = {
  readonly clock: Pick<ClusterClock, 'agrees'>;
  readonly eventSpace: Pick<StreamSpace, 'isFull'>;
  readonly events: Pick<EventWriter, 'hasCapacity'>;
  readonly publisher: Pick<Publisher, 'hasCapacity'>;
  /** The `publish_slots` of this thread. */
  readonly slots: SharedBound;
};

type Bound = Pick<Message, 'category' | 'scheduledAtMs'>;

export class Capacity {
  readonly #parts: CapacityParts;

  constructor(parts: CapacityParts) {
    this.#parts = parts;
  }

  /** For work that depends on the right time and writes no events. */
  refuseWrongClock(): AcceptanceRefusal | null {
    return this.#parts.clock.agrees ? null : clockWrong;
  }

  /** Conditions that last for seconds: not even bulk work is accepted. Checked before a request is read. */
  refuseAll(): AcceptanceRefusal | null {
    return this.refuseWrongClock() ?? (this.#parts.eventSpace.isFull ? eventsFull : null);
  }

  /** For requests that cannot wait. */
  refuseNow(): AcceptanceRefusal | null {
    return this.refuseAll() ?? (this.#parts.events.hasCapacity ? null : eventsWait);
  }

  /** For one message: also checks the publishes in flight to its stream, which has its own bound. */
  refuseMessage({ category, scheduledAtMs }: Bound): AcceptanceRefusal | null {
    const full = this.refuseNow();
    if (full !== null) return full;
    const subject = scheduledAtMs === null ? laneSubject(category) : waitFilter('scheduled');
    return this.#parts.publisher.hasCapacity(subject) ? null : publisherBusy;
  }

  /** Whether a bulk message would be refused now, by its account's slots too. Takes no slot. */
  mustWait(message: Pick<Message, 'category' | 'scheduledAtMs' | 'accountId'>): boolean {
    return this.#parts.slots.look(message.accountId, 'ordinary') !== 'taken' || this.refuseMessage(message) !== null;
  }

  /** Takes a publish slot of the account; `giveBack` returns it. */
  take(accountId: string, use: Use): AcceptanceRefusal | null {
    return refusalOfTaken(this.#parts.slots, this.#parts.slots.take(accountId, use));
  }

  giveBack(accountId: string, use: Use): void {
    this.#parts.slots.giveBack(accountId, use);
  }
}

const clockWrong = refusal(
  'clock_wrong',
  'the clock of this machine differs from those of the other machines, or could not be compared yet',
  5,
);
const eventsFull = refusal('queue_full', 'the event stream is nearly full', 5);
const eventsWait = refusal('overloaded', 'too many events of accepted messages wait to be written', 1);
