// Moves the excess of one account out of its account shard: the record is published unchanged to the account's overflow
// shard and acked when that is durable. Records from an overflow shard are taken like any other, never moved again.
// A move may happen twice and must not produce two messages:
// * its id is the record's key: the stream drops a repeat within its duplicate window; a move is abandoned long before
//   that ends, and the account determines the overflow shard, so that a copy is always in the same place;
// * a redelivered record may have a copy from an earlier incarnation. When something waits where that would be, a blank
//   is published under the copy's id; it is refused when there was a copy. Then the record is acked if the copy is
//   still there; if not it was taken, and the replay index knows it. A blank not refused means there is no copy;
// * when the carrier was not served for so long that the stream may have forgotten ids, the record is moved again and
//   marked: the event store is asked about it before it is sent.
import type { JsMsg } from '@nats-io/jetstream';
import { isRedelivered } from '../../../cluster/bus/redelivered.ts';
import { asRepublished, isAgain } from '../../../cluster/bus/republished.ts';
import type { EventStoreAnswer } from '../../ask-event-store.ts';
import { type PublishResult, Publisher } from '../../../cluster/bus/publisher.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { overflowSubject } from '../../../cluster/bus/subjects.ts';
import { type Message, laneOf } from '../../../model/message.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { OverflowShards, OverflowShardsParts } from './overflow-shards.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import { type Lanes, reservedInLane } from '../queue/lanes.ts';

export type OverflowWriterParts = Pick<OverflowShardsParts, 'bus' | 'carrier' | 'windowPdus' | 'clock'> & {
  readonly lanes: Pick<Lanes<InFlightMessage>, 'waitingOf' | 'accounts'>;
  readonly shards: Pick<OverflowShards, 'enters' | 'leaves' | 'floods' | 'waitingOf' | 'wasLeft'>;
  /** Not begun as far as the replay index reaches; a copy may still wait elsewhere. */
  readonly isUntouched: (key: string) => boolean;
  /** It stays: puts it into its lane, whatever waits there. */
  readonly stay: (inFlight: InFlightMessage) => void;
  /** Whether the carrier has begun with a message, by its recorded events. */
  readonly wasBegun: (message: Message) => Promise<EventStoreAnswer>;
};

const { overflow } = limits;
/** Marks a blank, which only tests whether there is a copy. */
const blankHeader = 'Heliograph-Blank';
const nothing = new Uint8Array(0);

export class OverflowWriter {
  readonly #parts: OverflowWriterParts;
  /** Records of account shards whose move has begun, by key. */
  readonly #moving = new Map<string, InFlightMessage>();
  /** Records of overflow shards with a query in progress. */
  readonly #asked = new Map<string, InFlightMessage>();
  /** Keys whose copy is durable: only their acks may have been lost. */
  readonly #moved: RotatingMap<string, true>;
  /** When a move was first abandoned: it is not known whether it reached the stream. */
  readonly #tried: RotatingMap<string, number>;
  #publisher: Publisher | null = null;
  /** Moves that the lower lanes may make now, and when that was computed. */
  #allowance: number = overflow.lowPriorityBurst;
  #allowedAtMs = 0;

  constructor(parts: OverflowWriterParts) {
    this.#parts = parts;
    this.#moved = new RotatingMap(overflow.rememberedMs, overflow.rememberedMax, parts.clock);
    this.#tried = new RotatingMap(overflow.rememberedMs, overflow.rememberedMax, parts.clock);
  }

