// The send loop of one carrier: when a token is due and a window slot is free it chooses the next message, checks the
// late gates, makes the intent durable, and only then writes the PDUs. It never writes a PDU of a record whose ack
// deadline has passed. settlement.ts decides about answers.
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import type { CarrierConfig } from '../../../config/configuration.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import type { LateGates } from '../../../policy/late/late-gates.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { type Category, byCategory } from '../../../model/message.ts';
import type { EncodedSegment } from '../../../model/text/octets.ts';
import { RejectMessage } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import type { SlowTimes } from '../../../platform/slow-times.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { EndUnsent } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';
import type { EventSequence } from '../deduplication/event-sequence.ts';
import type { ClaimStatus, IntentClaims } from '../deduplication/intent-claims.ts';
import { type Lanes, slotsReservedFor, tokensReservedFor } from '../queue/lanes.ts';
import { CampaignPace, type CampaignShare } from '../pacing/campaign-share.ts';
import type { Pacing } from '../pacing/pacing.ts';
import { ReadySegments } from './ready-segments.ts';
import { type SubmitPort, widestPort, windowFree, windowsBound } from './submit-ports.ts';
import { segmentsOf, segmentsPerPdu, submitHeader, submitPdu } from './submit-pdu.ts';

export type SenderParts = {
  readonly carrier: CarrierConfig;
  readonly lanes: Lanes<InFlightMessage>;
  /** Decides when the next message is chosen, and when the next PDU may be written: intents return in bursts. */
  readonly pacing: Pacing;
  readonly events: EventWriter;
  /** Whose intent counts, where nodes share the carrier. */
  readonly claims: IntentClaims;
  /** Another node's event precedes the intent of this message in EVENTS. */
  readonly onClaimLost: (inFlight: InFlightMessage, verdict: ClaimStatus) => void;
  readonly ports: readonly SubmitPort[];
  readonly clock: Clock;
  /** The message ends before it was written. */
  readonly onRefused: (inFlight: InFlightMessage, status: EndUnsent, code: string) => void;
  /** It may be sent at that time: it waits in LATER. */
  readonly onDeferred: (inFlight: InFlightMessage, code: string, untilMs: number) => void;
  /** Whether it may still be sent, checked when its turn comes. */
  readonly lateGates: LateGates;
  /** Its intent is durable and no PDU of it is written, because its ack deadline has passed or the actor stops. */
  readonly onNotWritten: (inFlight: InFlightMessage) => void;
  /** Its intent is durable and too old to write a PDU for: the message returns to its lane and gets a new intent. */
  readonly onIntentOld: (inFlight: InFlightMessage) => void;
  readonly sequence: Pick<EventSequence, 'next'>;
  /** An OTP was written. */
  readonly onOtpWritten?: (token: SubmitToken) => void;
  /** What promotional messages leave of the contract while OTP are late. */
  readonly campaignShare: CampaignShare;
  /** Times of the intents of OTP. */
  readonly otpTimes?: Pick<SlowTimes, 'note'>;
  /** Why the next message or PDU has to wait. */
  readonly onDelayed?: (why: DelayedBy) => void;
};

export type DelayedBy = 'bind' | 'window' | 'bus' | 'pacing';

/** The longest wait before it checks again: what it waits for may have changed. */
const wakeWithinMs = 1_000;

