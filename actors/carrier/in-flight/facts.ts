// What a message in flight is told: refusals, deferrals, what closes its intent; what is known of a submitted segment, and
// what all its PDUs have in common. Types, and what its segments are as bits.
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import type { DeliveryEvent, EventContext } from '../../../model/delivery-event.ts';
import type { ShortMessage } from '../../../smpp/pdu.ts';

/** What an event writer is to a message. */
export type EventSink = Pick<EventWriter, 'write'>;

export type Closing = {
  readonly segment: number;
  readonly attempt: number;
  readonly error: string;
  readonly detail: string;
};

/** What the carrier said about one segment of it. */
export type Refusal = {
  readonly status: number;
  readonly statusName: string;
  readonly segment: number;
  readonly attempt: number;
  /** It was not the message that was refused: this carrier stays in its plan. */
  readonly mayComeBack: boolean;
};

/** A message on its way into LATER. */
export type Deferral = {
  readonly dueAtMs: number;
  readonly why: string;
  readonly attempt: number;
  /** The segment whose refusal closes an intent; null when no intent is open. */
  readonly refused: number | null;
  /** An earlier incarnation began with it, and may have come as far as the publish: then only LATER may have it. */
  readonly isRepeat: boolean;
};

/**
 * What is known of a submitted segment: enough to write the event that its receipt becomes. `atMs`: when it was
 * answered, or given up as unknown.
 */
export type Submitted = EventContext & Pick<DeliveryEvent, 'attempt' | 'segment' | 'carrierMessageId' | 'atMs'>;

/** The fields of a message's submit_sm that are the same for each of its segments, whenever it is written. */
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

/** What waits looks again this often while something of it is out. */
export const waitAgainMs = 100;

/** Bits 1..count: all segments of a message. */
export const allSegmentBits = (count: number): number => ((1 << count) - 1) << 1;
