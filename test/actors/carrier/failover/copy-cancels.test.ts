// The copy that is not needed any more: cancelled after its submit_sm_resp, whichever comes first; asked for again while
// no bind can, for a while; and sent to the others when this one is delivered. With a manual clock and carrier.
import type { JsMsg } from '@nats-io/jetstream';
import { describe, expect, test } from 'vitest';
import { CopyCancels } from '../../../../actors/carrier/failover/copy-cancels.ts';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import { submitHeader } from '../../../../actors/carrier/submit/submit-pdu.ts';
import type { CopyDelivered } from '../../../../cluster/bus/copies-delivered.ts';
import type { DeliveryEvent } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { limits } from '../../../../platform/limits.ts';
import { passLateGates } from '../../../../policy/late/late-gates.ts';
import type { CancelFields } from '../../../../smpp/pdu.ts';
import type { CancelDone } from '../../../../smpp/request-window.ts';
import { carrierWith } from '../../../support/carrier-harness.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const { cancelWithinMs, cancelAgainMs, cancelsWaitingMax } = limits.otpHedging;
const id = 'm1' as Message['messageId'];
const carrier = carrierWith({ port: 1 });

function open(isSupported = true) {
  const clock = new ManualClock();
  const asked: CancelFields[] = [];
  const answers: CancelDone[] = [];
  const published: CopyDelivered[] = [];
  const events: DeliveryEvent[] = [];
  const state = { clock, asked, answers, published, events, canAsk: true };
  const cancels = new CopyCancels({
    ...{ carrier: 'alpha', clock, isSupported },
    cancel(fields, done) {
      if (!state.canAsk) return false;
      asked.push(fields);
      answers.push(done);
      return true;
    },
    events: { write: (event) => void events.push(event) },
    publish: (delivered) => void published.push(delivered),
  });
  return Object.assign(state, { cancels });
}

/** The first copy of a hedged message, or with a mark the second one. */
function copyOf(changes: Partial<Message> = {}, hedged: 'no' | 'copied' = 'copied'): InFlightMessage {
  const message = messageWith({ messageId: id, category: 'otp', hedge: 'may', hop: 0, ...changes });
  const inFlight = new InFlightMessage(message.messageId, message, {} as JsMsg, 1_000);
  inFlight.header = submitHeader(message, carrier);
  inFlight.hedged = hedged;
  return inFlight;
}
const second = { hedge: 'copy', hop: 1 } as const;

describe('of two copies', () => {
  test('the one at this carrier is cancelled when the other is delivered, by its id and its numbers', () => {
    const { cancels, asked, answers, events } = open();
    cancels.onAccepted(copyOf(), 'c7');
    cancels.take({ messageId: id, hop: 1 });
    const { sourceTon, sourceNpi, source, destinationTon, destinationNpi, destination } = copyOf().header!;
    const numbers = { sourceTon, sourceNpi, source, destinationTon, destinationNpi, destination };
    expect(asked).toEqual([{ messageId: 'c7', ...numbers }]);
    answers[0]!({ ok: true });
    expect(events).toMatchObject([{ kind: 'canceled', hop: 0, messageId: id, error: 'hedge_not_needed' }]);
    cancels.take({ messageId: id, hop: 1 });
    expect(asked).toHaveLength(1);
  });

  test('the one that was not answered yet is cancelled when its submit_sm_resp comes, not before', () => {
    const { cancels, asked } = open();
    cancels.take({ messageId: id, hop: 1 });
    expect(asked).toEqual([]);
    cancels.onAccepted(copyOf(), 'c7');
    expect(asked).toMatchObject([{ messageId: 'c7' }]);
  });

  test('the delivered one is reported once, and never cancelled', () => {
    const { cancels, asked, published } = open();
    cancels.onAccepted(copyOf(second, 'no'), 'c8');
    cancels.onDelivered({ messageId: id, hop: 1 });
    cancels.onDelivered({ messageId: id, hop: 1 });
    expect(published).toEqual([{ messageId: id, hop: 1 }]);
    // It receives its own message.
    cancels.take({ messageId: id, hop: 1 });
    cancels.onAccepted(copyOf(second, 'no'), 'c8');
    expect(asked).toEqual([]);
  });

  test('nothing is reported or kept of a message that is alone', () => {
    const { cancels, asked, published } = open();
    cancels.onAccepted(copyOf({}, 'no'), 'c9');
    cancels.onDelivered({ messageId: id, hop: 0 });
    cancels.take({ messageId: id, hop: 1 });
    expect([asked, published]).toEqual([[], []]);
  });

  test('the one that was not sent yet is not sent; the others are', () => {
    const { cancels, clock } = open(false);
    const gates = cancels.asLateGate(passLateGates);
    const waits = (changes: Partial<Message>) =>
      gates(messageWith({ messageId: id, validUntilMs: clock.nowMs() + 1_000, ...changes }), clock.nowMs());
    expect(waits(second)).toEqual({ ok: true });
    cancels.take({ messageId: id, hop: 0 });
    expect(waits(second)).toEqual({ ok: false, status: 'canceled', code: 'hedge_not_needed' });
    expect(waits({ ...second, messageId: 'm2' as Message['messageId'] })).toEqual({ ok: true });
    expect(waits({ hedge: 'may', hop: 0 })).toEqual({ ok: true });
    expect(waits({ ...second, messageId: 'm2' as Message['messageId'], validUntilMs: 0 })).toMatchObject({
      status: 'expired',
    });
  });

  test('none is cancelled at a carrier without cancel_sm', () => {
    const { cancels, asked } = open(false);
    cancels.onAccepted(copyOf(), 'c7');
    cancels.take({ messageId: id, hop: 1 });
    expect(asked).toEqual([]);
  });
});

