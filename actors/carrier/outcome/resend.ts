// Sends a message once more when its outcome is unknown and its account's policy says so. The decision is an event
// (`resent`), durable before the message returns to its lane; its mark travels with the message over waits, restarts
// and other carriers, so that there is never a third copy. A late answer or a receipt that shows that the first arrived
// cancels the second.
import type { EventKind } from '../../../model/delivery-event.ts';
import type { Message } from '../../../model/message.ts';
import type { Clock } from '../../../platform/clock.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { delaysOf, deliveryKey } from '../in-flight/attempt.ts';
import type { Submitted } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';
import type { MessagesInFlight } from '../queue/messages-in-flight.ts';
import { reportedSegmentOf } from '../submit/submit-pdu.ts';
import type { Completion } from './completion.ts';
import type { UnknownSubmits } from './unknown-submits.ts';

/** Whether an account wants messages of this category sent once more when their outcome is unknown. */
export type ResendPolicy = (message: Pick<Message, 'accountId' | 'category'>) => boolean;

export const neverResend: ResendPolicy = () => false;

export type ResendParts = {
  readonly carrier: string;
  readonly clock: Clock;
  readonly policy: ResendPolicy;
  readonly messages: Pick<MessagesInFlight, 'find'>;
  readonly completion: Pick<Completion, 'write' | 'finishWhenDone'>;
  /** A late receipt may still settle a segment. */
  readonly unknown: Pick<UnknownSubmits, 'add'>;
};

export class Resend {
  readonly #parts: ResendParts;

  constructor(parts: ResendParts) {
    this.#parts = parts;
  }

  /**
   * A segment was submitted and its outcome is unknown: true when it is sent again. Of a long message only the segments
   * that were not accepted are sent again, under the same reference: the phone assembles them, or recognises a copy.
   */
  take(inFlight: InFlightMessage, segment: number, attempt: number, why: string): boolean {
    const { carrier, clock, policy, completion, unknown } = this.#parts;
    if (inFlight.state === 'settling') return false;
    if (!inFlight.isResendDecided) {
      if (inFlight.message.resends > 0 || isOneOfTwo(inFlight)) return false;
      if (clock.nowMs() >= inFlight.message.validUntilMs || !policy(inFlight.message)) return false;
      inFlight.sendOnceMore();
      metrics.resentByPolicy.inc({ carrier, category: inFlight.category });
    }
    const error = `resent_by_policy:${why}`;
    const reportedSegment = segment === 0 ? 0 : reportedSegmentOf(inFlight.message, inFlight.pdus, segment);
    unknown.add(completion.write(inFlight, { kind: 'resent', segment: reportedSegment, attempt, error }));
    return true;
  }

  /** A late answer accepted the segment. Call the function it returns once the event of that is durable. */
  onLateAccepted({ inFlight, segment }: SubmitToken): () => void {
    return this.#arrived(inFlight, segment);
  }

  /** A receipt settles a submit. Call the function it returns once the event of that is durable. */
  onReceipt({ messageId, hop, attempt, segment }: Submitted, kind: EventKind): () => void {
    const inFlight = this.#parts.messages.find(deliveryKey(messageId, hop, delaysOf(attempt)));
    return this.#arrived(inFlight, segment, kind !== 'delivered');
  }

  /**
   * The carrier did accept this segment (0: all of it). `ends`: it also reported that the message failed. Call what it
   * returns when the event is durable.
   */
  #arrived(inFlight: InFlightMessage | undefined, segment: number, ends = false): () => void {
    if (inFlight === undefined || inFlight.message.resends === 0 || !waiting.has(inFlight.state)) return () => {};
    inFlight.accept(segment);
    const release = inFlight.hold();
    if (ends || inFlight.isAllAccepted) inFlight.settle();
    return () => {
      release();
      this.#parts.completion.finishWhenDone(inFlight);
    };
  }
}

/** Another copy of it is at another carrier: there is no third. */
const isOneOfTwo = ({ hedged, message }: InFlightMessage) => hedged === 'copied' || message.hedge === 'copy';

/** The second copy waits and was not handed to a bind: nothing of it can be on the wire. */
const waiting: ReadonlySet<InFlightMessage['state']> = new Set(['resending', 'waiting', 'queued']);

/**
 * How a message ends that is not sent any more. When a carrier may have a copy, only that copy's receipt decides: so
 * it ends `unknown`, which a receipt may still settle, with the reason why the second copy was not sent.
 */
export function endOf(message: Message, kind: EventKind, error: string): { kind: EventKind; error: string } {
  return message.resends === 0 ? { kind, error } : { kind: 'unknown', error: `not_resent:${error}` };
}
