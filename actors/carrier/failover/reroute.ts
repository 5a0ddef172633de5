// The one way of a message to another carrier of its plan, in this order: durable `rerouted` event, publish with the next
// hop, ack. A redelivery that finds the event only repeats the publish, to the same carrier. An assertion refuses to move
// a message of which this carrier may have a part. A hedged message goes the same way as a second copy, after a `hedged`
// event, and stays here as well: its next hop is taken, so it cannot be moved any more.
import type { EventStoreAnswer } from '../../ask-event-store.ts';
import { asRepublished } from '../../../cluster/bus/republished.ts';
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import { encodeMessage, messageRecordId } from '../../../model/records/message-record.ts';
import type { PublishDone, PublishResult, Publisher } from '../../../cluster/bus/publisher.ts';
import { messageSubject } from '../../../cluster/bus/subjects.ts';
import { type HedgeRule, hedgeReasons, hedgeRuleOf } from '../../../model/copies.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import type { Message } from '../../../model/message.ts';
import { assert } from '../../../platform/assert.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Completion } from '../outcome/completion.ts';
import { surelyRememberedMs } from '../outcome/deferrals.ts';
import type { MessagesInFlight } from '../queue/messages-in-flight.ts';
import type { EventSequence } from '../deduplication/event-sequence.ts';
import type { ClaimStatus, IntentClaims } from '../deduplication/intent-claims.ts';
import type { ReplayIndex } from '../deduplication/replay-index.ts';
import { type Rerouted, reroutedText } from '../deduplication/rerouted-event.ts';

export type RerouteParts = {
  readonly carrier: string;
  readonly publisher: Publisher;
  readonly events: EventWriter;
  readonly cipher: BodyCipher;
  readonly replayIndex: ReplayIndex;
  readonly claims: IntentClaims;
  readonly clock: Clock;
  readonly sequence: Pick<EventSequence, 'next'>;
  /** Without it this carrier is configured, and the message's own plan counts. */
  readonly candidatesOfRemoved?: ((message: Message) => readonly string[]) | undefined;
  readonly messages: Pick<MessagesInFlight, 'giveBack'>;
  /** The other carrier has it: acks its record when nothing else of it is pending. */
  readonly completion: Pick<Completion, 'settle' | 'finishWhenDone'>;
  /** Whether that carrier has begun with the message: asked when the stream may have forgotten our publish. */
  readonly wasSubmitted: (message: Message) => Promise<EventStoreAnswer>;
};

export class Reroute {
  readonly #parts: RerouteParts;

  constructor(parts: RerouteParts) {
    this.#parts = parts;
  }

  /**
   * `mayComeBack`: the carrier was unavailable and did not refuse the message. `onClaimLost`: another node's event
   * precedes this message's `rerouted` in EVENTS.
   */
  go(
    inFlight: InFlightMessage,
    to: string,
    why: string,
    mayComeBack: boolean,
    onClaimLost: (inFlight: InFlightMessage, verdict: ClaimStatus) => void,
  ): void {
    assert(inFlight.isUntouched, 'a part of the message may be at this carrier');
    const { events, replayIndex, claims, sequence } = this.#parts;
    inFlight.reroute();
    inFlight.epoch = claims.epoch();
    const from = { seq: sequence.next, storedAtMs: Number.POSITIVE_INFINITY };
    if (inFlight.neededFromSeq === 0) inFlight.neededFromSeq = from.seq;
    const rerouted = this.#announce('rerouted', inFlight, to, why);
    const publish = (verdict: ClaimStatus) => {
      if (verdict !== 'new') return onClaimLost(inFlight, verdict);
      const seq = Math.min(from.seq, sequence.next);
      replayIndex.reroute(inFlight.key, { to, why, atMs: rerouted.atMs }, { ...from, seq });
      this.#publish(inFlight, to, why, mayComeBack);
    };
    // Not durable: we stop; the record is redelivered and decided again.
    const onOver = (_: InFlightMessage, durable: boolean) => durable && claims.confirm('rerouted', inFlight, publish);
    inFlight.write(events, rerouted, onOver, null);
  }

  /** The record was redelivered although its `rerouted` event is durable: it is not known whether it was published. */
  repeat(inFlight: InFlightMessage, { to, why, atMs }: Rerouted): void {
    inFlight.reroute();
    this.#parts.replayIndex.keepReroute(inFlight.key);
    if (Math.abs(this.#parts.clock.nowMs() - atMs) < surelyRememberedMs) return this.#publish(inFlight, to, why, false);
    const release = inFlight.hold();
    void this.#parts.wasSubmitted(inFlight.message).then((taken) => {
      release();
      if (taken === 'no') return this.#publish(inFlight, to, why, false, true);
      if (taken === 'yes') this.#parts.completion.settle(inFlight);
      else this.#parts.messages.giveBack(inFlight, limits.bus.nakDelayMsMax);
    });
  }

