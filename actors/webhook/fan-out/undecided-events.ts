// Events of which memory does not say what clients get (client-events.ts): of a message whose earlier events came before
// this process, or so long ago that they were forgotten. They wait here, in stream order for each message, until the event
// store says what came before them: it reads the messages that are asked for at once in one statement. It is asked until
// it answers; what waits when the process stops is read again by the next one.
import { type GetMessageReply, querySubjects } from '../../../analytics/contract.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { unpackEvent } from '../../../model/records/event-record.ts';
import type { Clock } from '../../../platform/clock.ts';
import { untilDone, withDeadline } from '../../../platform/deadline.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { LogThrottle } from '../../../platform/log-throttle.ts';
import { queryEventStore } from '../../ask-event-store.ts';
import type { ClientEvents } from './client-events.ts';

type UndecidedParts = {
  readonly bus: Bus;
  readonly clientEvents: ClientEvents;
  readonly clock: Clock;
};

type Undecided = { readonly event: DeliveryEvent; readonly decided: (shown: DeliveryEvent | null) => void };

const { undecidedMax, undecidedAskedMax, answerMs, waitLogEveryMs } = limits.delivery;

export class UndecidedEvents {
  readonly #parts: UndecidedParts;
  readonly #waiting = new Map<string, Undecided[]>();
  /** The first event of each message that was not asked for yet. */
  readonly #toAsk: DeliveryEvent[] = [];
  #asked = 0;
  #count = 0;
  /** The last answer was none. */
  #isAway = false;
  readonly #stopping = new AbortController();
  #onIdle: () => void = () => {};
  readonly #logs: LogThrottle;

  constructor(parts: UndecidedParts) {
    this.#parts = parts;
    this.#logs = new LogThrottle(waitLogEveryMs, parts.clock);
  }

  get hasRoom(): boolean {
    return this.#count < undecidedMax;
  }

  /** Whether what comes of this message has to wait behind other events of it. */
  has({ messageId }: DeliveryEvent): boolean {
    return this.#waiting.size > 0 && this.#waiting.has(messageId);
  }

  /** `decided` with what clients get for the event, as by ClientEvents; not called when the process stops before. */
  add(event: DeliveryEvent, decided: Undecided['decided']): void {
    this.#count += 1;
    const others = this.#waiting.get(event.messageId);
    if (others !== undefined) {
      others.push({ event, decided });
      return;
    }
    this.#waiting.set(event.messageId, [{ event, decided }]);
    this.#toAsk.push(event);
    this.#askNext();
  }

  /**
   * Waits so long for answers, unless the event store is away: what is sent after an event that stays undecided is sent
   * again by the next process.
   */
  async stop(answersWithinMs: number): Promise<void> {
    const { clock } = this.#parts;
    if (this.#count > 0 && !this.#isAway && answersWithinMs > 0) {
      const idle = new Promise<void>((resolve) => (this.#onIdle = resolve));
      await withDeadline('what is undecided', answersWithinMs, idle, clock).catch((error: unknown) =>
        ignoring(error, 'the next process reads these events again'),
      );
    }
    this.#stopping.abort(new Error('the fan-out stops'));
  }

  #askNext(): void {
    while (this.#asked < undecidedAskedMax) {
      const first = this.#toAsk.shift();
      if (first === undefined) return;
      this.#asked += 1;
      void this.#decide(first).finally(() => {
        this.#asked -= 1;
        this.#askNext();
      });
    }
  }

  async #decide(first: DeliveryEvent): Promise<void> {
    const { clientEvents, clock } = this.#parts;
    const { signal: stopping } = this.#stopping;
    const again = (error: string) => this.#unavailable(error);
    const earlier = await untilDone(() => this.#earlierThan(first), again, { everyMs: answerMs, stopping, clock });
    if (earlier === null || stopping.aborted) return;
    this.#isAway = false;
    const { messageId } = first;
    const waiting = this.#waiting.get(messageId) ?? [];
    this.#waiting.delete(messageId);
    this.#count -= waiting.length;
    if (earlier === 'erased') log.info({ messageId }, 'an event of an erased message is not sent to webhooks');
    else clientEvents.learn(messageId, earlier);
    for (const { event, decided } of waiting) decided(earlier === 'erased' ? null : clientEvents.next(event));
    if (this.#count === 0) this.#onIdle();
  }

  /** Throws when the event store does not answer, or does not have everything up to this event. */
  async #earlierThan({ accountId, messageId, eventId }: DeliveryEvent): Promise<readonly DeliveryEvent[] | 'erased'> {
    const query = { accountId, messageId, upToDate: true, withEvents: true };
    const reply = await queryEventStore<GetMessageReply>(this.#parts.bus, querySubjects.get, query);
    if (reply.result === 'unavailable') throw new Error(reply.detail);
    // It would have the event itself: an erasure removed it.
    if (reply.result === 'none') return 'erased';
    if (reply.events === undefined) throw new Error('an analytics process of an older version answered');
    const events = reply.events.map((packed) => unpackEvent(Buffer.from(packed, 'base64')));
    const at = events.findIndex((each) => each.eventId === eventId);
    return at === -1 ? events : events.slice(0, at);
  }

  #unavailable(error: string): void {
    this.#isAway = true;
    this.#onIdle();
    if (this.#logs.allow() === null) return;
    log.warn({ error, events: this.#count }, 'events wait for the event store before they are sent to webhooks');
  }
}
