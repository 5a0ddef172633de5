// Decides what an answer (or its absence) means for a message in flight: the events to write and, as a value, what to
// do with the message next. carry-out.ts carries that out; completion.ts has the rule for the ack.
import type { CarrierConfig } from '../../../config/configuration.ts';
import { type DeliveryEvent, eventOfMessage } from '../../../model/delivery-event.ts';
import type { Clock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { log } from '../../../platform/log.ts';
import type { Tally } from '../../../platform/tallied-metrics.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { commandStatus, nameOfStatus, statusLabel } from '../../../model/command-status.ts';
import { type EndUnsent, type Refusal, waitAgainMs } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';
import type { Pacing } from '../pacing/pacing.ts';
import { reportedSegmentOf, segmentsOf } from '../submit/submit-pdu.ts';
import type { Alternatives } from './alternatives.ts';
import type { Completion } from './completion.ts';
import { type Effect, finish, nextStep, nothing, queue, settle } from './next-step.ts';
import { type Outcome, type OutcomeInput, decideOutcome } from './outcome.ts';
import { type Resend, endOf } from './resend.ts';
import type { UnknownSubmits } from './unknown-submits.ts';

export type SettlementParts = {
  readonly carrier: CarrierConfig;
  readonly clock: Clock;
  readonly pacing: Pick<Pacing, 'pauseUntil' | 'slowDown'>;
  readonly completion: Completion;
  readonly resend: Resend;
  readonly alternatives: Pick<Alternatives, 'best'>;
  /** Where a late receipt can find the submit. */
  readonly unknown: Pick<UnknownSubmits, 'add'>;
  /** Why the carrier is avoided now; empty when it is not. */
  readonly whyAvoided: () => string;
  /** Reports the outcome of each refusal. */
  readonly onOutcome?: (inFlight: InFlightMessage, refusal: Refusal, outcome: Outcome) => void;
};

export class Settlement {
  readonly #parts: SettlementParts;
  readonly #responses = new Map<number, Tally>();

  constructor(parts: SettlementParts) {
    this.#parts = parts;
  }

  /** submit_sm_resp with status 0 (SMPP 3.4, 4.4.2): the segment is accepted. Its receipt may come from now on. */
  onAccepted(token: SubmitToken, carrierMessageId: string): DeliveryEvent {
    const { inFlight, segment, attempt } = token;
    this.#answered(token, commandStatus.ESME_ROK);
    inFlight.accept(segment);
    return this.#parts.completion.write(inFlight, {
      kind: 'submitted',
      segment: reportedSegmentOf(inFlight.message, inFlight.pdus, segment),
      attempt,
      carrierMessageId,
    });
  }

  /** What comes after `onAccepted`. */
  afterAccepted(inFlight: InFlightMessage): Effect {
    if (inFlight.isAllAccepted) return settle;
    return inFlight.leaving === null ? finish : this.#leave(inFlight, inFlight.leaving);
  }

  /** submit_sm_resp with any other status. */
  onErrorStatus(token: SubmitToken, status: number): Effect {
    const { inFlight, segment, attempt } = token;
    const statusName = nameOfStatus(status);
    this.#answered(token, status);
    inFlight.lastRefusal = statusName;
    return this.#refused(inFlight, { status, statusName, segment, attempt, mayComeBack: false });
  }

  /**
   * A refusal after its response timer: the message was `unknown`, and this refusal settles it. Nothing is sent again,
   * here or elsewhere: the record that could restore a lost decision is acked, and after `unknown` clients were
   * promised no further copy (decision 61).
   */
  onLateRefusal({ inFlight, segment, attempt }: SubmitToken, status: number): DeliveryEvent {
    const { onOutcome, clock } = this.#parts;
    const error = nameOfStatus(status);
    this.#countResponse(status);
    const refusal = { status, statusName: error, segment, attempt, mayComeBack: false };
    const outcome = this.#outcomeOf(inFlight, refusal, 'none');
    // When another copy was sent, this refusal says nothing about it.
    const verdict = inFlight.message.resends === 0 ? ({ action: 'reject' } as const) : outcome;
    onOutcome?.(inFlight, { ...refusal, statusName: `${error}, late` }, verdict);
    this.#coolDown(outcome, error);
    return eventOfMessage(inFlight.message, {
      kind: 'rejected',
      segment: reportedSegmentOf(inFlight.message, inFlight.pdus, segment),
      attempt,
      error,
      epoch: inFlight.epoch,
      atMs: clock.nowMs(),
    });
  }

  #answered({ inFlight, segment }: SubmitToken, status: number): void {
    inFlight.answered(segment);
    this.#countResponse(status);
  }

  #countResponse(status: number): void {
    let counter = this.#responses.get(status);
    if (counter === undefined) {
      const labels = { carrier: this.#parts.carrier.name, status: statusLabel(status) };
      // A status without a name is one of 2³², and rare.
      if (labels.status === 'unnamed') return metrics.submitResponses.inc(labels);
      counter = metrics.submitResponses.tally(labels);
      this.#responses.set(status, counter);
    }
    counter.inc();
  }

  #refused(inFlight: InFlightMessage, refusal: Refusal): Effect {
    // Once the carrier has a part of it, it cannot move to another.
    const isCopied = inFlight.hedged === 'copied';
    const isHere = inFlight.isPartAccepted || isCopied;
    const mayLeave = !isHere && inFlight.state !== 'settling' && inFlight.state !== 'resending';
    const alternative = mayLeave ? this.#parts.alternatives.best(inFlight.message) : null;
    const outcome = this.#outcomeOf(inFlight, refusal, alternative?.how ?? 'none');
    this.#parts.onOutcome?.(inFlight, refusal, outcome);
    this.#coolDown(outcome, refusal.statusName);
    // Its second copy is its way to another carrier: this one has ended.
    return this.#effectOf(inFlight, refusal, isCopied ? { action: 'reject' } : outcome);
  }

  #outcomeOf(inFlight: InFlightMessage, refusal: Refusal, alternative: OutcomeInput['alternative']): Outcome {
    const { status, statusName } = refusal;
    const { category, message, tries } = inFlight;
    const overrides = this.#parts.carrier.errors;
    return decideOutcome({ status, statusName, category, attempt: message.delays + tries, overrides, alternative });
  }

  /**
   * Applies what a refusal asks for on the carrier's behalf: a lower rate, a pause, or a stop until an operator acts.
   */
  #coolDown(outcome: Outcome, status: string): void {
    const { carrier, pacing, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (outcome.action === 'stop') {
      log.error({ alarm: 'carrier_refuses_us', carrier: carrier.name, status }, 'the carrier refuses this account');
      return pacing.pauseUntil(nowMs + outcome.afterMs);
    }
    if (outcome.action !== 'later' && outcome.action !== 'next') return;
    if (outcome.slower) pacing.slowDown(nowMs, status);
    if (outcome.pauseMs > 0) pacing.pauseUntil(nowMs + outcome.pauseMs);
  }

  #effectOf(inFlight: InFlightMessage, refusal: Refusal, outcome: Outcome): Effect {
    const { completion } = this.#parts;
    const { segment, attempt, statusName: error } = refusal;
    const step = nextStep(inFlight, refusal, outcome);
    switch (step.do) {
      case 'reject': {
        const rejected = endOf(inFlight.message, 'rejected', error);
        completion.write(inFlight, { ...rejected, segment, attempt });
        return settle;
      }
      case 'finish':
      case 'resend':
        return finish;
      case 'leave':
        return this.#leave(inFlight, step.refusal);
      case 'defer':
        return step;
      case 'retry':
      case 'awaitRedelivery':
        completion.closeIntent(inFlight, { segment, attempt, error, detail: String(inFlight.tries) });
        return step.do === 'retry' ? step : nothing;
    }
  }

  #leave(inFlight: InFlightMessage, refusal: Refusal): Effect {
    inFlight.leave(refusal);
    if (inFlight.isOut) return nothing;
    inFlight.endLeaving();
    const candidate = inFlight.isUntouched ? this.#parts.alternatives.best(inFlight.message) : null;
    // The carrier has accepted a part meanwhile: the rest has to stay with it.
    if (candidate === null) return this.#refused(inFlight, refusal);
    return { do: 'reroute', to: candidate.to, why: refusal.statusName, mayComeBack: refusal.mayComeBack };
  }

  /** No answer came, or the session ended first: it is not known whether the carrier accepted it. */
  onNoAnswer({ inFlight, segment, attempt }: SubmitToken, why: string): Effect {
    inFlight.answered(segment);
    metrics.carrierUnknown.inc({ carrier: this.#parts.carrier.name, category: inFlight.category });
    if (this.#parts.resend.take(inFlight, segment, attempt, why)) return nothing;
    this.#publishUnknown(inFlight, segment, attempt, why);
    return settle;
  }

  /**
   * An earlier incarnation wrote the intent and no outcome. Each segment without one gets its own event: one segment's
   * receipt must not settle the others.
   */
  onUnresolved(inFlight: InFlightMessage): Effect {
    const { attempt } = inFlight;
    try {
      inFlight.pdus = segmentsOf(inFlight.message, this.#parts.carrier);
    } catch (error) {
      ignoring(error, 'the configuration changed since: the message is published as a whole');
    }
    metrics.carrierUnknown.inc({ carrier: this.#parts.carrier.name, category: inFlight.category });
    const open = inFlight.pdus.length === 0 ? [0] : inFlight.segmentsToSend();
    const why = 'no_outcome_after_restart';
    const again = open.filter((segment) => this.#parts.resend.take(inFlight, segment, attempt, why));
    if (again.length > 0) return nothing;
    for (const segment of open) this.#publishUnknown(inFlight, segment, attempt, why);
    return settle;
  }

  /** The message ends before it was written. */
  onRefused(inFlight: InFlightMessage, status: EndUnsent, code: string): Effect {
    const { completion, whyAvoided } = this.#parts;
    const { attempt } = inFlight;
    // So that the client sees why it could not be sent in time.
    const reason = status === 'expired' ? (inFlight.lastRefusal ?? whyAvoided()) : '';
    const error = reason === '' ? code : `${code}:${reason}`;
    completion.write(inFlight, { ...endOf(inFlight.message, status, error), attempt });
    return settle;
  }

  /** Quiet hours of its category have begun: it waits until they end. */
  onDeferred(code: string, untilMs: number): Effect {
    const afterMs = Math.max(0, untilMs - this.#parts.clock.nowMs());
    return { do: 'defer', why: code, afterMs, refused: null };
  }

  /** Its record was redelivered after the ack deadline: it continues when its outstanding segments are answered. */
  onRegained(inFlight: InFlightMessage): Effect {
    if (inFlight.isResendDecided) {
      inFlight.goOnResending();
      return finish;
    }
    return inFlight.isOut ? { do: 'retry', afterMs: waitAgainMs } : queue;
  }

  /**
   * Its intent is durable but nothing more of it is written now (its ack deadline has passed, or we stop). Published,
   * so that the next owner sends it instead of taking it for `unknown`.
   */
  onNotWritten(inFlight: InFlightMessage): void {
    const { attempt } = inFlight;
    const segment = inFlight.segmentsToSend()[0] ?? 1;
    const detail = `not_written.${inFlight.tries}`;
    this.#parts.completion.closeIntent(inFlight, { segment, attempt, error: 'not_written', detail });
  }

  #publishUnknown(inFlight: InFlightMessage, segment: number, attempt: number, why: string): void {
    const unknown = this.#parts.completion.write(inFlight, {
      kind: 'unknown',
      segment: reportedSegmentOf(inFlight.message, inFlight.pdus, segment),
      attempt,
      error: why,
    });
    this.#parts.unknown.add(unknown);
  }
}