  /** Whether this incarnation has begun to move the record. Then nothing else is to be done. */
  knows(inFlight: InFlightMessage): boolean {
    const moving = this.#moving.get(inFlight.key);
    if (moving !== undefined) {
      moving.redelivered(inFlight.record, inFlight.ackDeadlineMs);
      return true;
    }
    if (this.#moved.get(inFlight.key) !== true) return false;
    inFlight.record.ack();
    return true;
  }

  /** A new record of an account shard. False when it stays. */
  takes(inFlight: InFlightMessage, record: JsMsg): boolean {
    const redelivered = isRedelivered(record);
    if (isAgain(record)) return false; // the overflow shard is checked for a copy instead
    if (!redelivered && !this.#isTooMuch(inFlight)) return false;
    if (!this.#parts.isUntouched(inFlight.key)) return false;
    if (redelivered) void this.#moveOrStay(inFlight, record);
    else if (!this.#mayMove(inFlight)) return false;
    else this.#move(inFlight, record, false);
    return true;
  }

  /** A new record that is not moved. False when it may enter its lane. */
  asks(inFlight: InFlightMessage, record: JsMsg, fromOverflow: boolean): boolean {
    if (fromOverflow) this.#parts.shards.leaves(laneOf[inFlight.category], inFlight.message.accountId);
    if (!isAgain(record) || !this.#parts.isUntouched(inFlight.key)) return false;
    const asked = this.#asked.get(inFlight.key);
    if (asked === undefined) void this.#askAbout(inFlight, record, fromOverflow);
    else asked.redelivered(inFlight.record, inFlight.ackDeadlineMs);
    return true;
  }

  /** Unfinished moves are left to the next incarnation. */
  close(): void {
    this.#moving.clear();
    this.#asked.clear();
    this.#publisher?.close();
    this.#publisher = null;
  }

  #isTooMuch({ category, message }: InFlightMessage): boolean {
    const { lanes, shards, windowPdus } = this.#parts;
    // While the account's excess waits, later records must not overtake it.
    if (shards.floods(laneOf[category], message.accountId)) return true;
    const waiting = lanes.waitingOf(category, message.accountId);
    // Most accounts have nothing waiting.
    return waiting >= overflow.reservedOfOneMin && waiting >= reservedInLane(windowPdus, lanes.accounts(category));
  }

  /**
   * An OTP must not wait for the end of a flood. In the other lanes a move only changes the order: the backlog of a
   * downtime must not cost twice its work at once.
   */
  #mayMove({ category }: InFlightMessage): boolean {
    if (this.#moving.size >= overflow.inFlightMax) return false;
    if (category === 'otp') return true;
    const nowMs = this.#parts.clock.monotonicMs();
    const { lowPriorityPerS, lowPriorityBurst } = overflow;
    this.#allowance = Math.min(
      lowPriorityBurst,
      this.#allowance + ((nowMs - this.#allowedAtMs) / 1_000) * lowPriorityPerS,
    );
    this.#allowedAtMs = nowMs;
    if (this.#allowance < 1) return false;
    this.#allowance -= 1;
    return true;
  }

  async #moveOrStay(inFlight: InFlightMessage, record: JsMsg): Promise<void> {
    const { stay } = this.#parts;
    this.#moving.set(inFlight.key, inFlight);
    const waiting = await this.#overflowDepth(inFlight);
    if (this.#moving.get(inFlight.key) !== inFlight) return;
    if (waiting !== null && waiting > 0)
      return this.#isForgotten(inFlight, record) ? this.#move(inFlight, record, true) : this.#blank(inFlight, record);
    this.#moving.delete(inFlight.key);
    if (waiting === 0) stay(inFlight);
    else inFlight.record.nak(limits.bus.nakDelayMsMax);
  }

  /** How many records wait in its account's overflow shard; null when the server does not answer. */
  #overflowDepth({ category, message }: InFlightMessage): Promise<number | null> {
    return this.#parts.shards.waitingOf(laneOf[category], message.accountId).catch((error: unknown) => {
      ignoring(error, 'the record is redelivered, and looked up again');
      return null;
    });
  }

  /** Whether the stream may have forgotten the id of a copy. */
  #isForgotten({ key, category }: InFlightMessage, record: JsMsg): boolean {
    const { shards, clock } = this.#parts;
    const triedAtMs = this.#tried.get(key) ?? Number.POSITIVE_INFINITY;
    return clock.monotonicMs() - triedAtMs > overflow.forgottenMs || shards.wasLeft(laneOf[category], record);
  }

