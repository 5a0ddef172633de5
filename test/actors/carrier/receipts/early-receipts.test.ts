// Receipts without a submit in memory: those that arrive while the actor still replays what an earlier incarnation did
// wait for the replay, so that none is taken for the receipt of an unknown submit to the same number; and those whose ids
// the carrier's form cannot read. On a real bus, with a manual clock.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Outstanding } from '../../../../actors/carrier/receipts/outstanding.ts';
import { Receipts } from '../../../../actors/carrier/receipts/receipts.ts';
import { UnknownSubmits } from '../../../../actors/carrier/outcome/unknown-submits.ts';
import { decodeEvents } from '../../../../model/records/event-record.ts';
import { EventWriter } from '../../../../cluster/bus/event-writer.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import { commandStatus } from '../../../../model/command-status.ts';
import { type DeliveryEvent, eventOfMessage } from '../../../../model/delivery-event.ts';
import { limits } from '../../../../platform/limits.ts';
import { until } from '../../../support/until.ts';
import { type TestBus, recordsOf, startBus } from '../../../support/bus.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

let bus: TestBus;
beforeAll(async () => {
  bus = await startBus();
});
afterAll(async () => bus?.stop());

/** `stored`: what the event store finds, by id. */
function openReceipts(form: 'auto' | 'hex' | 'decimal', stored = new Map<string, DeliveryEvent>()) {
  const clock = new ManualClock();
  const publisher = new Publisher(bus.bus);
  const events = new EventWriter(publisher);
  const outstanding = new Outstanding(form, clock);
  const unknown = new UnknownSubmits(clock);
  /** The ids of each query of the event store. */
  const asked: (readonly string[])[] = [];
  const receipts = new Receipts({
    carrier: 'alpha',
    events,
    outstanding,
    unknown,
    clock,
    lookUp: async (_receipt, ids) => {
      asked.push(ids);
      const submitted = stored.get(ids[0] ?? '');
      return submitted === undefined
        ? { result: 'none', recordedTo: 0 }
        : { result: 'found', recordedTo: 0, submitted };
    },
    park: (_receipt, _parked, _delayMs, done) => done(true),
    resend: { onReceipt: () => () => {} },
  });
  const close = () => {
    receipts.close();
    events.close();
    publisher.close();
  };
  return { clock, outstanding, unknown, receipts, asked, close };
}

test('a receipt that arrives during the replay settles its own segment, not the unknown one to the same number', async () => {
  const { clock, outstanding, unknown, receipts, asked, close } = openReceipts('auto');
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
  expect(asked).toEqual([]);
  outstanding.add(eventOfMessage(message, { kind: 'submitted', segment: 2, carrierMessageId: '77', atMs: 1 }));
  receipts.learn(eventOfMessage(message, { kind: 'unknown', segment: 1, atMs: 1 }));
  receipts.open();

  await until('the answer', () => answers.length === 1);
  const published = (await recordsOf(bus.bus, 'EVENTS')).flatMap((record) => decodeEvents(record.data));
  expect(published).toMatchObject([{ kind: 'delivered', segment: 2, carrierMessageId: '77' }]);
  expect(unknown.find(message.recipient, message.sender, null)).toMatchObject({ segment: 1 });
  close();
});

test.each(['hex', 'decimal'] as const)(
  'with %s, receipts whose ids cannot be read so are searched as written, parked and answered, and use up no place',
  async (form) => {
    const { clock, receipts, asked, close } = openReceipts(form);
    receipts.open();
    const answers: number[] = [];
    const count = limits.carrier.earlyReceiptsMax;
    const { recipient, sender } = messageWith();
    const take = (at: number) =>
      receipts.take(
        { carrierMessageId: `msg-${at}`, state: 'delivered', errorCode: '000', recipient, sender },
        (status) => answers.push(status),
      );
    for (let at = 0; at < count; at += 1) take(at);
    expect(answers).toEqual([]);
    clock.advance(limits.carrier.earlyReceiptWaitMs + 1_000);
    await until('all answers', () => answers.length === count);
    expect(asked.slice(0, 2)).toEqual([['msg-0'], ['msg-1']]);
    expect(new Set(answers)).toEqual(new Set([commandStatus.ESME_ROK]));
    take(count);
    clock.advance(limits.carrier.earlyReceiptWaitMs + 1_000);
    await until('one more answer', () => answers.length === count + 1);
    close();
  },
);

test('a carrier whose ids become letters is matched in memory again after three of them were found in the event store', async () => {
  const ofLetters = (at: number) =>
    eventOfMessage(messageWith(), { kind: 'submitted', carrierMessageId: `msg-${at}`, atMs: 1 });
  const submits = [1, 2, 3, 4].map(ofLetters);
  const stored = new Map(submits.map((each) => [each.carrierMessageId as string, each]));
  const { clock, outstanding, receipts, asked, close } = openReceipts('auto', stored);
  receipts.open();
  for (let id = 0x1000a; outstanding.candidates('17').length > 1; id += 16) {
    const submitted = eventOfMessage(messageWith(), { kind: 'submitted', carrierMessageId: id.toString(16), atMs: 1 });
    outstanding.add(submitted);
    expect(outstanding.find(String(id), submitted.recipient)).not.toBeNull();
  }
  for (const each of submits) outstanding.add(each);
  const answers: number[] = [];
  const take = ({ carrierMessageId, recipient, sender }: DeliveryEvent) => {
    const receipt = { carrierMessageId: carrierMessageId ?? '', state: 'delivered', errorCode: '000' } as const;
    receipts.take({ ...receipt, recipient, sender }, (status) => answers.push(status));
  };
  for (const each of submits.slice(0, 3)) take(each);
  clock.advance(limits.carrier.earlyReceiptWaitMs + 1_000);
  await until('three answers', () => answers.length === 3);
  expect(asked).toEqual([['msg-1'], ['msg-2'], ['msg-3']]);
  take(submits[3] as DeliveryEvent);
  await until('the fourth answer', () => answers.length === 4);
  expect(asked.length).toBe(3);
  close();
});
