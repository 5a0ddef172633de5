// Takes what one account has too much of out of the way of the others in its account shard: the record is published
// unchanged to the account's aside shard, and acked when that is durable. What comes out of an aside shard is taken
// like anything else and never set aside again. A move may happen twice and must not become two messages:
// * its id is the record's key, so that a repeat within the stream's memory of ids is dropped; a move is given up long
//   before that ends, and the aside shard follows from the account, so that a copy is always in one place;
// * a record that was delivered before may have a copy from an earlier life. When something waits where that would be,
//   a blank is published under the copy's id: it is refused when there was a copy. Then the record is acked if the copy
//   is still there; if not it was taken, and the ledger knows it. A blank that was not refused means there is none;
// * when nobody served the carrier for so long that the stream may have forgotten ids, the record is moved again and
//   marked instead: behind its copy it is asked about before it is sent.
import type { JsMsg } from '@nats-io/jetstream';
import { asAgain, isAgain } from '../../../cluster/bus/again.ts';
import type { EventStoreAnswer } from '../../ask-event-store.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type PublishResult, Publisher } from '../../../cluster/bus/publisher.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { asideSubject } from '../../../cluster/bus/subjects.ts';
import { type Message, laneOf } from '../../../model/message.ts';
import type { Clock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { AsideShards } from './aside-shards.ts';
import { Generations } from '../repeats/generations.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import { type Lanes, keptInLane } from './lanes.ts';

export type SetAsideParts = {
  readonly bus: Bus;
  readonly carrier: string;
  readonly windowPdus: number;
  readonly lanes: Pick<Lanes<InFlightMessage>, 'waitingOf' | 'accounts'>;
  readonly shards: Pick<AsideShards, 'see' | 'floods' | 'waitingOf' | 'wasLeft'>;
  readonly clock: Clock;
  /** Nobody has begun with it, as far as the ledger reaches: it may still wait elsewhere. */
  readonly isUntouched: (key: string) => boolean;
  /** It stays: into its lane, whatever waits there. */
  readonly stay: (held: InFlightMessage) => void;
  /** Whether the carrier has begun with a message, by its recorded events. */
  readonly wasBegun: (message: Message) => Promise<EventStoreAnswer>;
};

const { aside } = limits;
/** On what only asks whether there is a copy. */
const blankHeader = 'Heliograph-Blank';
const nothing = new Uint8Array(0);

export class SetAside {
  readonly #parts: SetAsideParts;
  /** Records of account shards whose move has begun, by key. */
  readonly #moving = new Map<string, InFlightMessage>();
  /** Records of aside shards that are asked about. */
  readonly #asked = new Map<string, InFlightMessage>();
  /** Keys of those whose copy is durable: only their acks may have been lost. */
  readonly #moved: Generations<string, true>;
  /** When a move was first given up: whether it had come to the stream, nobody knows. */
  readonly #tried: Generations<string, number>;
  #publisher: Publisher | null = null;
  /** Moves in the lanes without hurry that may be made now, and when that was last reckoned. */
  #allowance: number = aside.unhurriedAtOnce;
  #allowedAtMs = 0;

  constructor(parts: SetAsideParts) {
    this.#parts = parts;
    this.#moved = new Generations(aside.rememberedMs, aside.rememberedMax, parts.clock);
    this.#tried = new Generations(aside.rememberedMs, aside.rememberedMax, parts.clock);
  }

  /** Whether a record of an account shard is one whose move this life has begun. Then nothing else is to be done. */
  knows(held: InFlightMessage): boolean {
    const moving = this.#moving.get(held.key);
    if (moving !== undefined) {
      moving.redelivered(held.record, held.ackDeadlineMs);
      return true;
    }
    if (this.#moved.get(held.key) !== true) return false;
    held.record.ack();
    return true;
  }

  /** A new record of an account shard. False when it stays. */
  takes(held: InFlightMessage): boolean {
    const { redelivered } = held.record;
    if (isAgain(held.record)) return false; // asked about instead
    if (!redelivered && !this.#isTooMuch(held)) return false;
    if (!this.#parts.isUntouched(held.key)) return false;
    if (redelivered) void this.#moveOrStay(held);
    else if (!this.#mayMove(held)) return false;
    else this.#move(held, false);
    return true;
  }

  /** A new record that is not moved. False when it may go into its lane. */
  asks(held: InFlightMessage, fromAside: boolean): boolean {
    if (fromAside) this.#parts.shards.see(laneOf[held.category], held.message.accountId);
    if (!isAgain(held.record) || !this.#parts.isUntouched(held.key)) return false;
    const asked = this.#asked.get(held.key);
    if (asked === undefined) void this.#askAbout(held, fromAside);
    else asked.redelivered(held.record, held.ackDeadlineMs);
    return true;
  }

  /** What was on its way is left to the next life. */
  close(): void {
    this.#moving.clear();
    this.#asked.clear();
    this.#publisher?.close();
    this.#publisher = null;
  }

  #isTooMuch({ category, message }: InFlightMessage): boolean {
    const { lanes, shards, windowPdus } = this.#parts;
    // While its excess waits, what comes later must not go before it.
    if (shards.floods(laneOf[category], message.accountId)) return true;
    const waiting = lanes.waitingOf(category, message.accountId);
    // Most have nothing waiting.
    return waiting >= aside.keptOfOneMin && waiting >= keptInLane(windowPdus, lanes.accounts(category));
  }

  /**
   * An OTP behind a flood must not wait for its end. In the other lanes a move only changes who goes first: a backlog
   * from when nobody served the carrier must not cost twice its work at once.
   */
  #mayMove({ category }: InFlightMessage): boolean {
    if (this.#moving.size >= aside.inFlightMax) return false;
    if (category === 'otp') return true;
    const nowMs = this.#parts.clock.monotonicMs();
    const { unhurriedPerS, unhurriedAtOnce } = aside;
    this.#allowance = Math.min(
      unhurriedAtOnce,
      this.#allowance + ((nowMs - this.#allowedAtMs) / 1_000) * unhurriedPerS,
    );
    this.#allowedAtMs = nowMs;
    if (this.#allowance < 1) return false;
    this.#allowance -= 1;
    return true;
  }

  async #moveOrStay(held: InFlightMessage): Promise<void> {
    const { stay } = this.#parts;
    this.#moving.set(held.key, held);
    const waiting = await this.#waitingAside(held);
    if (this.#moving.get(held.key) !== held) return;
    if (waiting !== null && waiting > 0) return this.#isForgotten(held) ? this.#move(held, true) : this.#blank(held);
    this.#moving.delete(held.key);
    if (waiting === 0) stay(held);
    else held.record.nak(limits.bus.nakDelayMsMax);
  }

  /** How many records wait in the aside shard of its account; null when the server does not say. */
  #waitingAside({ category, message }: InFlightMessage): Promise<number | null> {
    return this.#parts.shards.waitingOf(laneOf[category], message.accountId).catch((error: unknown) => {
      ignoring(error, 'the record comes again, and is looked for again');
      return null;
    });
  }

  /** Whether a copy of it may be older than what the stream remembers of ids. */
  #isForgotten({ key, category, record }: InFlightMessage): boolean {
    const { shards, clock } = this.#parts;
    const triedAtMs = this.#tried.get(key) ?? Number.POSITIVE_INFINITY;
    return clock.monotonicMs() - triedAtMs > aside.forgottenMs || shards.wasLeft(laneOf[category], record);
  }

  #move(held: InFlightMessage, again: boolean): void {
    this.#parts.shards.see(laneOf[held.category], held.message.accountId);
    const extra = again || isAgain(held.record) ? asAgain : undefined;
    this.#publish(held, held.record.data, extra, (seq) => this.#moveIsDone(held, seq));
  }

  #blank(held: InFlightMessage): void {
    this.#publish(held, nothing, { [blankHeader]: '1' }, () => this.#parts.stay(held));
  }

  #publish(
    held: InFlightMessage,
    payload: Uint8Array,
    extra: Record<string, string> | undefined,
    onStored: (seq: number) => void,
  ): void {
    const { bus, carrier } = this.#parts;
    this.#moving.set(held.key, held);
    this.#publisher ??= new Publisher(bus, { deadlineMs: aside.publishMs, gatherMs: limits.http.publishGatherMs });
    const subject = asideSubject(held.category, carrier, held.message.accountId);
    this.#publisher.publish(subject, payload, `${held.key}.aside`, (r) => this.#onAnswer(held, r, onStored), extra);
  }

  #onAnswer(held: InFlightMessage, result: PublishResult, onStored: (seq: number) => void): void {
    if (this.#moving.get(held.key) !== held) return; // closed
    if (result.ok && result.duplicate) return void this.#lookAtCopy(held, result.seq);
    this.#moving.delete(held.key);
    if (result.ok) return onStored(result.seq);
    // Its place is full: it was accepted, and so it is sent from here.
    const isFull = result.failure === 'subject_full' || result.failure === 'full';
    if (isFull && !isAgain(held.record)) return this.#parts.stay(held);
    if (this.#tried.get(held.key) === undefined) this.#tried.set(held.key, this.#parts.clock.monotonicMs());
    held.record.nak(limits.bus.nakDelayMsMax);
  }

  #moveIsDone(held: InFlightMessage, seq: number): void {
    const { clock, carrier } = this.#parts;
    // Somebody else may have the record by now, and have looked for a copy before there was one: then there is none.
    if (!held.isOursAt(clock.monotonicMs())) return void this.#takeBack(held, seq);
    this.#moved.set(held.key, true);
    metrics.setAside.inc({ carrier, category: held.category });
    held.record.ack();
  }

  /** Something was published under the id of its copy: the copy, or a blank. Gone: settled, or it was a blank. */
  async #lookAtCopy(held: InFlightMessage, seq: number): Promise<void> {
    const { bus, stay } = this.#parts;
    try {
      const stream = streamNames.messages[laneOf[held.category]];
      const asked = bus.manager.streams.getMessage(stream, { seq });
      const copy = await withDeadline('the copy of a record', aside.lookTimeoutMs, asked);
      if (this.#moving.get(held.key) !== held) return;
      this.#moving.delete(held.key);
      if (copy === null || copy.header.get(blankHeader) !== '') return stay(held);
      this.#moved.set(held.key, true);
      held.record.ack();
    } catch (error) {
      ignoring(error, 'the record comes again, and is looked for again');
      if (this.#moving.get(held.key) !== held) return;
      this.#moving.delete(held.key);
      held.record.nak(limits.bus.nakDelayMsMax);
    }
  }

  async #takeBack(held: InFlightMessage, seq: number): Promise<void> {
    await this.#parts.bus.manager.streams
      .deleteMessage(streamNames.messages[laneOf[held.category]], seq)
      .catch((error: unknown) => ignoring(error, 'it was taken already, or is found to be a copy'));
  }

  async #askAbout(held: InFlightMessage, fromAside: boolean): Promise<void> {
    this.#asked.set(held.key, held);
    // Its first record may wait there: it goes behind that one, and is asked about when it comes out.
    const waiting = fromAside ? 0 : await this.#waitingAside(held);
    if (this.#asked.get(held.key) !== held) return;
    if (waiting !== null && waiting > 0) {
      this.#asked.delete(held.key);
      return this.#move(held, true);
    }
    const begun = waiting === null ? 'unclear' : await this.#parts.wasBegun(held.message);
    if (this.#asked.get(held.key) !== held) return;
    this.#asked.delete(held.key);
    if (begun === 'yes') held.record.ack();
    else if (begun === 'no') this.#parts.stay(held);
    else held.record.nak(limits.bus.nakDelayMsMax);
  }
}

/** A record of an aside shard that is no message. */
export function isBlank(record: JsMsg): boolean {
  return record.data.length === 0 && hasHeader(record, blankHeader);
}

function hasHeader(record: JsMsg, name: string): boolean {
  return (record.headers?.get(name) ?? '') !== '';
}
