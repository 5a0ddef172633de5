// Takes message records from the carrier's three streams, shard by shard, into its lanes, and keeps hold of them: a redelivery
// of something held only refreshes the hold, a record with an outcome is acked again, and what is held longer
// than a third of ack_wait is announced as still in work. What one account has too much of goes to set-aside.ts. Acks
// of messages are the settlement's business, not ours.
import type { JsMsg } from '@nats-io/jetstream';
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { moveToDead } from '../../../cluster/bus/dead.ts';
import { decodeMessage } from '../../../model/records/message-record.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { dropConsumer } from '../../../cluster/bus/ensure.ts';
import { formerConsumerName, messageConsumer, streamNames } from '../../../cluster/bus/streams.ts';
import { type Category, type Lane, type Message, categories, laneOf } from '../../../model/message.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { AccountQueueMax } from '../../../platform/limits-lanes.ts';
import { limits } from '../../../platform/limits.ts';
import { AsideShards } from './aside-shards.ts';
import { holdKey, triesOf } from '../in-flight/attempt.ts';
import { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Lanes } from './lanes.ts';
import { OwnOpen } from './own-open.ts';
import type { ClaimVerdict } from '../repeats/intent-claims.ts';
import type { Ledger, LedgerVerdict } from '../repeats/ledger.ts';
import type { Rerouted } from '../health/rerouted-event.ts';
import { SetAside, isBlank } from './set-aside.ts';
import { putOffFor } from '../outcome/put-offs.ts';
import type { PutOff } from '../outcome/put-off-event.ts';
import { wasBegun } from '../health/was-taken.ts';

export type IntakeParts = {
  readonly bus: Bus;
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly carrier: string;
  /** The sum of the carrier's windows, in PDUs. */
  readonly windowPdus: number;
  readonly lanes: Lanes<InFlightMessage>;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Something new is in a lane. */
  readonly onArrival: (held: InFlightMessage) => void;
  /** A record whose hold had lapsed came back. */
  readonly onRegained: (held: InFlightMessage) => void;
  /** A record that an earlier life was putting off. */
  readonly onPutOff: (held: InFlightMessage, before: PutOff) => void;
  /** A record whose intent an earlier life wrote, without an outcome. */
  readonly onUnresolved: (held: InFlightMessage) => void;
  /** A record that is on its way to another carrier. */
  readonly onRerouted: (held: InFlightMessage, rerouted: Rerouted) => void;
  /** Whether the writer of an intent still lives: then only that node knows what becomes of it. */
  readonly isLiving: (epoch: number) => boolean;
  /** What our own events are told apart by; 0 where there are no other nodes. */
  readonly epoch: () => number;
  /** Tells this life from any other that serves the carrier. */
  readonly node: string;
  /** What one account may have waiting in a lane before the doors refuse it. */
  readonly accountQueueMax: AccountQueueMax;
};

/** All that the consumers of one lane may give. */
export const laneHeldMax =
  limits.bus.accountShards * limits.carrier.shardHeldMax + limits.aside.shards * limits.aside.heldMax;
const holdsMax = categories.length * laneHeldMax;

