// What answers do to one message in flight, on a manual clock: no wait is cut short by the timer of another, no timer
// is left behind, and a lapsed message returns only by a redelivery of its record.
import type { JsMsg } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import type { SubmitResponse } from '../../../../smpp/session-contract.ts';
import { CarryOut, type CarryOutParts } from '../../../../actors/carrier/carry-out.ts';
import { EventSequence } from '../../../../actors/carrier/deduplication/event-sequence.ts';
import { Completion } from '../../../../actors/carrier/outcome/completion.ts';
import { Resend } from '../../../../actors/carrier/outcome/resend.ts';
import { Settlement } from '../../../../actors/carrier/outcome/settlement.ts';
import { UnknownSubmits } from '../../../../actors/carrier/outcome/unknown-submits.ts';
import { ReplayIndex } from '../../../../actors/carrier/deduplication/replay-index.ts';
import { segmentsOf } from '../../../../actors/carrier/submit/submit-pdu.ts';
import type { EventDone } from '../../../../cluster/bus/event-order.ts';
import type { DeliveryEvent } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { limits } from '../../../../platform/limits.ts';
import { commandStatus } from '../../../../model/command-status.ts';
import { carrierWith } from '../../../support/carrier-harness.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const carrier = carrierWith({ port: 1 });
const throttled: SubmitResponse = { status: commandStatus.ESME_RTHROTTLED, carrierMessageId: '' };
const taken: SubmitResponse = { status: commandStatus.ESME_ROK, carrierMessageId: 'abc' };

/** A settlement and carry-out whose events become durable when the test says so, and their effects on messages. */
function setUp(resends = false) {
  const clock = new ManualClock();
  const done: EventDone[] = [];
  const published: DeliveryEvent[] = [];
  const back: InFlightMessage[] = [];
  const acked: InFlightMessage[] = [];
  const events = {
    write(event: DeliveryEvent, over: EventDone) {
      published.push(event);
      done.push(over);
    },
  };
  const messages = {
    find: () => undefined,
    tryAgain(inFlight: InFlightMessage) {
      inFlight.queue();
      back.push(inFlight);
    },
    release(inFlight: InFlightMessage) {
      inFlight.release();
      acked.push(inFlight);
    },
  };
  const replayIndex = new ReplayIndex(clock);
  const completion = new Completion({ events, messages, replayIndex, sequence: new EventSequence(() => 0), clock });
  const unknown = new UnknownSubmits(clock);
  const resend = new Resend({ carrier: carrier.name, clock, policy: () => resends, messages, completion, unknown });
  const settlement = new Settlement({
    ...{ carrier, clock, completion, resend, unknown },
    alternatives: { best: () => null },
    pacing: { pauseUntil() {}, slowDown() {} },
    whyAvoided: () => '',
  });
  const receipts = { onSubmitted() {} };
  const carryOut = new CarryOut({ settlement, completion, messages, receipts } as unknown as CarryOutParts);
  return {
    clock,
    back,
    acked,
    kinds: () => published.map(({ kind }) => kind),
    carryOut,
    /** All events written so far become durable. */
    durable() {
      for (const over of done.splice(0)) over(true);
    },
    answer: (inFlight: InFlightMessage, segment: number, answer = throttled) =>
      carryOut.onAnswer({ inFlight, segment, attempt: inFlight.tries, writtenAtMs: 0, bind: 0, number: 0 }, answer),
    noAnswer: (inFlight: InFlightMessage, segment: number) =>
      carryOut.onNoAnswer(
        { inFlight, segment, attempt: inFlight.tries, writtenAtMs: 0, bind: 0, number: 0 },
        'no_response',
      ),
  };
}

/** A message all of whose segments are written, for the first time. */
function written(changes: Partial<Message> = {}, tries = 1): InFlightMessage {
  const message = messageWith({ body: { text: 'long '.repeat(80) }, segments: 3, ...changes });
  const inFlight = new InFlightMessage(message.messageId, message, { ack() {} } as JsMsg, 1_000_000);
  inFlight.pdus = segmentsOf(message, carrier);
  inFlight.queue();
  send(inFlight, tries);
  return inFlight;
}

function send(inFlight: InFlightMessage, tries: number): void {
  inFlight.tries = tries - 1;
  inFlight.beginIntent(0, 0, 1, 1);
  inFlight.send();
  for (const segment of inFlight.segmentsToSend()) inFlight.written(segment);
}

test('two segments refused one after the other: neither timer ends the wait that is decided after the next try', () => {
  const { clock, back, answer, durable } = setUp();
  const inFlight = written();
  answer(inFlight, 1, taken);
  answer(inFlight, 2); // half a second to a second
  clock.advance(400);
  answer(inFlight, 3);
  durable();
  clock.advance(1_000);
  expect(back).toHaveLength(1);
  send(inFlight, 5);
  answer(inFlight, 2); // eight seconds to sixteen
  answer(inFlight, 3);
  durable();
  clock.advance(7_900);
  expect(back).toHaveLength(1);
  clock.advance(8_100);
  expect(back).toHaveLength(2);
});

test('a later, shorter wait does not shorten a longer one', () => {
  const { clock, back, answer, durable } = setUp();
  const inFlight = written({}, 6);
  answer(inFlight, 1, taken);
  answer(inFlight, 2); // sixteen seconds to 32
  inFlight.tries = 1;
  answer(inFlight, 3);
  durable();
  clock.advance(15_900);
  expect(back).toEqual([]);
  clock.advance(16_100);
  expect(back).toEqual([inFlight]);
});

test('a message settled while it waits leaves no timer behind', () => {
  const { clock, acked, carryOut, answer, durable } = setUp();
  const inFlight = written();
  answer(inFlight, 1, taken);
  answer(inFlight, 2);
  answer(inFlight, 3);
  carryOut.onRefused(inFlight, 'expired', 'validity_passed');
  durable();
  expect(acked).toEqual([inFlight]);
  expect(clock.timers).toBe(0);
});

test('sent once more while it waits for another segment: the timer of that wait is gone', () => {
  const { clock, back, answer, noAnswer, durable } = setUp(true);
  const inFlight = written({ category: 'otp' }, 4);
  answer(inFlight, 1, taken);
  answer(inFlight, 2);
  noAnswer(inFlight, 3);
  durable();
  expect(back).toEqual([inFlight]);
  expect(clock.timers).toBe(0);
});

test('no answer of a lapsed message returns it to its lane', () => {
  for (const how of ['refused', 'unknown'] as const) {
    const { clock, back, answer, noAnswer, durable, carryOut } = setUp(true);
    const inFlight = written({ category: 'otp' });
    answer(inFlight, 1, taken);
    inFlight.lapse();
    if (how === 'refused') answer(inFlight, 2);
    else noAnswer(inFlight, 2);
    durable();
    noAnswer(inFlight, 3);
    durable();
    clock.advance(limits.carrier.restMsMax * 2);
    expect([how, inFlight.state, back.length]).toEqual([how, 'lapsed', 0]);
    // Its record is redelivered: now it is ours, and continues.
    if (inFlight.redelivered(inFlight.record, 2_000_000)) carryOut.onRegained(inFlight);
    clock.advance(limits.carrier.resendWaitMs);
    expect(back).toEqual([inFlight]);
    expect(inFlight.message.resends).toBe(1);
  }
});
