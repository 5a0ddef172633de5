// Gives a message to another carrier of its plan: durable `rerouted` event, publish with the next hop, ack, in this
// order. A redelivery that finds the event only repeats the publish, to the same carrier. It never takes a message
// of which this carrier may have any part: that is asserted here, whoever asks.
import type { EventStoreAnswer } from '../../ask-event-store.ts';
import { asRepublished } from '../../../cluster/bus/republished.ts';
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import type { EventWriter } from '../../../cluster/bus/event-writer.ts';
import { encodeMessage, messageRecordId } from '../../../model/records/message-record.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { messageSubject } from '../../../cluster/bus/subjects.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import type { Message } from '../../../model/message.ts';
import { assert } from '../../../platform/assert.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { CarrierHealthView } from '../../../policy/contract.ts';
import { isAvoided } from '../../../policy/routing/avoid.ts';
import { attemptNumber } from '../in-flight/attempt.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Intake } from '../intake/intake.ts';
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
  /** Somebody else's word in EVENTS comes before the `rerouted` of this message. */
  readonly onClaimLost: (inFlight: InFlightMessage, verdict: ClaimStatus) => void;
  readonly clock: Clock;
  /** No event written from now on gets a lower sequence. */
  readonly nextSeq: () => number;
  readonly carriers: CarrierHealthView;
  /** Without it: every carrier of a plan is still there. */
  readonly isConfigured?: ((carrier: string) => boolean) | undefined;
  /** Without it this carrier is configured, and the message's own plan counts. */
  readonly candidatesOfRemoved?: ((message: Message) => readonly string[]) | undefined;
  readonly intake: () => Intake;
  /** The other carrier has it: its record is acked when nothing else of it is on its way. */
  readonly settle: (inFlight: InFlightMessage) => void;
  /** Whether that carrier has begun with the message: asked when the stream may have forgotten our publish. */
  readonly wasSubmitted: (message: Message) => Promise<EventStoreAnswer>;
};

/** `good`: it may go there now · `avoided`: only when the message can go nowhere else. */
export type Alternative = { readonly to: string; readonly how: 'good' | 'avoided' };

/** The stream knows the id of a publish this long; a repeat within it cannot make a second copy. */
const surelyRememberedMs = limits.bus.duplicateWindowMs / 2;

export class Reroute {
  readonly #parts: RerouteParts;

  constructor(parts: RerouteParts) {
    this.#parts = parts;
  }

  /** Null: this carrier is the last. Carriers that do well come first, in the plan's order. */
  alternative(message: Message): Alternative | null {
    const { carrier, carriers } = this.#parts;
    if (message.hop + 1 >= limits.reroute.hopsMax) return null;
    const [best] = this.#parts.candidatesOfRemoved?.(message) ?? [];
    // Here it can only wait for nobody: any other carrier is better.
    if (best !== undefined) return { to: best, how: 'good' };
    let second: string | null = null;
    for (const to of message.plan) {
      // Nobody would take it there.
      if (to === carrier || this.#parts.isConfigured?.(to) === false) continue;
      if (!isAvoided(carriers.stateOf(to), message.category)) return { to, how: 'good' };
      if (second === null || (carriers.stateOf(second) === 'down' && carriers.stateOf(to) === 'weak')) second = to;
    }
    return second === null ? null : { to: second, how: 'avoided' };
  }

  /** `mayComeBack`: the message was not refused here, the carrier was only out of reach. */
  go(inFlight: InFlightMessage, to: string, why: string, mayComeBack: boolean): void {
    assert(inFlight.isUntouched, 'a part of the message may be at this carrier');
    const { events, replayIndex, clock, claims, onClaimLost } = this.#parts;
    const { message } = inFlight;
    inFlight.reroute();
    inFlight.epoch = claims.epoch();
    const from = { seq: this.#parts.nextSeq(), storedAtMs: Number.POSITIVE_INFINITY };
    if (inFlight.neededFromSeq === 0) inFlight.neededFromSeq = from.seq;
    const rerouted = eventOfMessage(message, {
      kind: 'rerouted',
      attempt: attemptNumber(message.delays, inFlight.tries),
      error: reroutedText(to, why),
      detail: String(message.hop),
      epoch: inFlight.epoch,
      atMs: clock.nowMs(),
    });
    const publish = (verdict: ClaimStatus) => {
      if (verdict === 'new') {
        replayIndex.reroute(
          inFlight.key,
          { to, why, atMs: rerouted.atMs },
          { ...from, seq: Math.min(from.seq, this.#parts.nextSeq()) },
        );
        return this.#publish(inFlight, to, why, mayComeBack);
      }
      onClaimLost(inFlight, verdict);
    };
    // Not durable: we stop, the record comes back and is decided again.
    const onOver = (_: InFlightMessage, durable: boolean) => durable && claims.confirm('rerouted', inFlight, publish);
    inFlight.write(events, rerouted, onOver, null);
  }

  /** The record came back although its `rerouted` event is durable: whether the publish was made, nobody knows. */
  repeat(inFlight: InFlightMessage, { to, why, atMs }: Rerouted): void {
    inFlight.reroute();
    this.#parts.replayIndex.keepReroute(inFlight.key);
    if (Math.abs(this.#parts.clock.nowMs() - atMs) < surelyRememberedMs) return this.#publish(inFlight, to, why, false);
    const release = inFlight.hold();
    void this.#parts.wasSubmitted(inFlight.message).then((taken) => {
      release();
      if (taken === 'no') return this.#publish(inFlight, to, why, false, true);
      if (taken === 'yes') this.#parts.settle(inFlight);
      else this.#parts.intake().giveBack(inFlight, limits.bus.nakDelayMsMax);
    });
  }

  #publish(inFlight: InFlightMessage, to: string, why: string, mayComeBack: boolean, again = false): void {
    const { publisher, cipher, carrier, candidatesOfRemoved } = this.#parts;
    const { message } = inFlight;
    const moved =
      candidatesOfRemoved === undefined
        ? movedTo(message, to, why, mayComeBack)
        : movedTo({ ...message, plan: candidatesOfRemoved(message) }, to, why, false);
    const release = inFlight.hold();
    publisher.publish(
      messageSubject(moved.category, to, moved.accountId),
      encodeMessage(moved, cipher),
      messageRecordId(moved),
      (result) => {
        release();
        // Its queue is full or the bus is away: the event stands, so the record comes back and goes there and nowhere else.
        if (!result.ok) return this.#parts.intake().giveBack(inFlight, limits.bus.nakDelayMsMax);
        metrics.rerouted.inc({ carrier, to, category: moved.category });
        this.#parts.settle(inFlight);
      },
      again ? asRepublished : undefined,
    );
  }
}

/** The message as the next carrier gets it. Every hop takes one name from its plan, so that it cannot wander for ever. */
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
