// What comes back over a carrier's binds, and who is told of it: answers to the settlement, receipts to the
// receipts, subscribers' messages to the inbound entry point, and all of it to health, which judges the carrier by nothing else.
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { log, maskNumber } from '../../../platform/log.ts';
import { LogThrottle } from '../../../platform/log-throttle.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { commandStatus } from '../../../smpp/command-status.ts';
import type { ShortMessagePdu } from '../../../smpp/pdu.ts';
import { parseReceipt } from '../../../smpp/receipt.ts';
import type { BindHandlers } from './binds.ts';
import type { CarrierHealth } from '../failover/health.ts';
import type { DeliverSmHandler, Source } from '../../inbound/deliver-sm-handler.ts';
import { isCarriersDoing } from '../outcome/outcome.ts';
import type { Pacing } from '../pacing/pacing.ts';
import { type RecipientOf, withNumbers } from '../receipts/receipt-numbers.ts';
import type { Respond } from '../../../smpp/session-contract.ts';
import type { Receipts } from '../receipts/receipts.ts';
import type { SubmitAnswer, SubmitToken } from '../in-flight/submit-token.ts';
import type { Settlement } from '../outcome/settlement.ts';
import { reportedSegmentOf } from '../submit/submit-pdu.ts';

export type FromBindsParts = {
  readonly carrier: string;
  readonly clock: Clock;
  readonly health: CarrierHealth;
  readonly pacing: Pick<Pacing, 'answered' | 'unanswered'>;
  readonly settlement: Settlement;
  readonly receipts: Receipts;
  readonly inbound: DeliverSmHandler;
  readonly events: EventWriter;
  /** What the carrier refuses after its response timer. */
  readonly onLateRefusal: (token: SubmitToken, status: number) => void;
  readonly recipientOf: RecipientOf;
  /** More can be submitted than a moment ago. */
  readonly onRoom: () => void;
};

export function fromBinds(parts: FromBindsParts): BindHandlers {
  const { carrier, clock, health, pacing, settlement, receipts, events, inbound } = parts;
  const unreadable = new LogThrottle(limits.carrier.receiptLogEveryMs, clock);
  const roundTrip = metrics.submitRoundTrip.labels({ carrier });

  function onAnswer(token: SubmitToken, answer: SubmitAnswer): void {
    const nowMs = clock.monotonicMs();
    const tookMs = nowMs - token.writtenAtMs;
    pacing.answered(token, nowMs);
    health.onAnswer(isCarriersDoing(answer.status), tookMs);
    if (answer.status === commandStatus.ESME_ROK) health.onSubmitted();
    roundTrip.observe(tookMs / 1_000);
    settlement.onAnswer(token, answer);
  }

  function onNoAnswer(token: SubmitToken, why: string): void {
    // A session that ends is told by its binds; only silence on an open session is a fault of the carrier.
    if (why === 'no_response') health.onNoAnswer();
    pacing.unanswered(token, clock.monotonicMs());
    settlement.onNoAnswer(token, why);
  }

  /** The message is `unknown` already, or about to be sent again; with its id its receipt can settle it. */
  function onLateAnswer(token: SubmitToken, answer: SubmitAnswer): void {
    if (answer.status !== commandStatus.ESME_ROK) return parts.onLateRefusal(token, answer.status);
    const { inFlight, segment, attempt } = token;
    const submitted = eventOfMessage(inFlight.message, {
      kind: 'submitted',
      segment: reportedSegmentOf(inFlight.message, inFlight.pdus, segment),
      attempt,
      carrierMessageId: answer.carrierMessageId,
      atMs: clock.nowMs(),
    });
    const onDurable = settlement.onLateTaken(token);
    events.write(submitted, (durable) => durable && onDurable());
    receipts.onSubmitted(submitted);
  }

  function onDeliver(pdu: ShortMessagePdu, respond: Respond, source?: Source): void {
    const reading = parseReceipt(pdu);
    if (reading.kind === 'receipt') {
      health.onReceipt();
      return receipts.take(withNumbers(reading.receipt, pdu, parts.recipientOf), respond);
    }
    if (reading.kind === 'not_a_receipt' && source !== undefined) return inbound.take(pdu, source, respond);
    // It claims to be a receipt and names no message: refused for good, so that the carrier does not repeat it.
    metrics.receipts.inc({ carrier, ended: 'unreadable' });
    respond(commandStatus.ESME_RX_R_APPN);
    const suppressed = unreadable.allow();
    if (suppressed === null) return;
    const facts = {
      carrier,
      bind: source?.bind,
      source: maskNumber(pdu.source),
      destination: maskNumber(pdu.destination),
      answer: 'ESME_RX_R_APPN',
      ...(suppressed > 0 ? { suppressed } : {}),
    };
    log.warn(facts, 'a receipt that names no message was refused');
  }

  return { onAnswer, onNoAnswer, onLateAnswer, onDeliver, onRoom: parts.onRoom };
}