  #move(inFlight: InFlightMessage, record: JsMsg, again: boolean): void {
    this.#parts.shards.enters(laneOf[inFlight.category], inFlight.message.accountId);
    const isMarked = isAgain(record);
    const extra = again || isMarked ? asRepublished : undefined;
    this.#publish(inFlight, isMarked, record.data, extra, (seq) => this.#moveIsDone(inFlight, seq));
  }

  #blank(inFlight: InFlightMessage, record: JsMsg): void {
    this.#publish(inFlight, isAgain(record), nothing, { [blankHeader]: '1' }, () => this.#parts.stay(inFlight));
  }

  #publish(
    inFlight: InFlightMessage,
    isMarked: boolean,
    payload: Uint8Array,
    extra: Record<string, string> | undefined,
    onStored: (seq: number) => void,
  ): void {
    const { bus, carrier } = this.#parts;
    this.#moving.set(inFlight.key, inFlight);
    this.#publisher ??= new Publisher(bus, { deadlineMs: overflow.publishMs, gatherMs: limits.http.publishGatherMs });
    const subject = overflowSubject(inFlight.category, carrier, inFlight.message.accountId);
    this.#publisher.publish(
      subject,
      payload,
      `${inFlight.key}.to overflow`,
      (r) => this.#onAnswer(inFlight, isMarked, r, onStored),
      extra,
    );
  }

  #onAnswer(
    inFlight: InFlightMessage,
    isMarked: boolean,
    result: PublishResult,
    onStored: (seq: number) => void,
  ): void {
    if (this.#moving.get(inFlight.key) !== inFlight) return; // closed
    if (result.ok && result.duplicate) return void this.#lookAtCopy(inFlight, result.seq);
    this.#moving.delete(inFlight.key);
    if (result.ok) return onStored(result.seq);
    // The overflow shard is full: the message was accepted, so it is sent from here.
    const isFull = result.failure === 'subject_full' || result.failure === 'full';
    if (isFull && !isMarked) return this.#parts.stay(inFlight);
    if (this.#tried.get(inFlight.key) === undefined) this.#tried.set(inFlight.key, this.#parts.clock.monotonicMs());
    inFlight.record.nak(limits.bus.nakDelayMsMax);
  }

  #moveIsDone(inFlight: InFlightMessage, seq: number): void {
    const { clock, carrier } = this.#parts;
    // Its ack deadline has passed: the new owner may have found no copy before this one was published.
    if (!inFlight.isOursAt(clock.monotonicMs())) return void this.#takeBack(inFlight, seq);
    this.#moved.set(inFlight.key, true);
    metrics.overflowed.inc({ carrier, category: inFlight.category });
    inFlight.record.ack();
  }

  /** The id of its copy was in use: by the copy, or by a blank. If no longer there: settled, or it was a blank. */
  async #lookAtCopy(inFlight: InFlightMessage, seq: number): Promise<void> {
    const { bus, stay } = this.#parts;
    try {
      const stream = streamNames.messages[laneOf[inFlight.category]];
      const asked = bus.manager.streams.getMessage(stream, { seq });
      const copy = await withDeadline('the copy of a record', overflow.lookTimeoutMs, asked);
      if (this.#moving.get(inFlight.key) !== inFlight) return;
      this.#moving.delete(inFlight.key);
      if (copy === null || copy.header.get(blankHeader) !== '') return stay(inFlight);
      this.#moved.set(inFlight.key, true);
      inFlight.record.ack();
    } catch (error) {
      ignoring(error, 'the record is redelivered, and looked up again');
      if (this.#moving.get(inFlight.key) !== inFlight) return;
      this.#moving.delete(inFlight.key);
      inFlight.record.nak(limits.bus.nakDelayMsMax);
    }
  }

  async #takeBack(inFlight: InFlightMessage, seq: number): Promise<void> {
    await this.#parts.bus.manager.streams
      .deleteMessage(streamNames.messages[laneOf[inFlight.category]], seq)
      .catch((error: unknown) => ignoring(error, 'it was taken already, or is found to be a copy'));
  }

  async #askAbout(inFlight: InFlightMessage, record: JsMsg, fromOverflow: boolean): Promise<void> {
    this.#asked.set(inFlight.key, inFlight);
    // An earlier record may wait there: this one is queued behind it, and checked when it comes out.
    const waiting = fromOverflow ? 0 : await this.#overflowDepth(inFlight);
    if (this.#asked.get(inFlight.key) !== inFlight) return;
    if (waiting !== null && waiting > 0) {
      this.#asked.delete(inFlight.key);
      return this.#move(inFlight, record, true);
    }
    const begun = waiting === null ? 'unclear' : await this.#parts.wasBegun(inFlight.message);
    if (this.#asked.get(inFlight.key) !== inFlight) return;
    this.#asked.delete(inFlight.key);
    if (begun === 'yes') inFlight.record.ack();
    else if (begun === 'no') this.#parts.stay(inFlight);
    else inFlight.record.nak(limits.bus.nakDelayMsMax);
  }
}

/** Whether a record of an overflow shard is a blank. */
export function isBlank(record: JsMsg): boolean {
  return record.data.length === 0 && (record.headers?.get(blankHeader) ?? '') !== '';
}