describe('a cancel_sm', () => {
  test.each([
    { ok: false, why: 'refused', status: 0x11 },
    { ok: false, why: 'timeout' },
    { ok: false, why: 'closed' },
  ] as const)('that ends with $why changes nothing and is not repeated', (answer) => {
    const { cancels, clock, asked, answers, events } = open();
    cancels.onAccepted(copyOf(), 'c7');
    cancels.take({ messageId: id, hop: 1 });
    answers[0]!(answer);
    clock.advance(10 * cancelWithinMs);
    expect([asked.length, events, clock.timers]).toEqual([1, [], 0]);
  });

  test('that no bind can send waits for one, and not longer than its time', () => {
    for (const [freeAfterMs, isSent] of [
      [cancelWithinMs - 2 * cancelAgainMs, true],
      [cancelWithinMs + cancelAgainMs, false],
    ] as const) {
      const state = open();
      const { cancels, clock, asked } = state;
      state.canAsk = false;
      cancels.onAccepted(copyOf(), 'c7');
      cancels.take({ messageId: id, hop: 1 });
      clock.advance(freeAfterMs);
      state.canAsk = true;
      clock.advance(cancelWithinMs);
      expect([asked.length === 1, clock.timers]).toEqual([isSent, 0]);
    }
  });

  test('waits behind those before it, and beyond the bound it is given up', () => {
    const state = open();
    const { cancels, clock, asked } = state;
    state.canAsk = false;
    const ids = Array.from({ length: cancelsWaitingMax + 1 }, (_, at) => `m${at}` as Message['messageId']);
    for (const messageId of ids) {
      cancels.take({ messageId, hop: 1 });
      cancels.onAccepted(copyOf({ messageId }), `c-${messageId}`);
    }
    state.canAsk = true;
    clock.advance(cancelAgainMs);
    expect(asked.map(({ messageId }) => messageId)).toEqual(ids.slice(0, cancelsWaitingMax).map((each) => `c-${each}`));
  });

  test('is not sent, and its answer writes nothing, after the actor has stopped', () => {
    const state = open();
    const { cancels, clock, asked, answers, events } = state;
    cancels.onAccepted(copyOf(), 'c7');
    cancels.take({ messageId: id, hop: 1 });
    state.canAsk = false;
    cancels.take({ messageId: 'm2', hop: 1 });
    cancels.onAccepted(copyOf({ messageId: 'm2' as Message['messageId'] }), 'c8');
    cancels.close();
    state.canAsk = true;
    answers[0]!({ ok: true });
    clock.advance(cancelWithinMs);
    expect([asked.length, events, clock.timers]).toEqual([1, [], 0]);
  });
});