export class Intake {
  readonly #parts: IntakeParts;
  readonly #held = new Map<string, InFlightMessage>();
  readonly #own: OwnOpen;
  readonly #consumptions: Consumption[] = [];
  readonly #cancels: Cancel[] = [];
  readonly #asideShards: AsideShards;
  readonly #aside: SetAside;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    const { bus, publisher, ledger } = parts;
    this.#own = new OwnOpen(parts.clock);
    this.#asideShards = new AsideShards({
      ...parts,
      take: (record, lane) => this.#take(record, lane, true),
      onPoison: (record, stream, reason) => moveToDead(publisher, record, stream, reason),
    });
    this.#aside = new SetAside({
      ...parts,
      shards: this.#asideShards,
      isUntouched: (key) => ledger.verdictOf(key) === 'new' && !ledger.attemptOf(key) && !ledger.takenBitsOf(key),
      stay: (held) => {
        if (!this.#isKnown(held)) this.#hold(held);
      },
      wasBegun: (message) => wasBegun(bus, message),
    });
  }

  get size(): number {
    return this.#held.size;
  }

  /** Whether every consumer of its lanes was heard a moment ago; true while it takes nothing. */
  get isHeard(): boolean {
    const { bus, clock } = this.#parts;
    if (!bus.connected()) return false;
    const sinceMs = clock.monotonicMs() - limits.carrier.consumerHeardWithinMs;
    return this.#consumptions.every(({ heardAtMs }) => heardAtMs() >= sinceMs);
  }

  /** Everything held, in the order it came. */
  held(): Iterable<InFlightMessage> {
    return this.#held.values();
  }

  /** What is held under this key, if it is. */
  find(key: string): InFlightMessage | undefined {
    return this.#held.get(key);
  }

  async start(): Promise<void> {
    const { bus, carrier, windowPdus, clock } = this.#parts;
    await this.#asideShards.start();
    // All of them, whatever the carrier takes now: what was accepted while it took them must not wait for nobody.
    for (const category of categories) {
      const lane = laneOf[category];
      const stream = streamNames.messages[lane];
      await dropConsumer(bus.manager, stream, formerConsumerName(lane, carrier));
      const shards = Array.from({ length: limits.bus.accountShards }, (_, shard) =>
        consumeStream(bus, {
          stream,
          consumer: messageConsumer(lane, carrier, shard, windowPdus),
          // What is on its way aside leaves at once: what stands behind it must not wait for another round trip.
          prefetch: windowPdus + limits.aside.inFlightMax,
          handle: (record) => this.#take(record, lane, false),
          onPoison: (record, reason) => moveToDead(this.#parts.publisher, record, stream, reason),
          unhurried: category !== 'otp',
          clock,
        }).then((consumption) => this.#consumptions.push(consumption)),
      );
      await Promise.all(shards);
    }
    if (this.#cancels.length > 0) return;
    for (const category of categories) {
      const ackWaitMs = ackWaitOf(category);
      this.#cancels.push(clock.every(ackWaitMs / 3, () => this.#keepHold(category, ackWaitMs)));
    }
  }

  /** No new records; what is held stays held. It may be started again. */
  async stop(): Promise<void> {
    const consumptions = this.#consumptions.splice(0);
    await Promise.all([...consumptions.map((each) => each.stop()), this.#asideShards.stop()]);
  }

  /** Gives back what was not begun, so that the next owner gets it at once, and lets go of the timers. */
  close(): void {
    for (const cancel of this.#cancels) cancel();
    this.#aside.close();
    for (const held of this.#held.values()) {
      held.stopTimer();
      if (held.state === 'queued' || held.state === 'waiting') held.record.nak();
    }
    this.#held.clear();
  }

  /** Gives back what was not begun: another node can send it, and we cannot. */
  handBack(): void {
    for (const held of this.#held.values()) {
      if (isUnbegun(held)) this.giveBack(held, 0);
    }
  }

  /** Others have long been given what was not begun here: a word about it would only take it from them. */
  letGo(): void {
    for (const held of this.#held.values()) {
      if (isUnbegun(held)) this.release(held);
    }
  }

  /** In EVENTS another node's word about this message stands before ours: that one counts. */
  standBehind(held: InFlightMessage, verdict: ClaimVerdict): void {
    const { ledger, isLiving } = this.#parts;
    held.learnAccepted(ledger.takenBitsOf(held.key));
    const isTheirs = verdict !== 'rerouted' && isLiving(ledger.ownerOf(held.key));
    if (verdict !== 'lost' && !isTheirs && this.#goOnWith(held, verdict)) return;
    this.release(held);
    // Whoever began with it settles it; when that fails the record comes again, to us or to another.
    if (verdict === 'settled') held.record.ack();
  }

  /** A message that was refused for a moment wants to go again. */
  tryAgain(held: InFlightMessage): void {
    if (this.#held.get(held.key) === held) this.#toLane(held);
  }

  /** The message is settled and acked: forget it. */
  release(held: InFlightMessage): void {
    held.release();
    this.#held.delete(held.key);
    this.#parts.lanes.remove(held);
    this.#own.released(held);
  }

  /** Gives a record back to its stream, for another try in `delayMs` (at most a second). */
  giveBack(held: InFlightMessage, delayMs: number): void {
    this.release(held);
    held.record.nak(Math.min(delayMs, limits.bus.nakDelayMsMax));
  }

  #take(record: JsMsg, lane: Lane, fromAside: boolean): void {
    const { cipher, publisher, clock } = this.#parts;
    if (fromAside && isBlank(record)) return record.ack();
    let held: InFlightMessage;
    try {
      held = holdOf(record, decodeMessage(record.data, cipher), clock.monotonicMs());
    } catch (error) {
      return moveToDead(publisher, record, streamNames.messages[lane], messageOf(error));
    }
    if (!fromAside && this.#aside.knows(held)) return;
    if (this.#isKnown(held)) return;
    if (!fromAside && this.#aside.takes(held)) return;
    if (this.#aside.asks(held, fromAside)) return;
    this.#hold(held);
  }

  /** True when nothing is left to do with the record: its message is held, or has its outcome. */
  #isKnown({ key, record, ackDeadlineMs }: InFlightMessage): boolean {
    const before = this.#held.get(key);
    if (before === undefined) {
      if (this.#parts.ledger.verdictOf(key) !== 'settled') return false;
      record.ack();
      return true;
    }
    if (before.redelivered(record, ackDeadlineMs)) this.#parts.onRegained(before);
    return true;
  }

  #hold(held: InFlightMessage): void {
    const { ledger } = this.#parts;
    if (this.#held.size >= holdsMax) return held.record.nak(limits.bus.nakDelayMsMax);
    const verdict = ledger.verdictOf(held.key);
    if (isOpen(verdict) && !this.#isLeftOpen(held.key)) return held.record.nak(limits.bus.nakDelayMsMax);
    held.learnAccepted(ledger.takenBitsOf(held.key));
    held.tries = triesOf(ledger.attemptOf(held.key));
    held.neededFromSeq = ledger.neededFromSeq(held.key);
    ledger.markResent(held);
    this.#held.set(held.key, held);
    if (!this.#goOnWith(held, verdict)) this.#toLane(held);
  }

  /** False when nobody else began with it, or when it has ended. */
  #goOnWith(held: InFlightMessage, verdict: LedgerVerdict): boolean {
    const { ledger, onRerouted, onPutOff, onUnresolved } = this.#parts;
    const rerouted = verdict === 'rerouted' ? ledger.reroutedOf(held.key) : null;
    const putOff = verdict === 'put_off' ? ledger.putOffOf(held.key) : null;
    if (rerouted !== null) onRerouted(held, rerouted);
    else if (putOff !== null) onPutOff(held, putOff);
    else if (verdict === 'intent_without_outcome') onUnresolved(held);
    else return false;
    return true;
  }

  /** Whoever began with it tells no more: another node is dead, or it was us, and we hold it no more. */
  #isLeftOpen(key: string): boolean {
    const { ledger, isLiving, epoch } = this.#parts;
    const owner = ledger.ownerOf(key);
    if (!isLiving(owner)) return true;
    return owner === epoch() && this.#own.isLeft(key);
  }

  /** Puts a message (back) into its lane; a full lane gives it back to its stream. */
  #toLane(held: InFlightMessage): void {
    held.queue();
    if (!this.#parts.lanes.put(held)) return this.giveBack(held, limits.bus.nakDelayMsMax);
    this.#parts.onArrival(held);
  }

  #keepHold(category: Category, ackWaitMs: number): void {
    this.#own.forget();
    // Written into a lost connection it would be believed and not heard.
    if (!this.#parts.bus.connected()) return;
    const now = this.#parts.clock.monotonicMs();
    for (const held of this.#held.values()) {
      if (held.category !== category) continue;
      if (!held.isOursAt(now)) {
        // Long lapsed: another node has settled it, or it will come back as a new record.
        const isLong = held.ackDeadlineMs + limits.carrier.replayWindowMs < now;
        if (held.state === 'lapsed' && isLong && !held.isOut) this.release(held);
        continue;
      }
      if (held.ackDeadlineMs - now > (ackWaitMs * 2) / 3) continue;
      held.record.working();
      held.ackDeadlineMs = now + ackWaitMs;
    }
  }
}

/** Somebody has begun with it, and has not told yet what became of that. */
function isOpen(verdict: LedgerVerdict): boolean {
  return verdict === 'intent_without_outcome' || verdict === 'put_off';
}

function isUnbegun({ state, isUntouched, pendingWrites }: InFlightMessage): boolean {
  if (!isUntouched || pendingWrites > 0) return false;
  return state === 'queued' || state === 'waiting' || state === 'lapsed';
}

function ackWaitOf(category: Category): number {
  return category === 'otp' ? limits.carrier.ackWaitOtpMs : limits.carrier.ackWaitMs;
}

function holdOf(record: JsMsg, message: Message, nowMs: number): InFlightMessage {
  const key = holdKey(message.messageId, message.hop, message.delays);
  const lastRefusal = message.delays > 0 ? putOffFor(message) : null;
  return new InFlightMessage(key, message, record, nowMs + ackWaitOf(message.category), lastRefusal);
}
