// Defers a message into LATER, in this order: a durable `deferred` event that announces it, the publish, a `deferred`
// event that ends the record, the ack. The first event closes the intent of a submit that was clearly refused: a crash
// after it leaves no `unknown`, and the next incarnation repeats the publish with the same id. When LATER refuses, a
// further event revokes the first and the message waits in memory. When LATER does not answer, a copy may be there: the
// message stays deferred until LATER answers or its validity ends.
import type { EventStoreAnswer } from '../../ask-event-store.ts';
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import { publishLater } from '../../../cluster/bus/later.ts';
import { encodeMessage } from '../../../model/records/message-record.ts';
import type { PublishResult, Publisher } from '../../../cluster/bus/publisher.ts';
import { messageSubject } from '../../../cluster/bus/subjects.ts';
import type { Message } from '../../../model/message.ts';
import { assert } from '../../../platform/assert.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { Deferral } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Completion } from './completion.ts';
import { type LaterDeferral, deferralText, traceWith } from '../deduplication/deferral-event.ts';

export type DeferralParts = {
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly clock: Clock;
  readonly completion: Pick<Completion, 'write' | 'settle' | 'wait'>;
  /** Whether the carrier has begun with a message: asked when the streams may have forgotten an earlier publish. */
  readonly wasBegun: (message: Message) => Promise<EventStoreAnswer>;
};

export class Deferrals {
  readonly #parts: DeferralParts;

  constructor(parts: DeferralParts) {
    this.#parts = parts;
  }

  /** `refused`: the segment that the carrier refused; null when the message was not submitted. */
  begin(inFlight: InFlightMessage, why: string, afterMs: number, refused: number | null): void {
    assert(inFlight.isUntouched, 'the carrier may have a part of a deferred message');
    const { clock, completion } = this.#parts;
    const { attempt } = inFlight;
    const dueAtMs = Math.min(clock.nowMs() + afterMs, inFlight.message.validUntilMs);
    const wait: Deferral = { dueAtMs, why, attempt, refused, isRepeat: false };
    inFlight.defer(wait);
    if (refused === null) return this.#publish(inFlight, wait);
    const error = deferralText(dueAtMs, why);
    const detail = `deferred.${inFlight.tries}`;
    const announced = { kind: 'deferred', segment: refused, attempt, error, detail } as const;
    completion.write(inFlight, announced, () => this.#publish(inFlight, wait));
  }

  /** An earlier incarnation announced the deferral, and no more: it is not known whether LATER has it. */
  repeat(inFlight: InFlightMessage, { dueAtMs, why }: LaterDeferral): void {
    const wait: Deferral = { dueAtMs, why, attempt: inFlight.attempt, refused: null, isRepeat: true };
    inFlight.defer(wait);
    this.#repeat(inFlight, wait);
  }

  #repeat(inFlight: InFlightMessage, wait: Deferral): void {
    if (inFlight.deferral !== wait) return;
    const { clock, wasBegun, completion } = this.#parts;
    // A second copy would be due in the same second and be released under the same id, which the stream still knows.
    if (clock.nowMs() < wait.dueAtMs + surelyRememberedMs) return this.#publish(inFlight, wait);
    void wasBegun(inFlight.message).then((begun) => {
      if (inFlight.deferral !== wait) return;
      if (begun === 'yes') return completion.settle(inFlight);
      if (begun === 'no') return this.#publish(inFlight, wait);
      this.#again(inFlight, wait);
    });
  }

  #again(inFlight: InFlightMessage, wait: Deferral): void {
    inFlight.deferAgain(this.#parts.clock, limits.carrier.deferralRetryMs, () => this.#repeat(inFlight, wait));
  }

  #publish(inFlight: InFlightMessage, wait: Deferral): void {
    if (inFlight.deferral !== wait) return; // it ended meanwhile
    const { publisher, cipher, clock } = this.#parts;
    const { message } = inFlight;
    const delayed = { ...message, delays: message.delays + 1, trace: traceWith(message.trace, wait.why) };
    const record = {
      subject: messageSubject(message.category, message.carrier, message.accountId),
      payload: encodeMessage(delayed, cipher),
      dueAtMs: wait.dueAtMs,
      id: `${message.messageId}.${message.hop}.${delayed.delays}`,
      shardKey: message.messageId,
    };
    publishLater(publisher, record, clock.nowMs(), (result) => this.#onPublished(inFlight, wait, result));
  }

  #onPublished(inFlight: InFlightMessage, wait: Deferral, result: PublishResult): void {
    if (inFlight.deferral !== wait) return;
    const { completion } = this.#parts;
    const { why: error, attempt } = wait;
    if (result.ok) {
      completion.write(inFlight, { kind: 'deferred', attempt, error, detail: 'later' });
      return completion.settle(inFlight);
    }
    // We stop: the next incarnation finds the event and repeats the publish.
    if (result.failure === 'closed') return;
    if (wait.isRepeat || result.failure === 'unavailable') return this.#again(inFlight, wait);
    this.#stay(inFlight, wait);
  }

  /** LATER has refused it, so no copy of it is there. */
  #stay(inFlight: InFlightMessage, wait: Deferral): void {
    const { clock, completion } = this.#parts;
    const { why: error, attempt, refused } = wait;
    const back = () => {
      if (inFlight.deferral !== wait) return;
      completion.wait(inFlight, Math.min(Math.max(0, wait.dueAtMs - clock.nowMs()), limits.carrier.restMsMax));
    };
    metrics.deferralsInMemory.inc({ carrier: inFlight.message.carrier, category: inFlight.category });
    if (refused === null) return back();
    const detail = `stays.${inFlight.tries}`;
    completion.write(inFlight, { kind: 'deferred', segment: refused, attempt, error, detail }, back);
  }
}

/** The streams know the id of a publish this long; a repeat within it cannot make a second copy. */
export const surelyRememberedMs = limits.bus.duplicateWindowMs / 2;
