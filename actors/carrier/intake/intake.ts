// Takes message records from the carrier's three streams, shard by shard, into its lanes. A redelivery of a message in
// flight only extends its ack deadline, a record with an outcome is acked again, and work in progress is sent for what
// is in flight longer than a third of ack_wait. overflow-writer.ts takes the excess of one account. Messages are acked
// by completion.ts, not here.
import type { JsMsg } from '@nats-io/jetstream';
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { moveToDead } from '../../../cluster/bus/dead-letter.ts';
import { type DeliveredRecord, deliveredRecord } from '../../../cluster/bus/delivered-record.ts';
import { decodeMessage } from '../../../model/records/message-record.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { messageConsumer, streamNames } from '../../../cluster/bus/streams.ts';
import { type Category, type Lane, type Message, categories, laneOf } from '../../../model/message.ts';
import type { Cancel } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { OverflowShards, type OverflowShardsParts } from './overflow-shards.ts';
import { deliveryKey, triesOf } from '../in-flight/attempt.ts';
import { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Lanes } from '../queue/lanes.ts';
import type { MessagesInFlight } from '../queue/messages-in-flight.ts';
import type { ReplayIndex, ReplayStatus } from '../deduplication/replay-index.ts';
import { OverflowWriter, isBlank } from './overflow-writer.ts';
import { deferralFor } from '../deduplication/deferral-event.ts';
import { wasBegun } from '../deduplication/was-submitted.ts';

export type IntakeParts = Omit<OverflowShardsParts, 'take' | 'onPoison'> & {
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly lanes: Lanes<InFlightMessage>;
  readonly replayIndex: ReplayIndex;
  readonly messages: MessagesInFlight;
  /** A record whose ack deadline had passed was redelivered. */
  readonly onRegained: (inFlight: InFlightMessage) => void;
  /** Continues what was begun before; false when it is new. */
  readonly goOnWith: (inFlight: InFlightMessage, status: ReplayStatus) => boolean;
  /** Whether the writer of an intent is alive: then only that node may decide about the message. */
  readonly isLiving: (epoch: number) => boolean;
  /** Identifies our own events; 0 on a single node. */
  readonly epoch: () => number;
};

/** How much the consumers of one lane may deliver. */
export const laneHeldMax =
  limits.bus.accountShards * limits.carrier.shardHeldMax + limits.overflow.shards * limits.overflow.heldMax;
const holdsMax = categories.length * laneHeldMax;