  /** It waits too long for this carrier's answer, or receipt: a second copy goes to another one. */
  copy(inFlight: InFlightMessage, to: string, rule: HedgeRule): void {
    const isHere = inFlight.isOut || inFlight.isAllAccepted;
    assert(isHere && inFlight.hedged === 'no', 'a second copy is of a message that is out, and there is no third');
    const why = hedgeReasons[rule];
    inFlight.hedged = 'copied';
    const hedged = this.#announce('hedged', inFlight, to, why);
    // Not durable: we stop; nothing of the copy was published.
    const onOver = (_: InFlightMessage, durable: boolean) => durable && this.#publishCopy(inFlight, to, why);
    inFlight.write(this.#parts.events, hedged, onOver, null);
  }

  /** The event that names the other carrier, before anything is published to it. */
  #announce(kind: 'rerouted' | 'hedged', { message, attempt, epoch }: InFlightMessage, to: string, why: string) {
    const named = { error: reroutedText(to, why), detail: String(message.hop) };
    return eventOfMessage(message, { kind, attempt, epoch, ...named, atMs: this.#parts.clock.nowMs() });
  }

  /** The record was redelivered although its `hedged` event is durable: it is not known whether the copy was published. */
  repeatCopy(inFlight: InFlightMessage, { to, why, atMs }: Rerouted): void {
    inFlight.hedged = 'copied';
    if (Math.abs(this.#parts.clock.nowMs() - atMs) < surelyRememberedMs) return this.#publishCopy(inFlight, to, why);
    // The stream may have forgotten the first publish, and a second one could be a third copy.
    this.#endCopy(inFlight, copyFor(inFlight.message, to, why), why, 'unknown');
  }

  #publishCopy(inFlight: InFlightMessage, to: string, why: string): void {
    const { publisher, carrier, completion } = this.#parts;
    const copy = copyFor(inFlight.message, to, why);
    const release = inFlight.hold();
    this.#send(copy, (result) => {
      // We stop: the record is not acked, and the node that gets it repeats the publish.
      if (!result.ok && result.failure === 'closed') return;
      release();
      if (result.ok) metrics.otpHedges.inc({ carrier, to, rule: hedgeRuleOf(why), result: 'sent' });
      else this.#endCopy(inFlight, copy, why, result.failure === 'unavailable' ? 'unknown' : 'failed');
      completion.finishWhenDone(inFlight);
    });
    publisher.flush();
  }

  /** Its second copy is not sent: published as the end of that copy, so that the first one decides. */
  #endCopy(inFlight: InFlightMessage, copy: Message, why: string, kind: 'failed' | 'unknown'): void {
    const { events, clock, carrier, completion } = this.#parts;
    metrics.otpHedges.inc({ carrier, to: copy.carrier, rule: hedgeRuleOf(why), result: 'not_sent' });
    const ended = eventOfMessage(copy, { kind, error: 'hedge_not_sent', atMs: clock.nowMs() });
    const onOver = (_: InFlightMessage, durable: boolean) => durable && completion.finishWhenDone(inFlight);
    inFlight.write(events, ended, onOver, null);
  }

  #publish(inFlight: InFlightMessage, to: string, why: string, mayComeBack: boolean, again = false): void {
    const { carrier, candidatesOfRemoved } = this.#parts;
    const { message } = inFlight;
    const moved =
      candidatesOfRemoved === undefined
        ? movedTo(message, to, why, mayComeBack)
        : movedTo({ ...message, plan: candidatesOfRemoved(message) }, to, why, false);
    const release = inFlight.hold();
    const onAnswer = (result: PublishResult) => {
      release();
      // Its queue is full or the bus is down: the event remains, so the redelivered record goes only there.
      if (!result.ok) return this.#parts.messages.giveBack(inFlight, limits.bus.nakDelayMsMax);
      metrics.rerouted.inc({ carrier, to, category: moved.category });
      this.#parts.completion.settle(inFlight);
    };
    this.#send(moved, onAnswer, again ? asRepublished : undefined);
  }

  #send(message: Message, done: PublishDone, marks?: typeof asRepublished): void {
    const { publisher, cipher } = this.#parts;
    const subject = messageSubject(message.category, message.carrier, message.accountId);
    publisher.publish(subject, encodeMessage(message, cipher), messageRecordId(message), done, marks);
  }
}

/** The second copy of a message, for the next carrier. */
function copyFor(message: Message, to: string, why: string): Message {
  return { ...movedTo(message, to, why, false), hedge: 'copy' };
}

/** The message as the next carrier gets it. Every hop removes one carrier from its plan, which bounds the hops. */
export function movedTo(message: Message, to: string, why: string, mayComeBack: boolean): Message {
  const left = message.plan.filter((carrier) => carrier !== to && carrier !== message.carrier);
  return {
    ...message,
    carrier: to,
    hop: message.hop + 1,
    delays: 0,
    trace: [...message.trace, `${message.carrier}: ${why}`],
    plan: mayComeBack ? [...left, message.carrier] : left,
  };
}
