// Receipts that arrive while the actor still replays what an earlier incarnation did: they wait for the replay, so that
// none is taken for the receipt of an unknown submit to the same number. On a real bus, with a manual clock.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Outstanding } from '../../../../actors/carrier/receipts/outstanding.ts';
import { Receipts } from '../../../../actors/carrier/receipts/receipts.ts';
import { UnknownSubmits } from '../../../../actors/carrier/outcome/unknown-submits.ts';
import { decodeEvents } from '../../../../model/records/event-record.ts';
import { EventWriter } from '../../../../cluster/bus/event-writer.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import { eventOfMessage } from '../../../../model/delivery-event.ts';
import { until } from '../../../support/until.ts';
import { type TestBus, recordsOf, startBus } from '../../../support/bus.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

let bus: TestBus;
beforeAll(async () => {
  bus = await startBus();
});
afterAll(async () => bus?.stop());

test('a receipt that arrives during the replay settles its own segment, not the unknown one to the same number', async () => {
  const clock = new ManualClock();
  const publisher = new Publisher(bus.bus);
  const events = new EventWriter(publisher);
  const outstanding = new Outstanding('auto', clock);
  const unknown = new UnknownSubmits(clock);
  let asked = 0;
  const lookUp = async () => {
    asked += 1;
    return { result: 'none', recordedTo: 0 } as const;
  };
  const receipts = new Receipts({
    carrier: 'alpha',
    events,
    outstanding,
    unknown,
    clock,
    lookUp,
    park: () => {},
    resend: { onReceipt: () => () => {} },
  });
  const message = messageWith({ segments: 2 });
  const answers: number[] = [];
  const receipt = {
    carrierMessageId: '77',
    state: 'delivered' as const,
    errorCode: '000',
    recipient: message.recipient,
    sender: message.sender,
  };

  receipts.take(receipt, (status) => answers.push(status));
  clock.advance(60_000);
  expect(asked).toBe(0);
  outstanding.add(eventOfMessage(message, { kind: 'submitted', segment: 2, carrierMessageId: '77', atMs: 1 }));
  receipts.learn(eventOfMessage(message, { kind: 'unknown', segment: 1, atMs: 1 }));
  receipts.open();

  await until('the answer', () => answers.length === 1);
  const published = (await recordsOf(bus.bus, 'EVENTS')).flatMap((record) => decodeEvents(record.data));
  expect(published).toMatchObject([{ kind: 'delivered', segment: 2, carrierMessageId: '77' }]);
  expect(unknown.find(message.recipient, message.sender, null)).toMatchObject({ segment: 1 });
  receipts.close();
  events.close();
  publisher.close();
});