export class Intake {
  readonly #parts: IntakeParts;
  readonly #consumptions: Consumption[] = [];
  /** Consumers that an earlier start opens late are closed. */
  #opening = 0;
  readonly #cancels: Cancel[] = [];
  readonly #overflowShards: OverflowShards;
  readonly #overflow: OverflowWriter;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    const { bus, publisher, replayIndex } = parts;
    this.#overflowShards = new OverflowShards({
      ...parts,
      take: (record, lane) => this.#take(record, lane, true),
      onPoison: (record, stream, reason) => moveToDead(publisher, record, stream, reason),
    });
    this.#overflow = new OverflowWriter({
      ...parts,
      shards: this.#overflowShards,
      isUntouched: (key) =>
        replayIndex.statusOf(key) === 'new' && !replayIndex.attemptOf(key) && !replayIndex.takenBitsOf(key),
      stay: (inFlight) => {
        if (!this.#isKnown(inFlight)) this.#hold(inFlight);
      },
      wasBegun: (message) => wasBegun(bus, message),
    });
  }

  /** Whether every consumer was reachable a moment ago; true while none is open. */
  get isReachable(): boolean {
    const { bus, clock } = this.#parts;
    if (!bus.connected()) return false;
    const sinceMs = clock.monotonicMs() - limits.carrier.consumerReachableMs;
    return this.#consumptions.every(({ lastReceivedAtMs }) => lastReceivedAtMs() >= sinceMs);
  }

  /** A failed start leaves no consumer open. */
  async start(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async #open(): Promise<void> {
    const { bus, carrier, windowPdus, clock } = this.#parts;
    const opening = this.#opening;
    await this.#overflowShards.start();
    // All categories, whatever the carrier carries now: what was accepted for it earlier still needs a consumer.
    for (const category of categories) {
      const lane = laneOf[category];
      const stream = streamNames.messages[lane];
      const shards = Array.from({ length: limits.bus.accountShards }, (_, shard) =>
        consumeStream(bus, {
          stream,
          consumer: messageConsumer(lane, carrier, shard, windowPdus),
          prefetch: prefetchOf(category, windowPdus),
          handle: (record) => this.#take(record, lane, false),
          onPoison: (record, reason) => moveToDead(this.#parts.publisher, record, stream, reason),
          lowPriority: category !== 'otp',
          clock,
        }).then((consumption) =>
          opening === this.#opening ? void this.#consumptions.push(consumption) : consumption.stop(),
        ),
      );
      await Promise.all(shards);
    }
    if (this.#cancels.length > 0) return;
    for (const category of categories) {
      const ackWaitMs = ackWaitOf(category);
      this.#cancels.push(clock.every(ackWaitMs / 3, () => this.#extendAckDeadline(category, ackWaitMs)));
    }
  }

  /** Takes no new records; messages in flight stay. It may be started again. */
  async stop(): Promise<void> {
    this.#opening += 1;
    const consumptions = this.#consumptions.splice(0);
    await Promise.all([...consumptions.map((each) => each.stop()), this.#overflowShards.stop()]);
  }

  /** Naks what was not begun, so that the next owner gets it at once, and cancels the timers. */
  close(): void {
    for (const cancel of this.#cancels) cancel();
    this.#overflow.close();
    this.#parts.messages.close();
  }

  #take(record: JsMsg, lane: Lane, fromOverflow: boolean): void {
    const { bus, cipher, publisher, clock } = this.#parts;
    if (fromOverflow && isBlank(record)) return record.ack();
    let inFlight: InFlightMessage;
    try {
      const message = decodeMessage(record.data, cipher);
      inFlight = inFlightOf(message, deliveredRecord(record, bus.connection), clock.monotonicMs());
    } catch (error) {
      return moveToDead(publisher, record, streamNames.messages[lane], messageOf(error));
    }
    if (!fromOverflow && this.#overflow.knows(inFlight)) return;
    if (this.#isKnown(inFlight)) return;
    if (!fromOverflow && this.#overflow.takes(inFlight, record)) return;
    if (this.#overflow.asks(inFlight, record, fromOverflow)) return;
    this.#hold(inFlight);
  }

  /** True when nothing is left to do with the record: its message is in flight, or has its outcome. */
  #isKnown({ key, record, ackDeadlineMs }: InFlightMessage): boolean {
    const before = this.#parts.messages.find(key);
    if (before === undefined) {
      if (this.#parts.replayIndex.statusOf(key) !== 'settled') return false;
      record.ack();
      return true;
    }
    if (before.redelivered(record, ackDeadlineMs)) this.#parts.onRegained(before);
    return true;
  }

  #hold(inFlight: InFlightMessage): void {
    const { replayIndex, messages, goOnWith } = this.#parts;
    if (messages.size >= holdsMax) return inFlight.record.nak(limits.bus.nakDelayMsMax);
    const status = replayIndex.statusOf(inFlight.key);
    if (isOpen(status) && !this.#isLeftOpen(inFlight.key)) return inFlight.record.nak(limits.bus.nakDelayMsMax);
    inFlight.learnAccepted(replayIndex.takenBitsOf(inFlight.key));
    inFlight.tries = triesOf(replayIndex.attemptOf(inFlight.key));
    inFlight.neededFromSeq = replayIndex.neededFromSeq(inFlight.key);
    replayIndex.markResent(inFlight);
    if (replayIndex.hedgedOf(inFlight.key) !== null) inFlight.hedged = 'copied';
    messages.hold(inFlight);
    if (!goOnWith(inFlight, status)) messages.queue(inFlight);
  }

  /** Its writer will publish no more: another node that is dead, or this actor, which no longer has it in flight. */
  #isLeftOpen(key: string): boolean {
    const { replayIndex, isLiving, epoch, messages } = this.#parts;
    const owner = replayIndex.ownerOf(key);
    if (!isLiving(owner)) return true;
    return owner === epoch() && messages.own.isLeft(key);
  }

  #extendAckDeadline(category: Category, ackWaitMs: number): void {
    const { messages } = this.#parts;
    messages.own.dropPublished();
    // Written into a lost connection it would be counted and never arrive.
    if (!this.#parts.bus.connected()) return;
    const now = this.#parts.clock.monotonicMs();
    for (const inFlight of messages.all()) {
      if (inFlight.category !== category) continue;
      if (!inFlight.isOursAt(now)) {
        // Lapsed long ago: another node has settled it, or it will be redelivered as a new record.
        const isLong = inFlight.ackDeadlineMs + limits.carrier.replayWindowMs < now;
        if (inFlight.state === 'lapsed' && isLong && !inFlight.isOut) messages.release(inFlight);
        continue;
      }
      if (inFlight.ackDeadlineMs - now > (ackWaitMs * 2) / 3) continue;
      inFlight.record.working();
      inFlight.ackDeadlineMs = now + ackWaitMs;
    }
  }
}

/** It was begun, and its outcome is not known yet. */
function isOpen(status: ReplayStatus): boolean {
  return status === 'intent_without_outcome' || status === 'deferred';
}

/**
 * Overflow OTP are acked at once: what follows must not wait for another round trip. Other categories prefetch less,
 * because records that arrive together delay an OTP of the same thread.
 */
function prefetchOf(category: Category, windowPdus: number): number {
  return category === 'otp'
    ? windowPdus + limits.overflow.inFlightMax
    : Math.min(windowPdus, limits.overflow.lowPriorityPrefetchMax);
}

function ackWaitOf(category: Category): number {
  return category === 'otp' ? limits.carrier.ackWaitOtpMs : limits.carrier.ackWaitMs;
}

function inFlightOf(message: Message, record: DeliveredRecord, nowMs: number): InFlightMessage {
  const key = deliveryKey(message.messageId, message.hop, message.delays);
  const inFlight = new InFlightMessage(key, message, record, nowMs + ackWaitOf(message.category));
  if (message.delays > 0) inFlight.lastRefusal = deferralFor(message);
  return inFlight;
}
