// Puts a message off into LATER: a durable `deferred` event that says so, the publish, a `deferred` event that ends the
// record, the ack, in this order. The first event closes the intent of a submit that was clearly refused: whoever kills us
// after it leaves no `unknown`, and whoever finds it repeats the publish with the same id. What LATER refuses stays here:
// a further event takes the first one back, and the message rests in memory. What LATER does not answer is neither here
// nor there: it stays put off until LATER answers or its validity ends, because a copy of it may be there.
import type { EventStoreAnswer } from '../../ask-event-store.ts';
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import { publishLater } from '../../../cluster/bus/later.ts';
import { encodeMessage } from '../../../model/records/message-record.ts';
import type { PublishResult, Publisher } from '../../../cluster/bus/publisher.ts';
import { messageSubject } from '../../../cluster/bus/subjects.ts';
import type { Happening } from '../../../model/delivery-event.ts';
import type { Message } from '../../../model/message.ts';
import { assert } from '../../../platform/assert.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { attemptNumber } from '../in-flight/attempt.ts';
import type { Deferral } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import { type PutOff, putOffText } from './put-off-event.ts';

export type PutOffParts = {
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly clock: Clock;
  /** Writes an event of the message; `then` is called when it is durable. */
  readonly tell: (held: InFlightMessage, happening: Happening, then?: () => void) => void;
  /** Nothing but its events and its ack is left. */
  readonly settle: (held: InFlightMessage) => void;
  /** It stays here, and goes back to its lane after the wait. */
  readonly rest: (held: InFlightMessage, afterMs: number) => void;
  /** Whether the carrier has begun with a message: asked when the streams may have forgotten an earlier publish. */
  readonly wasBegun: (message: Message) => Promise<EventStoreAnswer>;
};

export class PutOffs {
  readonly #parts: PutOffParts;

  constructor(parts: PutOffParts) {
    this.#parts = parts;
  }

  /** `refused`: the segment a refusal of the carrier is about; null when the message was not submitted. */
  begin(held: InFlightMessage, why: string, afterMs: number, refused: number | null): void {
    assert(held.isUntouched, 'the carrier may have a part of what is put off');
    const { clock, tell } = this.#parts;
    const attempt = attemptNumber(held.message.delays, held.tries);
    const dueAtMs = Math.min(clock.nowMs() + afterMs, held.message.validUntilMs);
    const wait: Deferral = { dueAtMs, why, attempt, refused, isRepeat: false };
    held.defer(wait);
    if (refused === null) return this.#publish(held, wait);
    const error = putOffText(dueAtMs, why);
    const detail = `put_off.${held.tries}`;
    tell(held, { kind: 'deferred', segment: refused, attempt, error, detail, atMs: clock.nowMs() }, () =>
      this.#publish(held, wait),
    );
  }

  /** An earlier life told that it is put off, and no more: whether LATER has it, nobody knows. */
  repeat(held: InFlightMessage, { dueAtMs, why }: PutOff): void {
    const attempt = attemptNumber(held.message.delays, held.tries);
    const wait: Deferral = { dueAtMs, why, attempt, refused: null, isRepeat: true };
    held.defer(wait);
    this.#repeat(held, wait);
  }

  #repeat(held: InFlightMessage, wait: Deferral): void {
    if (held.deferral !== wait) return;
    const { clock, wasBegun, settle } = this.#parts;
    // A second copy would be due in the same second and be released under the same id, which the stream still knows.
    if (clock.nowMs() < wait.dueAtMs + surelyRememberedMs) return this.#publish(held, wait);
    void wasBegun(held.message).then((begun) => {
      if (held.deferral !== wait) return;
      if (begun === 'yes') return settle(held);
      if (begun === 'no') return this.#publish(held, wait);
      this.#again(held, wait);
    });
  }

  #again(held: InFlightMessage, wait: Deferral): void {
    const { clock } = this.#parts;
    held.deferAgain(clock, limits.carrier.putOffAgainMs, () => this.#repeat(held, wait));
  }

  #publish(held: InFlightMessage, wait: Deferral): void {
    if (held.deferral !== wait) return; // it ended meanwhile
    const { publisher, cipher, clock } = this.#parts;
    const { message } = held;
    const delayed = { ...message, delays: message.delays + 1, trace: traceWith(message.trace, wait.why) };
    const record = {
      subject: messageSubject(message.category, message.carrier, message.accountId),
      payload: encodeMessage(delayed, cipher),
      dueAtMs: wait.dueAtMs,
      id: `${message.messageId}.${message.hop}.${delayed.delays}`,
      shardKey: message.messageId,
    };
    publishLater(publisher, record, clock.nowMs(), (result) => this.#onPublished(held, wait, result));
  }

  #onPublished(held: InFlightMessage, wait: Deferral, result: PublishResult): void {
    if (held.deferral !== wait) return;
    const { clock, tell, settle } = this.#parts;
    const { why: error, attempt } = wait;
    if (result.ok) {
      tell(held, { kind: 'deferred', attempt, error, detail: 'later', atMs: clock.nowMs() });
      return settle(held);
    }
    // We stop: the next life finds the event and repeats the publish.
    if (result.failure === 'closed') return;
    if (wait.isRepeat || result.failure === 'unavailable') return this.#again(held, wait);
    this.#stay(held, wait);
  }

  /** LATER has refused it, so no copy of it is there. */
  #stay(held: InFlightMessage, wait: Deferral): void {
    const { clock, tell, rest } = this.#parts;
    const { why: error, attempt, refused } = wait;
    const back = () => {
      if (held.deferral !== wait) return;
      rest(held, Math.min(Math.max(0, wait.dueAtMs - clock.nowMs()), limits.carrier.restMsMax));
    };
    metrics.putOffsInMemory.inc({ carrier: held.message.carrier, category: held.category });
    if (refused === null) return back();
    const detail = `stays.${held.tries}`;
    tell(held, { kind: 'deferred', segment: refused, attempt, error, detail, atMs: clock.nowMs() }, back);
  }
}

/** The streams know the id of a publish this long; a repeat within it cannot make a second copy. */
const surelyRememberedMs = limits.bus.duplicateWindowMs / 2;

const refusedMark = 'put off: ';

/** The reason travels with the message into LATER: when it expires there, somebody wants to know why. */
function traceWith(trace: readonly string[], error: string): readonly string[] {
  return [...trace.filter((line) => !line.startsWith(refusedMark)), `${refusedMark}${error}`];
}

/** What a message that was in LATER was put off for; null when it never was. */
export function putOffFor({ trace }: Pick<Message, 'trace'>): string | null {
  const line = trace.at(-1);
  return line?.startsWith(refusedMark) === true ? line.slice(refusedMark.length) : null;
}
