// What handlers get of the receipts of one-time passwords: each last one once, with its time where that is known, and a
// delivery when it is durable, also where another node got the receipt.
import { describe, expect, test } from 'vitest';
import { Outstanding } from '../../../../actors/carrier/receipts/outstanding.ts';
import { type KnownReceipt, Receipts, type ReceiptsParts } from '../../../../actors/carrier/receipts/receipts.ts';
import type { Submitted } from '../../../../actors/carrier/in-flight/facts.ts';
import { UnknownSubmits } from '../../../../actors/carrier/outcome/unknown-submits.ts';
import type { EventDone } from '../../../../cluster/bus/event-order.ts';
import { type DeliveryEvent, type EventKind, eventOfMessage } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

function open() {
  const clock = new ManualClock();
  const outstanding = new Outstanding('auto', clock);
  const received: string[] = [];
  const writes: EventDone[] = [];
  const receipts = new Receipts({
    ...{ carrier: 'alpha', outstanding, unknown: new UnknownSubmits(clock), clock },
    events: { hasCapacity: true, write: (_: DeliveryEvent, done: EventDone) => writes.push(done) },
    park: () => {},
    lookUp: async () => ({ result: 'none', recordedTo: 0 }) as const,
    resend: { onReceipt: () => () => {} },
    otp: {
      onLast: ({ messageId }: Submitted, deliveredAfterMs: number | null) =>
        received.push(`${messageId} ended, ${deliveredAfterMs}`),
      onDelivered: ({ messageId }: Submitted) => received.push(`${messageId} delivered`),
    },
  } as unknown as ReceiptsParts);
  receipts.open();
  const event = (kind: EventKind, changes: Partial<Message> = {}, carrierMessageId: string | null = '77') => {
    const message = messageWith({ messageId: 'm1' as Message['messageId'], category: 'otp', ...changes });
    return eventOfMessage(message, { kind, segment: 1, attempt: 1, carrierMessageId, atMs: clock.nowMs() });
  };
  const receipt = (state: KnownReceipt['state'], carrierMessageId = '77'): KnownReceipt => {
    const { recipient, sender } = messageWith();
    return { carrierMessageId, state, errorCode: '000', recipient, sender };
  };
  return { clock, received, writes, receipts, event, receipt };
}
const answered = () => {};

describe('a receipt here', () => {
  test('that says delivered is reported with its time, and as a delivery when that is durable; a repeat is not', () => {
    const { clock, received, writes, receipts, event, receipt } = open();
    receipts.onSubmitted(event('submitted'));
    clock.advance(300);
    receipts.take(receipt('delivered'), answered);
    expect(received).toEqual(['m1 ended, 300']);
    writes.shift()?.(true);
    expect(received).toEqual(['m1 ended, 300', 'm1 delivered']);
    receipts.take(receipt('delivered'), answered);
    expect(received).toHaveLength(2);
  });
  test('that does not become durable is no delivery', () => {
    const { received, writes, receipts, event, receipt } = open();
    receipts.onSubmitted(event('submitted'));
    receipts.take(receipt('delivered'), answered);
    writes.shift()?.(false);
    expect(received).toEqual(['m1 ended, 0']);
  });
  test('of a failure is an end without a time; one that is not the last is none', () => {
    const { received, writes, receipts, event, receipt } = open();
    receipts.onSubmitted(event('submitted'));
    for (const state of ['enroute', 'unknown'] as const) receipts.take(receipt(state), answered);
    expect(received).toEqual([]);
    receipts.take(receipt('undelivered'), answered);
    for (const done of writes.splice(0)) done(true);
    expect(received).toEqual(['m1 ended, null']);
  });
  test('that was parked has no time: it waited for us', () => {
    const { received, receipts, event, receipt } = open();
    receipts.onSubmitted(event('submitted'));
    receipts.take(receipt('delivered'), answered, { waits: 1, unanswered: 0, sinceMs: 0 });
    expect(received).toEqual(['m1 ended, null']);
  });
  test('of another category is not reported', () => {
    const { received, writes, receipts, event, receipt } = open();
    receipts.onSubmitted(event('submitted', { category: 'transactional' }));
    receipts.take(receipt('delivered'), answered);
    writes.shift()?.(true);
    expect(received).toEqual([]);
  });
});

test('a receipt that another node got is reported from its event, without a time', () => {
  const { received, receipts, event } = open();
  for (const kind of ['delivered', 'undelivered'] as const) receipts.learn(event(kind));
  receipts.learn(event('delivered', { category: 'transactional' }));
  for (const kind of ['intent', 'hedged', 'canceled', 'unknown'] as const) receipts.learn(event(kind, {}, null));
  expect(received).toEqual(['m1 ended, null', 'm1 delivered', 'm1 ended, null']);
});
