// Dispatches what arrives over a carrier's binds: answers to carry-out, receipts to their message, subscribers'
// messages to the inbound actor. Each event is also reported to health, which judges the carrier by nothing else.
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import { eventOfMessage } from '../../model/delivery-event.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log, maskNumber } from '../../platform/log.ts';
import { LogThrottle } from '../../platform/log-throttle.ts';
import { metrics } from '../../platform/telemetry.ts';
import { commandStatus } from '../../model/command-status.ts';
import type { ShortMessagePdu } from '../../smpp/pdu.ts';
import { parseReceipt } from '../../smpp/receipt.ts';
import type { Respond, SubmitResponse } from '../../smpp/session-contract.ts';
import type { DeliverSmHandler, Source } from '../inbound/deliver-sm-handler.ts';
import type { BindHandlers } from './binds/binds.ts';
import type { CarryOut } from './carry-out.ts';
import type { CarrierHealth } from './failover/health.ts';
import type { CopyCancels } from './failover/copy-cancels.ts';
import type { ReceiptHedges } from './failover/receipt-hedges.ts';
import type { ResponseHedges } from './failover/response-hedges.ts';
import type { SubmitToken } from './in-flight/submit-token.ts';
import { isCarriersDoing } from './outcome/outcome.ts';
import type { Resend } from './outcome/resend.ts';
import type { Settlement } from './outcome/settlement.ts';
import type { Pacing } from './pacing/pacing.ts';
import type { OtpObservations } from './receipts/otp-observations.ts';
import type { QueryUnknown } from './receipts/query-unknown.ts';
import { type Receipts, type RecipientOf, withNumbers } from './receipts/receipts.ts';
import { reportedSegmentOf, submitPdu } from './submit/submit-pdu.ts';
import type { Sender } from './submit/sender.ts';

export type BindEventsParts = {
  readonly carrier: CarrierConfig;
  readonly clock: Clock;
  readonly health: CarrierHealth;
  readonly pacing: Pick<Pacing, 'answered' | 'unanswered'>;
  readonly resend: Pick<Resend, 'onLateAccepted'>;
  readonly carryOut: CarryOut;
  readonly receipts: Receipts;
  readonly inbound: DeliverSmHandler;
  readonly events: EventWriter;
  readonly sender: Pick<Sender, 'wake'>;
  readonly settlement: Pick<Settlement, 'onLateRefusal'>;
  readonly responseHedges: Pick<ResponseHedges, 'onAnswer'>;
  readonly receiptHedges: Pick<ReceiptHedges, 'onAccepted'>;
  readonly cancels: Pick<CopyCancels, 'onAccepted'>;
  readonly otpObservations: Pick<OtpObservations, 'onTaken'>;
  readonly recipientOf: RecipientOf;
  /** Null where the carrier is not queried about submits that were answered late. */
  readonly queryUnknown: QueryUnknown | null;
};

export class BindEvents implements BindHandlers {
  readonly #parts: BindEventsParts;
  readonly #unreadable: LogThrottle;
  readonly #roundTrip;

  constructor(parts: BindEventsParts) {
    this.#parts = parts;
    this.#unreadable = new LogThrottle(limits.carrier.receiptLogEveryMs, parts.clock);
    this.#roundTrip = metrics.submitRoundTrip.tally({ carrier: parts.carrier.name });
  }

  onAnswer(token: SubmitToken, answer: SubmitResponse): void {
    const { carrier, clock, pacing, health, responseHedges, receiptHedges, cancels, otpObservations, carryOut } =
      this.#parts;
    const nowMs = clock.monotonicMs();
    const tookMs = nowMs - token.writtenAtMs;
    pacing.answered(token, nowMs);
    health.onAnswer(isCarriersDoing(answer.status, carrier.errors), tookMs);
    if (answer.status === commandStatus.ESME_ROK) {
      health.onSubmitted();
      receiptHedges.onAccepted(token, answer.carrierMessageId);
      cancels.onAccepted(token.inFlight, answer.carrierMessageId);
      otpObservations.onTaken(token.inFlight);
    }
    responseHedges.onAnswer(tookMs);
    this.#roundTrip.observe(tookMs / 1_000);
    carryOut.onAnswer(token, answer);
  }

