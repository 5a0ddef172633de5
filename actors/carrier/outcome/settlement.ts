// What an answer (or its absence) does to a message in flight: the events it becomes, and what happens to the
// record afterwards. The one rule of this page: the record is acked only when every event of the message is
// durable. Whatever kills us before that, the redelivered record finds the events and is only acked again.
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import type { CarrierConfig } from '../../../config/configuration.ts';
import { type DeliveryEvent, type EventKind, type EventDraft, eventOfMessage } from '../../../model/delivery-event.ts';
import type { EventStoreAnswer } from '../../ask-event-store.ts';
import type { Message } from '../../../model/message.ts';
import type { Clock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { commandStatus, nameOfStatus, statusLabel } from '../../../smpp/command-status.ts';
import { attemptNumber, delaysOf, deliveryKey } from '../in-flight/attempt.ts';
import { type Closing, type Refusal, type Submitted, waitAgainMs } from '../in-flight/facts.ts';
import type { InFlightMessage, WriteEnd } from '../in-flight/in-flight-message.ts';
import type { Intake } from '../intake/intake.ts';
import type { ReplayIndex } from '../deduplication/replay-index.ts';
import { type NextStep, nextStep } from './next-step.ts';
import { type Outcome, decideOutcome } from './outcome.ts';
import type { Pacing } from '../pacing/pacing.ts';
import { Deferrals } from './deferrals.ts';
import type { LaterDeferral } from '../deduplication/deferral-event.ts';
import type { Reroute } from '../failover/reroute.ts';
import { type ResendPolicy, Resend, endOf } from './resend.ts';
import { coolDownCarrier } from './carrier-cooldown.ts';
import type { SubmitAnswer, SubmitToken } from '../in-flight/submit-token.ts';
import { reportedSegmentOf, segmentsOf } from '../submit/submit-pdu.ts';

export type SettlementParts = {
  readonly carrier: CarrierConfig;
  readonly publisher: Publisher;
  readonly events: EventWriter;
  readonly cipher: BodyCipher;
  readonly pacing: Pick<Pacing, 'pauseUntil' | 'slowDown'>;
  readonly replayIndex: ReplayIndex;
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
  readonly onOutcome?: (inFlight: InFlightMessage, refusal: Refusal, outcome: Outcome) => void;
  /** Whether the carrier has begun with a message, by its recorded events. */
  readonly wasBegun: (message: Message) => Promise<EventStoreAnswer>;
};

export class Settlement {
  readonly #parts: SettlementParts;
  readonly #resend: Resend;
  readonly #deferrals: Deferrals;

  constructor(parts: SettlementParts) {
    this.#parts = parts;
    this.#resend = new Resend({
      carrier: parts.carrier.name,
      clock: parts.clock,
      policy: parts.resendUnknown,
      write: (inFlight, draft) => this.#write(inFlight, draft),
      onUnknown: parts.onUnknown,
      tryAgain: (inFlight) => parts.intake().tryAgain(inFlight),
      rest: (inFlight, afterMs) => this.#wait(inFlight, afterMs),
      finish: (inFlight) => this.#finishWhenDone(inFlight),
    });
    this.#deferrals = new Deferrals({
      ...parts,
      write: (inFlight, draft, then) => void this.#write(inFlight, draft, then),
      settle: (inFlight) => this.#settle(inFlight),
      rest: (inFlight, afterMs) => this.#wait(inFlight, afterMs),
    });
  }

  /** submit_sm_resp. */
  onAnswer(token: SubmitToken, answer: SubmitAnswer): void {
    const { inFlight, segment, attempt } = token;
    inFlight.answered(segment);
    const statusName = nameOfStatus(answer.status);
    metrics.submitResponses.inc({ carrier: this.#parts.carrier.name, status: statusLabel(answer.status) });
    if (answer.status === commandStatus.ESME_ROK) this.#taken(inFlight, segment, attempt, answer.carrierMessageId);
    else {
      inFlight.lastRefusal = statusName;
      this.#refused(inFlight, { status: answer.status, statusName, segment, attempt, mayComeBack: false });
    }
    this.#closeWhenAnswered(inFlight);
  }

  #refused(inFlight: InFlightMessage, refusal: Refusal): void {
    const { carrier } = this.#parts;
    const { statusName } = refusal;
    // Once the carrier has a part of it, it can go nowhere else.
    const mayLeave = !inFlight.isPartAccepted && inFlight.state !== 'settling' && inFlight.state !== 'resending';
    const alternative = mayLeave ? this.#parts.reroute().alternative(inFlight.message) : null;
    const outcome = decideOutcome({
      status: refusal.status,
      statusName,
      category: inFlight.category,
      attempt: inFlight.message.delays + inFlight.tries,
      overrides: carrier.errors,
      alternative: alternative?.how ?? 'none',
    });
    this.#parts.onOutcome?.(inFlight, refusal, outcome);
    coolDownCarrier(this.#parts, outcome, statusName);
    this.#applyChanges(inFlight, refusal, nextStep(inFlight, refusal, outcome));
  }

  #applyChanges(inFlight: InFlightMessage, refusal: Refusal, step: NextStep): void {
    const { segment, attempt, statusName: error } = refusal;
    switch (step.do) {
      case 'reject': {
        const atMs = this.#parts.clock.nowMs();
        this.#write(inFlight, { ...endOf(inFlight.message, 'rejected', error), segment, attempt, atMs });
        return this.#settle(inFlight);
      }
      case 'finish':
        return this.#finishWhenDone(inFlight);
      case 'resend':
        return this.#resend.goOn(inFlight);
      case 'leave':
        return this.#leave(inFlight, step.refusal);
      case 'defer':
        return this.#deferrals.begin(inFlight, error, step.afterMs, segment);
      case 'retry':
        this.#close(inFlight, { segment, attempt, error, detail: String(inFlight.tries) });
        return this.#wait(inFlight, step.afterMs);
      case 'awaitRedelivery':
        return this.#close(inFlight, { segment, attempt, error, detail: String(inFlight.tries) });
    }
  }

  #leave(inFlight: InFlightMessage, refusal: Refusal): void {
    inFlight.leave(refusal);
    if (inFlight.isOut) return;
    inFlight.endLeaving();
    const candidate = inFlight.isUntouched ? this.#parts.reroute().alternative(inFlight.message) : null;
    // Without a way the carrier has taken a part meanwhile: the rest has to stay with it.
    if (candidate === null) return this.#refused(inFlight, refusal);
    this.#parts.reroute().go(inFlight, candidate.to, refusal.statusName, refusal.mayComeBack);
  }

  /** No answer came, or the session ended first: whether the carrier took it, nobody knows. */
  onNoAnswer(token: SubmitToken, why: string): void {
    token.inFlight.answered(token.segment);
    this.#becomeUnknown(token.inFlight, token.segment, token.attempt, why);
    this.#closeWhenAnswered(token.inFlight);
  }

  /** An answer that came after its time took the segment. What it returns is called when that is durable. */
  onLateTaken({ inFlight, segment }: SubmitToken): () => void {
    return this.#resend.arrived(inFlight, segment);
  }

  /** A receipt told what became of a submit. What it returns is called when that is durable. */
  onReceipt({ messageId, hop, attempt, segment }: Submitted, kind: EventKind): () => void {
    const inFlight = this.#parts.intake().find(deliveryKey(messageId, hop, delaysOf(attempt)));
    return this.#resend.arrived(inFlight, segment, kind !== 'delivered');
  }

  /**
   * The record's intent was written by an earlier incarnation that left no outcome. Each segment without one is told by
   * itself: one segment's receipt must not speak for the others.
   */
  onUnresolved(inFlight: InFlightMessage): void {
    const attempt = attemptNumber(inFlight.message.delays, inFlight.tries);
    try {
      inFlight.pdus = segmentsOf(inFlight.message, this.#parts.carrier);
    } catch (error) {
      ignoring(error, 'the configuration changed since: the message is published as a whole');
    }
    metrics.carrierUnknown.inc({ carrier: this.#parts.carrier.name, category: inFlight.category });
    const open = inFlight.pdus.length === 0 ? [0] : inFlight.segmentsToSend();
    const why = 'no_outcome_after_restart';
    const again = open.filter((segment) => this.#resend.take(inFlight, segment, attempt, why));
    if (again.length > 0) return;
    for (const segment of open) this.#publishUnknown(inFlight, segment, attempt, why);
    this.#settle(inFlight);
  }

  /** The message ends before it was written. */
  onRefused(inFlight: InFlightMessage, status: 'expired' | 'blocked' | 'failed', code: string): void {
    const attempt = attemptNumber(inFlight.message.delays, inFlight.tries);
    // Why it could not go out in time is what the client wants to know.
    const reason = status === 'expired' ? (inFlight.lastRefusal ?? this.#parts.whyAvoided()) : '';
    const error = reason === '' ? code : `${code}:${reason}`;
    this.#write(inFlight, { ...endOf(inFlight.message, status, error), attempt, atMs: this.#parts.clock.nowMs() });
    this.#settle(inFlight);
  }

  /** It came into hours in which its category keeps quiet: it comes back when they end. */
  onDeferred(inFlight: InFlightMessage, code: string, untilMs: number): void {
    this.#deferrals.begin(inFlight, code, Math.max(0, untilMs - this.#parts.clock.nowMs()), null);
  }

  /** An earlier incarnation was putting it off: whether LATER has it, nobody knows. */
  onDeferredBefore(inFlight: InFlightMessage, before: LaterDeferral): void {
    this.#deferrals.repeat(inFlight, before);
  }

  /** Its hold had lapsed, and the record came back: it goes on when what is out of it was answered. */
  onRegained(inFlight: InFlightMessage): void {
    if (inFlight.isResendDecided) {
      inFlight.goOnResending();
      this.#resend.goOn(inFlight);
    } else if (inFlight.isOut) this.#wait(inFlight, waitAgainMs);
    else this.#parts.intake().tryAgain(inFlight);
  }

  /**
   * Its intent is durable but nothing more of it is written now (its hold lapsed, or we stop). Told, so that the next
   * owner sends it instead of taking it for `unknown`.
   */
  onNotWritten(inFlight: InFlightMessage): void {
    const attempt = attemptNumber(inFlight.message.delays, inFlight.tries);
    const segment = inFlight.segmentsToSend()[0] ?? 1;
    this.#close(inFlight, { segment, attempt, error: 'not_written', detail: `not_written.${inFlight.tries}` });
  }

  #taken(inFlight: InFlightMessage, segment: number, attempt: number, carrierMessageId: string): void {
    inFlight.accept(segment);
    const submitted = this.#write(inFlight, {
      kind: 'submitted',
      segment: reportedSegmentOf(inFlight.message, inFlight.pdus, segment),
      attempt,
      carrierMessageId,
      atMs: this.#parts.clock.nowMs(),
    });
    this.#parts.onSubmitted(submitted);
    if (inFlight.isAllAccepted) return this.#settle(inFlight);
    if (inFlight.leaving !== null) return this.#leave(inFlight, inFlight.leaving);
    this.#finishWhenDone(inFlight);
  }

  #becomeUnknown(inFlight: InFlightMessage, segment: number, attempt: number, why: string): void {
    metrics.carrierUnknown.inc({ carrier: this.#parts.carrier.name, category: inFlight.category });
    if (this.#resend.take(inFlight, segment, attempt, why)) return;
    this.#publishUnknown(inFlight, segment, attempt, why);
    this.#settle(inFlight);
  }

  #publishUnknown(inFlight: InFlightMessage, segment: number, attempt: number, why: string): void {
    const unknown = this.#write(inFlight, {
      kind: 'unknown',
      segment: reportedSegmentOf(inFlight.message, inFlight.pdus, segment),
      attempt,
      error: why,
      atMs: this.#parts.clock.nowMs(),
    });
    this.#parts.onUnknown(unknown);
  }

  /** Tells that its intent is over, as soon as no segment of it is out: what is out is still covered by that intent. */
  #close(inFlight: InFlightMessage, closing: Closing): void {
    inFlight.closeIntent(closing);
    this.#closeWhenAnswered(inFlight);
  }

  #closeWhenAnswered(inFlight: InFlightMessage): void {
    const closing = inFlight.takeClosing();
    // Where it goes is told already, and closes it.
    if (closing === null || inFlight.state === 'rerouting') return;
    const { nextSeq, clock } = this.#parts;
    const fromSeq = nextSeq();
    const deferred = { ...closing, kind: 'deferred', progress: inFlight.progress, atMs: clock.nowMs() } as const;
    // Whoever reads it knows what the carrier has of the message, and need not look further back.
    this.#write(inFlight, deferred, () => (inFlight.neededFromSeq = Math.min(fromSeq, nextSeq())));
  }

  /** Back to its lane after the wait, and not before the segments still out are answered or given up. */
  #wait(inFlight: InFlightMessage, afterMs: number): void {
    inFlight.wait(this.#parts.clock, afterMs, this.#tryAgain);
  }

  readonly #tryAgain = (inFlight: InFlightMessage): void => this.#parts.intake().tryAgain(inFlight);

  #write(inFlight: InFlightMessage, draft: EventDraft, then: (() => void) | null = null): DeliveryEvent {
    const event = eventOfMessage(inFlight.message, { epoch: inFlight.epoch, ...draft });
    inFlight.write(this.#parts.events, event, this.#isWritten, then);
    return event;
  }

  readonly #isWritten: WriteEnd<(() => void) | null> = (inFlight, durable, then) => {
    if (!durable) return;
    if (then !== null) then();
    this.#finishWhenDone(inFlight);
  };

  #settle(inFlight: InFlightMessage): void {
    inFlight.settle();
    this.#finishWhenDone(inFlight);
  }

  /** Its end is durable elsewhere: acks its record when nothing of it is on its way any more. */
  settle(inFlight: InFlightMessage): void {
    this.#settle(inFlight);
  }

  #finishWhenDone(inFlight: InFlightMessage): void {
    this.#resend.goOn(inFlight);
    if (!inFlight.isDone) return;
    this.#parts.replayIndex.settle(inFlight.key);
    this.#parts.intake().release(inFlight);
    inFlight.record.ack();
  }
}
