// What an answer (or its absence) does to a held message: the events it becomes, and what happens to the
// record afterwards. The one rule of this page: the record is acked only when every event of the message is
// durable. Whatever kills us before that, the redelivered record finds the events and is only acked again.
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import type { CarrierConfig } from '../../../config/configuration.ts';
import { type DeliveryEvent, type EventKind, type Happening, eventOfMessage } from '../../../model/delivery-event.ts';
import type { EventStoreAnswer } from '../../ask-event-store.ts';
import type { Message } from '../../../model/message.ts';
import type { Clock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { commandStatus, nameOfStatus, statusLabel } from '../../../smpp/command-status.ts';
import { attemptNumber, delaysOf, holdKey } from '../in-flight/attempt.ts';
import { type Closing, type Refusal, waitAgainMs } from '../in-flight/facts.ts';
import type { InFlightMessage, WriteEnd } from '../in-flight/in-flight-message.ts';
import type { Intake } from '../intake/intake.ts';
import type { Ledger } from '../repeats/ledger.ts';
import { type NextStep, nextStep } from './next-step.ts';
import { type Outcome, decideOutcome } from './outcome.ts';
import type { Pacing } from '../pacing/pacing.ts';
import { PutOffs } from './put-offs.ts';
import type { PutOff } from './put-off-event.ts';
import type { Reroute } from '../health/reroute.ts';
import { type ResendPolicy, Resend, endOf } from './resend.ts';
import { spareCarrier } from './spare-carrier.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';
import { segmentToldOf, segmentsOf } from '../submit/submit-pdu.ts';
import type { Submitted } from '../receipts/submit-store.ts';

export type SettlementParts = {
  readonly carrier: CarrierConfig;
  readonly publisher: Publisher;
  readonly events: EventWriter;
  readonly cipher: BodyCipher;
  readonly pacing: Pick<Pacing, 'pauseUntil' | 'slowDown'>;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** No event written from now on gets a lower sequence. */
  readonly nextSeq: () => number;
  readonly intake: () => Intake;
  readonly reroute: () => Reroute;
  /** Why the carrier is avoided right now; empty when it is not. */
  readonly whyAvoided: () => string;
  /** What is sent once more when its outcome is unknown. */
  readonly resendUnknown: ResendPolicy;
  /** A segment was taken by the carrier: its receipt may come from now on. */
  readonly onSubmitted: (submitted: DeliveryEvent) => void;
  /** The outcome of a submit is not known: a late receipt may still tell. */
  readonly onUnknown: (unknown: DeliveryEvent) => void;
  /** What a refusal is taken for. */
  readonly onVerdict?: (held: InFlightMessage, refusal: Refusal, outcome: Outcome) => void;
  /** Whether the carrier has begun with a message, by its recorded events. */
  readonly wasBegun: (message: Message) => Promise<EventStoreAnswer>;
};

export type SubmitAnswer = { readonly status: number; readonly carrierMessageId: string };

export class Settlement {
  readonly #parts: SettlementParts;
  readonly #resend: Resend;
  readonly #putOffs: PutOffs;

  constructor(parts: SettlementParts) {
    this.#parts = parts;
    this.#resend = new Resend({
      carrier: parts.carrier.name,
      clock: parts.clock,
      policy: parts.resendUnknown,
      write: (held, happening) => this.#write(held, happening),
      onUnknown: parts.onUnknown,
      tryAgain: (held) => parts.intake().tryAgain(held),
      rest: (held, afterMs) => this.#wait(held, afterMs),
      finish: (held) => this.#finishWhenDone(held),
    });
    this.#putOffs = new PutOffs({
      ...parts,
      tell: (held, happening, then) => void this.#write(held, happening, then),
      settle: (held) => this.#settle(held),
      rest: (held, afterMs) => this.#wait(held, afterMs),
    });
  }

  /** submit_sm_resp. */
  onAnswer(token: SubmitToken, answer: SubmitAnswer): void {
    const { held, segment, attempt } = token;
    held.answered(segment);
    const statusName = nameOfStatus(answer.status);
    metrics.submitResponses.inc({ carrier: this.#parts.carrier.name, status: statusLabel(answer.status) });
    if (answer.status === commandStatus.ESME_ROK) this.#taken(held, segment, attempt, answer.carrierMessageId);
    else {
      held.lastRefusal = statusName;
      this.#refused(held, { status: answer.status, statusName, segment, attempt, mayComeBack: false });
    }
    this.#closeWhenAnswered(held);
  }

  #refused(held: InFlightMessage, refusal: Refusal): void {
    const { carrier } = this.#parts;
    const { statusName } = refusal;
    // Once the carrier has a part of it, it can go nowhere else.
    const mayLeave = !held.isPartAccepted && held.state !== 'settling' && held.state !== 'resending';
    const otherWay = mayLeave ? this.#parts.reroute().otherWay(held.message) : null;
    const outcome = decideOutcome({
      status: refusal.status,
      statusName,
      category: held.category,
      attempt: held.message.delays + held.tries,
      overrides: carrier.errors,
      otherWay: otherWay?.how ?? 'none',
    });
    this.#parts.onVerdict?.(held, refusal, outcome);
    spareCarrier(this.#parts, outcome, statusName);
    this.#carryOut(held, refusal, nextStep(held, refusal, outcome));
  }

  #carryOut(held: InFlightMessage, refusal: Refusal, step: NextStep): void {
    const { segment, attempt, statusName: error } = refusal;
    switch (step.do) {
      case 'reject': {
        const atMs = this.#parts.clock.nowMs();
        this.#write(held, { ...endOf(held.message, 'rejected', error), segment, attempt, atMs });
        return this.#settle(held);
      }
      case 'finish':
        return this.#finishWhenDone(held);
      case 'resend':
        return this.#resend.goOn(held);
      case 'leave':
        return this.#leave(held, step.refusal);
      case 'defer':
        return this.#putOffs.begin(held, error, step.afterMs, segment);
      case 'retry':
        this.#close(held, { segment, attempt, error, detail: String(held.tries) });
        return this.#wait(held, step.afterMs);
      case 'awaitRedelivery':
        return this.#close(held, { segment, attempt, error, detail: String(held.tries) });
    }
  }

  #leave(held: InFlightMessage, refusal: Refusal): void {
    held.leave(refusal);
    if (held.isOut) return;
    held.endLeaving();
    const way = held.isUntouched ? this.#parts.reroute().otherWay(held.message) : null;
    // Without a way the carrier has taken a part meanwhile: the rest has to stay with it.
    if (way === null) return this.#refused(held, refusal);
    this.#parts.reroute().go(held, way.to, refusal.statusName, refusal.mayComeBack);
  }

  /** No answer came, or the session ended first: whether the carrier took it, nobody knows. */
  onNoAnswer(token: SubmitToken, why: string): void {
    token.held.answered(token.segment);
    this.#becomeUnknown(token.held, token.segment, token.attempt, why);
    this.#closeWhenAnswered(token.held);
  }

  /** An answer that came after its time took the segment. What it returns is called when that is durable. */
  onLateTaken({ held, segment }: SubmitToken): () => void {
    return this.#resend.arrived(held, segment);
  }

  /** A receipt told what became of a submit. What it returns is called when that is durable. */
  onReceipt({ messageId, hop, attempt, segment }: Submitted, kind: EventKind): () => void {
    const held = this.#parts.intake().find(holdKey(messageId, hop, delaysOf(attempt)));
    return this.#resend.arrived(held, segment, kind !== 'delivered');
  }

  /**
   * The record's intent was written by an earlier life that left no outcome. Each segment without one is told by
   * itself: one segment's receipt must not speak for the others.
   */
  onUnresolved(held: InFlightMessage): void {
    const attempt = attemptNumber(held.message.delays, held.tries);
    try {
      held.pdus = segmentsOf(held.message, this.#parts.carrier);
    } catch (error) {
      ignoring(error, 'the configuration changed since: the message is told as a whole');
    }
    metrics.carrierUnknown.inc({ carrier: this.#parts.carrier.name, category: held.category });
    const open = held.pdus.length === 0 ? [0] : held.segmentsToSend();
    const why = 'no_outcome_after_restart';
    const again = open.filter((segment) => this.#resend.take(held, segment, attempt, why));
    if (again.length > 0) return;
    for (const segment of open) this.#tellUnknown(held, segment, attempt, why);
    this.#settle(held);
  }

  /** The message ends before it was written. */
  onRefused(held: InFlightMessage, status: 'expired' | 'blocked' | 'failed', code: string): void {
    const attempt = attemptNumber(held.message.delays, held.tries);
    // Why it could not go out in time is what the client wants to know.
    const reason = status === 'expired' ? (held.lastRefusal ?? this.#parts.whyAvoided()) : '';
    const error = reason === '' ? code : `${code}:${reason}`;
    this.#write(held, { ...endOf(held.message, status, error), attempt, atMs: this.#parts.clock.nowMs() });
    this.#settle(held);
  }

  /** It came into hours in which its category keeps quiet: it comes back when they end. */
  onPutOff(held: InFlightMessage, code: string, untilMs: number): void {
    this.#putOffs.begin(held, code, Math.max(0, untilMs - this.#parts.clock.nowMs()), null);
  }

  /** An earlier life was putting it off: whether LATER has it, nobody knows. */
  onPutOffBefore(held: InFlightMessage, before: PutOff): void {
    this.#putOffs.repeat(held, before);
  }

  /** Its hold had lapsed, and the record came back: it goes on when what is out of it was answered. */
  onRegained(held: InFlightMessage): void {
    if (held.isResendDecided) {
      held.goOnResending();
      this.#resend.goOn(held);
    } else if (held.isOut) this.#wait(held, waitAgainMs);
    else this.#parts.intake().tryAgain(held);
  }

  /**
   * Its intent is durable but nothing more of it is written now (its hold lapsed, or we stop). Told, so that the next
   * owner sends it instead of taking it for `unknown`.
   */
  onNotWritten(held: InFlightMessage): void {
    const attempt = attemptNumber(held.message.delays, held.tries);
    const segment = held.segmentsToSend()[0] ?? 1;
    this.#close(held, { segment, attempt, error: 'not_written', detail: `not_written.${held.tries}` });
  }

  #taken(held: InFlightMessage, segment: number, attempt: number, carrierMessageId: string): void {
    held.accept(segment);
    const submitted = this.#write(held, {
      kind: 'submitted',
      segment: segmentToldOf(held.message, held.pdus, segment),
      attempt,
      carrierMessageId,
      atMs: this.#parts.clock.nowMs(),
    });
    this.#parts.onSubmitted(submitted);
    if (held.isAllAccepted) return this.#settle(held);
    if (held.leaving !== null) return this.#leave(held, held.leaving);
    this.#finishWhenDone(held);
  }

  #becomeUnknown(held: InFlightMessage, segment: number, attempt: number, why: string): void {
    metrics.carrierUnknown.inc({ carrier: this.#parts.carrier.name, category: held.category });
    if (this.#resend.take(held, segment, attempt, why)) return;
    this.#tellUnknown(held, segment, attempt, why);
    this.#settle(held);
  }

  #tellUnknown(held: InFlightMessage, segment: number, attempt: number, why: string): void {
    const unknown = this.#write(held, {
      kind: 'unknown',
      segment: segmentToldOf(held.message, held.pdus, segment),
      attempt,
      error: why,
      atMs: this.#parts.clock.nowMs(),
    });
    this.#parts.onUnknown(unknown);
  }

  /** Tells that its intent is over, as soon as no segment of it is out: what is out is still covered by that intent. */
  #close(held: InFlightMessage, closing: Closing): void {
    held.closeIntent(closing);
    this.#closeWhenAnswered(held);
  }

  #closeWhenAnswered(held: InFlightMessage): void {
    const closing = held.takeClosing();
    // Where it goes is told already, and closes it.
    if (closing === null || held.state === 'rerouting') return;
    const { nextSeq, clock } = this.#parts;
    const fromSeq = nextSeq();
    const deferred = { ...closing, kind: 'deferred', progress: held.progress, atMs: clock.nowMs() } as const;
    // Whoever reads it knows what the carrier has of the message, and need not look further back.
    this.#write(held, deferred, () => (held.neededFromSeq = Math.min(fromSeq, nextSeq())));
  }

  /** Back to its lane after the wait, and not before the segments still out are answered or given up. */
  #wait(held: InFlightMessage, afterMs: number): void {
    held.wait(this.#parts.clock, afterMs, this.#tryAgain);
  }

  readonly #tryAgain = (held: InFlightMessage): void => this.#parts.intake().tryAgain(held);

  #write(held: InFlightMessage, happening: Happening, then: (() => void) | null = null): DeliveryEvent {
    const event = eventOfMessage(held.message, { epoch: held.epoch, ...happening });
    held.write(this.#parts.events, event, this.#isWritten, then);
    return event;
  }

  readonly #isWritten: WriteEnd<(() => void) | null> = (held, durable, then) => {
    if (!durable) return;
    if (then !== null) then();
    this.#finishWhenDone(held);
  };

  #settle(held: InFlightMessage): void {
    held.settle();
    this.#finishWhenDone(held);
  }

  /** Its end is durable elsewhere: acks its record when nothing of it is on its way any more. */
  settle(held: InFlightMessage): void {
    this.#settle(held);
  }

  #finishWhenDone(held: InFlightMessage): void {
    this.#resend.goOn(held);
    if (!held.isDone) return;
    this.#parts.ledger.settle(held.key);
    this.#parts.intake().release(held);
    held.record.ack();
  }
}
