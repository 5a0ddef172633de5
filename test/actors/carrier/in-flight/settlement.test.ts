// What answers do to one message in flight, on a clock moved by hand: no wait is cut short by the timer of another, no
// timer is left behind, and a message whose hold has lapsed comes back by a redelivery of its record only.
import type { JsMsg } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import { Settlement, type SettlementParts, type SubmitAnswer } from '../../../../actors/carrier/outcome/settlement.ts';
import { Ledger } from '../../../../actors/carrier/repeats/ledger.ts';
import { segmentsOf } from '../../../../actors/carrier/submit/submit-pdu.ts';
import type { EventDone } from '../../../../cluster/bus/event-writer.ts';
import type { DeliveryEvent } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { limits } from '../../../../platform/limits.ts';
import { commandStatus } from '../../../../smpp/command-status.ts';
import { carrierWith } from '../../../support/carrier-house.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const carrier = carrierWith({ port: 1 });
const throttled: SubmitAnswer = { status: commandStatus.ESME_RTHROTTLED, carrierMessageId: '' };
const taken: SubmitAnswer = { status: commandStatus.ESME_ROK, carrierMessageId: 'abc' };

/** A settlement whose events become durable when the test says so, and what it does with messages. */
function setUp(resends = false) {
  const clock = new ManualClock();
  const done: EventDone[] = [];
  const told: DeliveryEvent[] = [];
  const back: InFlightMessage[] = [];
  const acked: InFlightMessage[] = [];
  const parts = {
    carrier,
    clock,
    events: {
      write(event: DeliveryEvent, over: EventDone) {
        told.push(event);
        done.push(over);
      },
    },
    pacing: { pauseUntil() {}, slowDown() {} },
    ledger: new Ledger(clock),
    nextSeq: () => 1,
    intake: () => ({
      tryAgain(held: InFlightMessage) {
        held.queue();
        back.push(held);
      },
      release(held: InFlightMessage) {
        held.release();
        acked.push(held);
      },
    }),
    reroute: () => ({ otherWay: () => null }),
    whyAvoided: () => '',
    resendUnknown: () => resends,
    onSubmitted() {},
    onUnknown() {},
  } as unknown as SettlementParts;
  const settlement = new Settlement(parts);
  return {
    clock,
    back,
    acked,
    kinds: () => told.map(({ kind }) => kind),
    settlement,
    /** All that was written becomes durable. */
    durable() {
      for (const over of done.splice(0)) over(true);
    },
    answer: (held: InFlightMessage, segment: number, answer = throttled) =>
      settlement.onAnswer({ held, segment, attempt: held.tries, writtenAtMs: 0, bind: 0, number: 0 }, answer),
    noAnswer: (held: InFlightMessage, segment: number) =>
      settlement.onNoAnswer({ held, segment, attempt: held.tries, writtenAtMs: 0, bind: 0, number: 0 }, 'no_response'),
  };
}

/** A message all of whose segments are written, for the first time. */
function written(changes: Partial<Message> = {}, tries = 1): InFlightMessage {
  const message = messageWith({ body: { text: 'long '.repeat(80) }, segments: 3, ...changes });
  const held = new InFlightMessage(message.messageId, message, { ack() {} } as JsMsg, 1_000_000);
  held.pdus = segmentsOf(message, carrier);
  held.queue();
  send(held, tries);
  return held;
}

function send(held: InFlightMessage, tries: number): void {
  held.tries = tries - 1;
  held.beginIntent(0, 0, 1, 1);
  held.send();
  for (const segment of held.segmentsToSend()) held.written(segment);
}

test('two segments refused one after the other: neither timer ends the wait that is decided after the next try', () => {
  const { clock, back, answer, durable } = setUp();
  const held = written();
  answer(held, 1, taken);
  answer(held, 2); // half a second to a second
  clock.advance(400);
  answer(held, 3);
  durable();
  clock.advance(1_000);
  expect(back).toHaveLength(1);
  send(held, 5);
  answer(held, 2); // eight seconds to sixteen
  answer(held, 3);
  durable();
  clock.advance(7_900);
  expect(back).toHaveLength(1);
  clock.advance(8_100);
  expect(back).toHaveLength(2);
});

test('a later, shorter wait does not shorten a longer one', () => {
  const { clock, back, answer, durable } = setUp();
  const held = written({}, 6);
  answer(held, 1, taken);
  answer(held, 2); // sixteen seconds to 32
  held.tries = 1;
  answer(held, 3);
  durable();
  clock.advance(15_900);
  expect(back).toEqual([]);
  clock.advance(16_100);
  expect(back).toEqual([held]);
});

test('what is settled while it waits leaves no timer behind', () => {
  const { clock, acked, settlement, answer, durable } = setUp();
  const held = written();
  answer(held, 1, taken);
  answer(held, 2);
  answer(held, 3);
  settlement.onRefused(held, 'expired', 'validity_passed');
  durable();
  expect(acked).toEqual([held]);
  expect(clock.timers).toBe(0);
});

test('sent once more while it waits for another segment: the timer of that wait is gone', () => {
  const { clock, back, answer, noAnswer, durable } = setUp(true);
  const held = written({ category: 'otp' }, 4);
  answer(held, 1, taken);
  answer(held, 2);
  noAnswer(held, 3);
  durable();
  expect(back).toEqual([held]);
  expect(clock.timers).toBe(0);
});

test('an answer of a lapsed message, of whatever kind, does not bring it back into its lane', () => {
  for (const how of ['refused', 'unknown'] as const) {
    const { clock, back, answer, noAnswer, durable, settlement } = setUp(true);
    const held = written({ category: 'otp' });
    answer(held, 1, taken);
    held.lapse();
    if (how === 'refused') answer(held, 2);
    else noAnswer(held, 2);
    durable();
    noAnswer(held, 3);
    durable();
    clock.advance(limits.carrier.restMsMax * 2);
    expect([how, held.state, back.length]).toEqual([how, 'lapsed', 0]);
    // Its record comes again: now it is ours, and goes.
    if (held.redelivered(held.record, 2_000_000)) settlement.onRegained(held);
    clock.advance(limits.carrier.resendWaitMs);
    expect(back).toEqual([held]);
    expect(held.message.resends).toBe(1);
  }
});
