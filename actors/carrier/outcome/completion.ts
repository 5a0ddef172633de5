// Ends a message: writes its events, waits, and acks. One rule: a record is acked only when every event of its message
// is durable and no segment is out. After a crash before that, the redelivered record finds the events and is only
// acked again.
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

type DraftNow = Omit<EventDraft, 'atMs' | 'epoch'>;

export class Completion {
  readonly #parts: CompletionParts;

  constructor(parts: CompletionParts) {
    this.#parts = parts;
  }

  /** Writes an event of it, as of now; calls `then` when it is durable. The ack waits for that. */
  write(inFlight: InFlightMessage, draft: DraftNow, then: (() => void) | null = null): DeliveryEvent {
    const { message, epoch } = inFlight;
    const event = eventOfMessage(message, { epoch, atMs: this.#parts.clock.nowMs(), ...draft });
    inFlight.write(this.#parts.events, event, this.#isWritten, then);
    return event;
  }

  /** Its outcome is decided: only its events and its ack are left. */
  settle(inFlight: InFlightMessage): void {
    inFlight.settle();
    this.finishWhenDone(inFlight);
  }

  /** Acks its record when nothing of it is pending any more. */
  finishWhenDone(inFlight: InFlightMessage): void {
    this.goOnResending(inFlight);
    if (!inFlight.isDone) return;
    this.#parts.replayIndex.settle(inFlight.key);
    this.#parts.messages.release(inFlight);
    inFlight.record.ack();
  }

  /** Returns it to its lane to be sent once more, when that is durable and every other segment is answered. */
  goOnResending(inFlight: InFlightMessage): void {
    if (inFlight.state !== 'resending' || inFlight.isOut || inFlight.pendingWrites > 0) return;
    if (inFlight.category === 'otp') this.#parts.messages.tryAgain(inFlight);
    else this.wait(inFlight, limits.carrier.resendWaitMs);
  }

  /** Returns it to its lane after the wait, and not before its outstanding segments are answered or given up. */
  wait(inFlight: InFlightMessage, afterMs: number): void {
    inFlight.wait(this.#parts.clock, afterMs, this.#tryAgain);
  }

  /** Publishes that its intent is over, when no segment is out: what is out is still covered by that intent. */
  closeIntent(inFlight: InFlightMessage, closing: Closing): void {
    inFlight.closeIntent(closing);
    this.closeWhenAnswered(inFlight);
  }

  closeWhenAnswered(inFlight: InFlightMessage): void {
    const closing = inFlight.takeClosing();
    // Its `rerouted` event is published already, and closes it.
    if (closing === null || inFlight.state === 'rerouting') return;
    const { sequence } = this.#parts;
    const fromSeq = sequence.next;
    const deferred = { ...closing, kind: 'deferred', progress: inFlight.progress } as const;
    // This event says what the carrier has of the message: a restart need not read earlier ones.
    this.write(inFlight, deferred, () => (inFlight.neededFromSeq = Math.min(fromSeq, sequence.next)));
  }

  readonly #tryAgain = (inFlight: InFlightMessage): void => this.#parts.messages.tryAgain(inFlight);

  readonly #isWritten: WriteEnd<(() => void) | null> = (inFlight, durable, then) => {
    if (!durable) return;
    if (then !== null) then();
    this.finishWhenDone(inFlight);
  };
}
