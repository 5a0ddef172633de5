// Brings a message to its end: writes its events, waits, and acks. The one rule: its record is acked only when every event
// of it is durable and nothing of it is out. Whatever kills us before that, the redelivered record finds the events and is
// only acked again.
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import { type DeliveryEvent, type EventDraft, eventOfMessage } from '../../../model/delivery-event.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import type { EventSequence } from '../deduplication/event-sequence.ts';
import type { ReplayIndex } from '../deduplication/replay-index.ts';
import type { Closing } from '../in-flight/facts.ts';
import type { InFlightMessage, WriteEnd } from '../in-flight/in-flight-message.ts';
import type { MessagesInFlight } from '../queue/messages-in-flight.ts';

export type CompletionParts = {
  readonly events: Pick<EventWriter, 'write'>;
  readonly messages: Pick<MessagesInFlight, 'tryAgain' | 'release'>;
  readonly replayIndex: Pick<ReplayIndex, 'settle'>;
  readonly sequence: Pick<EventSequence, 'next'>;
  readonly clock: Clock;
};

export class Completion {
  readonly #parts: CompletionParts;

  constructor(parts: CompletionParts) {
    this.#parts = parts;
  }

  /** Writes an event of it; `then` is called when it is durable, and its ack waits for that. */
  write(inFlight: InFlightMessage, draft: EventDraft, then: (() => void) | null = null): DeliveryEvent {
    const event = eventOfMessage(inFlight.message, { epoch: inFlight.epoch, ...draft });
    inFlight.write(this.#parts.events, event, this.#isWritten, then);
    return event;
  }

  /** Its outcome is decided: nothing but its events and its ack is left. */
  settle(inFlight: InFlightMessage): void {
    inFlight.settle();
    this.finishWhenDone(inFlight);
  }

  /** Acks its record when nothing of it is on its way any more. */
  finishWhenDone(inFlight: InFlightMessage): void {
    this.goOnResending(inFlight);
    if (!inFlight.isDone) return;
    this.#parts.replayIndex.settle(inFlight.key);
    this.#parts.messages.release(inFlight);
    inFlight.record.ack();
  }

  /** Sent once more: back to its lane, as soon as that is durable and every other segment of it was answered. */
  goOnResending(inFlight: InFlightMessage): void {
    if (inFlight.state !== 'resending' || inFlight.isOut || inFlight.pendingWrites > 0) return;
    if (inFlight.category === 'otp') this.#parts.messages.tryAgain(inFlight);
    else this.wait(inFlight, limits.carrier.resendWaitMs);
  }

  /** Back to its lane after the wait, and not before the segments still out are answered or given up. */
  wait(inFlight: InFlightMessage, afterMs: number): void {
    inFlight.wait(this.#parts.clock, afterMs, this.#tryAgain);
  }

  /** Publishes that its intent is over, as soon as no segment of it is out: what is out is still covered by that intent. */
  closeIntent(inFlight: InFlightMessage, closing: Closing): void {
    inFlight.closeIntent(closing);
    this.closeWhenAnswered(inFlight);
  }

  closeWhenAnswered(inFlight: InFlightMessage): void {
    const closing = inFlight.takeClosing();
    // Where it goes is published already, and closes it.
    if (closing === null || inFlight.state === 'rerouting') return;
    const { sequence, clock } = this.#parts;
    const fromSeq = sequence.next;
    const deferred = { ...closing, kind: 'deferred', progress: inFlight.progress, atMs: clock.nowMs() } as const;
    // Whoever reads it knows what the carrier has of the message, and need not look further back.
    this.write(inFlight, deferred, () => (inFlight.neededFromSeq = Math.min(fromSeq, sequence.next)));
  }

  readonly #tryAgain = (inFlight: InFlightMessage): void => this.#parts.messages.tryAgain(inFlight);

  readonly #isWritten: WriteEnd<(() => void) | null> = (inFlight, durable, then) => {
    if (!durable) return;
    if (then !== null) then();
    this.finishWhenDone(inFlight);
  };
}