  onNoAnswer(token: SubmitToken, why: string): void {
    const { clock, pacing, health, responseHedges, carryOut } = this.#parts;
    const nowMs = clock.monotonicMs();
    // The binds report a session that ends; only silence on an open session counts against the carrier.
    if (why === 'no_response') {
      health.onNoAnswer();
      responseHedges.onAnswer(nowMs - token.writtenAtMs);
    }
    pacing.unanswered(token, nowMs);
    carryOut.onNoAnswer(token, why);
  }

  /** The message is `unknown` already, or about to be sent again; the carrier's id lets its receipt settle it. */
  onLateAnswer(token: SubmitToken, answer: SubmitResponse): void {
    const { clock, resend, events, receipts, cancels, otpObservations } = this.#parts;
    if (answer.status !== commandStatus.ESME_ROK) return this.#refusedLate(token, answer.status);
    const { inFlight, segment, attempt } = token;
    cancels.onAccepted(inFlight, answer.carrierMessageId);
    otpObservations.onTaken(inFlight);
    const submitted = eventOfMessage(inFlight.message, {
      kind: 'submitted',
      segment: reportedSegmentOf(inFlight.message, inFlight.pdus, segment),
      attempt,
      carrierMessageId: answer.carrierMessageId,
      atMs: clock.nowMs(),
    });
    const onDurable = resend.onLateAccepted(token);
    events.write(submitted, (durable) => durable && onDurable());
    receipts.onSubmitted(submitted);
    this.#askLater(token, answer.carrierMessageId);
  }

  /** A deliver_sm or data_sm (SMPP 3.4, 4.6 and 4.7). `source`: the session it arrived over. */
  onDeliver(pdu: ShortMessagePdu, respond: Respond, source: Source): void {
    const reading = parseReceipt(pdu);
    if (reading.kind === 'receipt') {
      this.#parts.health.onReceipt();
      return this.#parts.receipts.take(withNumbers(reading.receipt, pdu, this.#parts.recipientOf), respond);
    }
    if (reading.kind === 'not_a_receipt') return this.#parts.inbound.take(pdu, source, respond);
    this.#refuseUnreadable(pdu, respond, source);
  }

  /** Capacity to submit has grown. */
  onRoom(): void {
    this.#parts.sender.wake();
  }

  #refusedLate(token: SubmitToken, status: number): void {
    const { settlement, receipts, events } = this.#parts;
    const rejected = settlement.onLateRefusal(token, status);
    // No later receipt can belong to this submit.
    receipts.learn(rejected);
    const { message, category } = token.inFlight;
    // Not durable means that we stop: the message then stays `unknown`, which is also true.
    if (message.resends === 0) events.write(rejected, () => {}, category === 'otp');
  }

  /** Its receipt may be lost: queries the carrier for the message's state. */
  #askLater({ inFlight, segment }: SubmitToken, carrierMessageId: string): void {
    const { queryUnknown, carrier, clock } = this.#parts;
    const { message, pdus } = inFlight;
    const carried = pdus[segment - 1];
    if (queryUnknown === null || carried === undefined) return;
    queryUnknown.watch(carrierMessageId, submitPdu(message, carried, carrier, clock.nowMs()), message.recipient);
  }

  /** It claims to be a receipt and names no message: refused permanently, so that the carrier does not repeat it. */
  #refuseUnreadable(pdu: ShortMessagePdu, respond: Respond, source: Source): void {
    const carrier = this.#parts.carrier.name;
    metrics.receipts.inc({ carrier, ended: 'unreadable' });
    respond(commandStatus.ESME_RX_R_APPN);
    const suppressed = this.#unreadable.allow();
    if (suppressed === null) return;
    const facts = {
      carrier,
      bind: source.bind,
      source: maskNumber(pdu.source),
      destination: maskNumber(pdu.destination),
      answer: 'ESME_RX_R_APPN',
      ...(suppressed > 0 ? { suppressed } : {}),
    };
    log.warn(facts, 'a receipt that names no message was refused');
  }
}