export class Sender {
  readonly #parts: SenderParts;
  readonly #ready = new ReadySegments();
  /** Window slots reserved for chosen messages whose intent is not durable yet: for all messages, and for OTP alone. */
  #reserved = 0;
  #reservedOtp = 0;
  #timer: Cancel | null = null;
  #timerAtMs = 0;
  /** After the pacing made a message wait: from when on messages other than OTP may be chosen, and written. Monotonic. */
  readonly #nextTurnAtMs = { choose: 0, write: 0 };
  #pumpScheduled = false;
  #stopped = false;
  #closed = false;
  readonly #campaign: CampaignPace;
  readonly #submits;
  readonly #latency;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    this.#campaign = new CampaignPace(parts.campaignShare);
    const carrier = parts.carrier.name;
    this.#submits = byCategory((category) => metrics.submits.tally({ carrier, category }));
    this.#latency = byCategory((category) => metrics.acceptToSubmit.tally({ category }));
  }

  /** Something changed (arrival, answer, bind): checks again at the end of this turn of the event loop. */
  wake(): void {
    if (this.#pumpScheduled || this.#closed) return;
    this.#pumpScheduled = true;
    queueMicrotask(() => {
      this.#pumpScheduled = false;
      this.#pump();
    });
  }

  /** Chooses nothing more; messages with an intent are still written. */
  stop(): void {
    this.#stopped = true;
  }

  /** After `stop`: true when everything chosen is written, or no bind accepts any of the rest now. */
  get rested(): boolean {
    if (this.#reserved > 0) return false;
    return this.#ready.size === 0 || widestPort(this.#parts.ports) < 0;
  }

  /** No bind may submit: an event says of each message with an intent and no PDU that it was not written. Returns them. */
  standDown(): ReadonlySet<InFlightMessage> {
    const back = this.#ready.takeBack((inFlight) => inFlight.isUntouched);
    for (const inFlight of back) this.#parts.onNotWritten(inFlight);
    return back;
  }

  /** An event says of each message with an intent and no PDU that it was not written. */
  close(): void {
    this.#stopped = true;
    this.#closed = true;
    this.#timer?.();
    this.#timer = null;
    for (const inFlight of this.#ready.takeBack(() => true)) {
      inFlight.stopSending();
      this.#parts.onNotWritten(inFlight);
    }
  }

  #pump(): void {
    if (this.#closed) return;
    this.#putBackOld();
    this.#writeReady();
    const isTurn = this.#parts.clock.monotonicMs() >= this.#nextTurnAtMs.choose;
    while (!this.#stopped) {
      const inFlight = this.#parts.lanes.peek();
      if (inFlight === undefined) return;
      if (!this.#mayBegin(inFlight)) continue;
      const pdus = Math.max(1, inFlight.segmentCountToSend);
      const windows = windowsBound(this.#parts.ports);
      if (windows === 0) return this.#parts.onDelayed?.('bind'); // a bind that opens wakes us
      const kept = slotsReservedFor(inFlight.category, windows);
      const slots = Math.min(pdus, windows - kept);
      // An answer or a bind wakes us.
      if (windowFree(this.#parts.ports) - this.#ready.size - this.#reserved - kept < slots)
        return this.#parts.onDelayed?.('window');
      if (!this.#parts.events.hasCapacity) return this.#wakeIn(50, 'bus'); // the bus is down: no intent, no PDU
      const now = this.#parts.clock.monotonicMs();
      if (!isTurn && inFlight.category !== 'otp') return this.#wakeIn(this.#nextTurnAtMs.choose - now, 'pacing');
      const yieldMs = inFlight.category === 'promotional' ? this.#campaign.waitMs(now) : 0;
      if (yieldMs > 0) return this.#waitFor('choose', inFlight.category, yieldMs, now);
      const segments = pdus * segmentsPerPdu(inFlight.message, inFlight.pdus);
      // An OTP is written before the others that were chosen.
      const reserved = inFlight.category === 'otp' ? this.#reservedOtp : this.#reserved;
      const chosen = reserved + this.#ready.sizeAhead(inFlight.category);
      const { pacing } = this.#parts;
      const waiting = this.#parts.lanes.waitingOf(inFlight.category, inFlight.message.accountId);
      const room = tokensReservedFor(inFlight.category, pacing.ratePerS(now), waiting);
      if (!pacing.take(segments, now, chosen, room)) {
        return this.#waitFor('choose', inFlight.category, pacing.waitMs(segments, now, chosen, room), now);
      }
      if (inFlight.category === 'promotional') this.#campaign.took(segments, pacing.ratePerS(now), now);
      this.#parts.lanes.next();
      this.#begin(inFlight, slots, now);
    }
  }

  /** False when the message was removed from its lane instead. */
  #mayBegin(inFlight: InFlightMessage): boolean {
    const { lanes, clock, onRefused, onDeferred, lateGates } = this.#parts;
    if (inFlight.state !== 'queued') {
      lanes.remove(inFlight); // it was ended while it waited here, and its events are being written
      return false;
    }
    // Before any gate is asked: its record may have been redelivered to another node.
    if (!inFlight.isOursAt(clock.monotonicMs())) {
      lanes.next();
      inFlight.lapse();
      return false;
    }
    const verdict = lateGates(inFlight.message, clock.nowMs());
    // The rest of a partly submitted message is not held until the morning: the phone shows nothing before.
    const isBegun = !verdict.ok && verdict.status === 'held' && inFlight.isPartAccepted;
    if (!verdict.ok && !isBegun) {
      lanes.next();
      if (verdict.status === 'held') onDeferred(inFlight, verdict.code, verdict.untilMs);
      else onRefused(inFlight, verdict.status, verdict.code);
      return false;
    }
    if (inFlight.header !== undefined) return true;
    try {
      const { carrier } = this.#parts;
      const pdus = inFlight.pdus.length > 0 ? inFlight.pdus : segmentsOf(inFlight.message, carrier);
      if (pdus.length === 0) throw new RejectMessage('message_empty', 'a message without segments');
      inFlight.header = submitHeader(inFlight.message, carrier);
      inFlight.pdus = pdus;
      return true;
    } catch (error) {
      if (!(error instanceof RejectMessage)) throw error;
      lanes.next();
      onRefused(inFlight, 'failed', error.code);
      return false;
    }
  }

  #begin(inFlight: InFlightMessage, slots: number, chosenAtMs: number): void {
    const { events, clock, claims, sequence } = this.#parts;
    inFlight.beginIntent(claims.epoch(), chosenAtMs, sequence.next, slots);
    this.#reserve(inFlight, slots);
    const { epoch, progress, attempt } = inFlight;
    const draft = { kind: 'intent', attempt, epoch, progress, atMs: clock.nowMs() } as const;
    inFlight.write(events, eventOfMessage(inFlight.message, draft), this.#intentIsOver, null);
  }

  readonly #intentIsOver = (inFlight: InFlightMessage, durable: boolean): void => {
    const { claims, sequence, events, onNotWritten } = this.#parts;
    if (durable && this.#closed) {
      // Only this actor knows that nothing was written: it says so.
      onNotWritten(inFlight);
      return events.flush();
    }
    if (durable) {
      // The intent repeats what earlier events said of this message: a replay from the intent on is enough.
      inFlight.neededFromSeq = Math.min(inFlight.intentFromSeq, sequence.next);
      return claims.confirm('intent', inFlight, (verdict) => this.#claimed(inFlight, verdict));
    }
    this.#reserve(inFlight, -inFlight.slots); // stopping: the record goes back to its stream unwritten
  };

  #reserve({ category }: InFlightMessage, slots: number): void {
    this.#reserved += slots;
    if (category === 'otp') this.#reservedOtp += slots;
  }

  #claimed(inFlight: InFlightMessage, verdict: ClaimStatus): void {
    const { clock, pacing, onClaimLost, onNotWritten, otpTimes, campaignShare } = this.#parts;
    this.#reserve(inFlight, -inFlight.slots);
    const tookMs = clock.monotonicMs() - inFlight.intentAtMs;
    pacing.intentTook(tookMs);
    if (inFlight.category === 'otp') {
      otpTimes?.note(tookMs);
      campaignShare.otpTook(tookMs);
    }
    if (verdict !== 'new') return onClaimLost(inFlight, verdict);
    if (this.#closed) return onNotWritten(inFlight);
    inFlight.send();
    for (const segment of inFlight.segmentsToSend()) this.#ready.push({ inFlight, segment });
    this.wake();
  }

  /**
   * A PDU follows its intent soon or not at all: when no bind accepts any for a while, the intent is published as not
   * written, and the message returns to its lane. So an open intent in EVENTS is always recent.
   */
  #putBackOld(): void {
    const { clock, onIntentOld } = this.#parts;
    const beforeMs = clock.monotonicMs() - limits.carrier.intentAgeMsMax;
    if (!this.#ready.hasIntentsBefore(beforeMs)) return;
    const old = this.#ready.takeBack((inFlight) => inFlight.intentAtMs <= beforeMs && !inFlight.isOut);
    for (const inFlight of old) onIntentOld(inFlight);
  }

  #writeReady(): void {
    const { clock, pacing, onNotWritten } = this.#parts;
    const isTurn = clock.monotonicMs() >= this.#nextTurnAtMs.write;
    for (let next = this.#ready.peek(); next !== undefined; next = this.#ready.peek()) {
      const { inFlight, segment } = next;
      const now = clock.monotonicMs();
      if (!inFlight.isOursAt(now)) {
        inFlight.lapse(); // the rest of it is dropped
        onNotWritten(inFlight);
        continue;
      }
      const bind = widestPort(this.#parts.ports);
      if (bind < 0) return;
      if (!isTurn && inFlight.category !== 'otp') return this.#wakeIn(this.#nextTurnAtMs.write - now, 'pacing');
      const waitMs = pacing.writeWaitMs(segmentsPerPdu(inFlight.message, inFlight.pdus), now);
      if (waitMs > 0) return this.#waitFor('write', inFlight.category, waitMs, now);
      if (!this.#write(bind, inFlight, segment, now)) return;
      this.#ready.shift(next);
    }
  }

  #write(bind: number, inFlight: InFlightMessage, segment: number, nowMs: number): boolean {
    const { ports, pacing, carrier, clock } = this.#parts;
    const { message, category, pdus, header, attempt } = inFlight;
    const pdu = submitPdu(message, pdus[segment - 1] as EncodedSegment, carrier, clock.nowMs(), header);
    const token: SubmitToken = { inFlight, segment, attempt, writtenAtMs: nowMs, bind, number: 0 };
    if (ports[bind]?.submit(pdu, token) !== true) return false;
    token.number = pacing.written(segmentsPerPdu(message, pdus), bind, nowMs);
    inFlight.written(segment);
    this.#submits[category].inc();
    if (category === 'otp') this.#parts.onOtpWritten?.(token);
    if (segment === 1 && inFlight.tries === 1) {
      this.#latency[category].observe((clock.nowMs() - (message.scheduledAtMs ?? message.acceptedAtMs)) / 1_000);
    }
    return true;
  }

  /** Messages that are not urgent wait until several are due, so that they share a write of the socket. */
  #waitFor(turn: 'choose' | 'write', category: Category, pacingMs: number, nowMs: number): void {
    if (category === 'otp') return this.#wakeIn(pacingMs, 'pacing');
    const { pacedTogetherMs } = limits.carrier;
    this.#nextTurnAtMs[turn] = nowMs + pacedTogetherMs;
    this.#wakeIn(Math.max(pacingMs, pacedTogetherMs), 'pacing');
  }

  #wakeIn(delayMs: number, why: DelayedBy): void {
    this.#parts.onDelayed?.(why);
    const { clock } = this.#parts;
    const afterMs = Math.min(wakeWithinMs, Math.max(1, Math.ceil(delayMs)));
    const atMs = clock.monotonicMs() + afterMs;
    if (this.#timer !== null) {
      if (this.#timerAtMs <= atMs) return;
      this.#timer();
    }
    this.#timerAtMs = atMs;
    this.#timer = clock.after(afterMs, () => {
      this.#timer = null;
      this.wake();
    });
  }
}
