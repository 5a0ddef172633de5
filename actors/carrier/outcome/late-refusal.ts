// A refusal that comes after its response timer: the message is `unknown`, and now the carrier says that it did not take
// it. That settles the message, as `rejected` with the status. Nothing is sent again, here or elsewhere: the record that
// would bring a lost decision back is acked, and after `unknown` clients were promised no further copy (decision 61).
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import type { CarrierConfig } from '../../../config/configuration.ts';
import { type DeliveryEvent, eventOfMessage } from '../../../model/delivery-event.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { nameOfStatus, statusLabel } from '../../../smpp/command-status.ts';
import type { Refusal } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';
import { reportedSegmentOf } from '../submit/submit-pdu.ts';
import { type Outcome, decideOutcome } from './outcome.ts';
import { type CooldownParts, coolDownCarrier } from './carrier-cooldown.ts';

export type LateRefusalParts = CooldownParts & {
  readonly carrier: Pick<CarrierConfig, 'name' | 'errors'>;
  readonly events: EventWriter;
  /** No receipt that still comes is this submit's. */
  readonly onNotTaken: (rejected: DeliveryEvent) => void;
  readonly onOutcome: (inFlight: InFlightMessage, refusal: Refusal, outcome: Outcome) => void;
};

export function refusedLate(
  parts: LateRefusalParts,
  { inFlight, segment, attempt }: SubmitToken,
  status: number,
): void {
  const { carrier, clock, events, onNotTaken, onOutcome } = parts;
  const statusName = nameOfStatus(status);
  metrics.submitResponses.inc({ carrier: carrier.name, status: statusLabel(status) });
  const outcome = decideOutcome({
    status,
    statusName,
    category: inFlight.category,
    attempt: inFlight.message.delays + inFlight.tries,
    overrides: carrier.errors,
    alternative: 'none',
  });
  coolDownCarrier(parts, outcome, statusName);
  // Another copy was decided, and what becomes of that this refusal does not know.
  const ends = inFlight.message.resends === 0;
  const verdict = ends ? ({ action: 'reject' } as const) : outcome;
  onOutcome(inFlight, { status, statusName: `${statusName}, late`, segment, attempt, mayComeBack: false }, verdict);
  const rejected = eventOfMessage(inFlight.message, {
    kind: 'rejected',
    segment: reportedSegmentOf(inFlight.message, inFlight.pdus, segment),
    attempt,
    error: statusName,
    epoch: inFlight.epoch,
    atMs: clock.nowMs(),
  });
  onNotTaken(rejected);
  // Not durable means that we stop: then it stays `unknown`, which is true as well.
  if (ends) events.write(rejected, () => {}, inFlight.category === 'otp');
}
