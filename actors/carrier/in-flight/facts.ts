// Types that describe a message in flight: refusals, deferrals, what closes its intent, what is known of a submitted
// segment, the common fields of its PDUs; and its segments as bits.
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import type { DeliveryEvent, EventContext } from '../../../model/delivery-event.ts';
import type { ShortMessage } from '../../../smpp/pdu.ts';

export type EventSink = Pick<EventWriter, 'write'>;

export type Closing = {
  readonly segment: number;
  readonly attempt: number;
  readonly error: string;
  readonly detail: string;
};

/** How a message ends that was not submitted. canceled: the other of two copies is delivered. */
export type EndUnsent = 'expired' | 'blocked' | 'failed' | 'canceled';

/** The carrier's refusal of one segment. */
export type Refusal = {
  readonly status: number;
  readonly statusName: string;
  readonly segment: number;
  readonly attempt: number;
  /** The carrier was unavailable and did not refuse the message: this carrier stays in its plan. */
  readonly mayComeBack: boolean;
};

/** Of a message that is being deferred into LATER. */
export type Deferral = {
  readonly dueAtMs: number;
  readonly why: string;
  readonly attempt: number;
  /** The segment whose refusal closes an intent; null when no intent is open. */
  readonly refused: number | null;
  /** An earlier incarnation began the deferral and may have published it: then only LATER may have the message. */
  readonly isRepeat: boolean;
};

/**
 * What is known of a submitted segment: enough to write the event of its receipt. `atMs`: when it was answered, or
 * became unknown.
 */
export type Submitted = EventContext & Pick<DeliveryEvent, 'attempt' | 'segment' | 'carrierMessageId' | 'atMs'>;

/** The submit_sm fields that are the same for each segment of a message (SMPP 3.4, 4.4.1). */
export type SubmitHeader = Pick<
  ShortMessage,
  | 'serviceType'
  | 'sourceTon'
  | 'sourceNpi'
  | 'source'
  | 'destinationTon'
  | 'destinationNpi'
  | 'destination'
  | 'priority'
  | 'registeredDelivery'
>;

/** How often a wait checks whether outstanding segments were answered. */
export const waitAgainMs = 100;

/** Bits 1..count: all segments of a message. */
export const allSegmentBits = (count: number): number => ((1 << count) - 1) << 1;
