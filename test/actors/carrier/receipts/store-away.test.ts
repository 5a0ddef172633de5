// The event store is down while receipts arrive that only it could match (fault 50): nothing else is settled by them,
// they wait as long as it takes, and each finds its own message in the end.
import { afterEach, describe, expect, test } from 'vitest';
import { Outstanding } from '../../../../actors/carrier/receipts/outstanding.ts';
import { parkReceipt } from '../../../../actors/carrier/receipts/parked-receipts.ts';
import type { KnownReceipt } from '../../../../actors/carrier/receipts/receipts.ts';
import { type Parked, Receipts } from '../../../../actors/carrier/receipts/receipts.ts';
import { UnknownSubmits } from '../../../../actors/carrier/outcome/unknown-submits.ts';
import type { FindSubmittedReply } from '../../../../analytics/contract.ts';
import { openBucket } from '../../../../cluster/bus/ensure.ts';
import { EventWriter } from '../../../../cluster/bus/event-writer.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import { eventOfMessage } from '../../../../model/delivery-event.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { suspend } from '../../../support/processes.ts';
import { limits } from '../../../../platform/limits.ts';
import { commandStatus } from '../../../../model/command-status.ts';
import { type TestBus, startBus } from '../../../support/bus.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { eventsOf, statesOf } from '../../../support/invariant.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const messagesIn = async (harness: CarrierHarness, stream: string) =>
  (await harness.bus.manager.streams.info(stream)).state.messages;

test('a receipt whose message only the store knows does not settle the unknown submit to the same number', async () => {
  const harness = await openCarrierHarness({ latency: 'fixed:12000' });
  closers.push(() => harness.stop());
  const role = await harness.eventStore();
  const statusOf = async (messageId: string) => (await statesOf(harness.bus)).get(messageId)?.status;
  const kinds = async () => (await eventsOf(harness.bus)).map(({ kind }) => kind);
  const recipient = '+8801711112222';

  const first = await harness.actor(carrierWith(harness.simulator));
  const [known] = await harness.send(1, { recipient });
  await until('it is submitted', async () => (await kinds()).includes('submitted'), { everyMs: 10 });
  await first.drain();
  const { state } = await harness.bus.manager.streams.info('EVENTS');
  const progress = await openBucket(harness.bus, 'recorder');
  await until('the store has taken it', async () => {
    const record = (await progress.get('events'))?.json<{ pending: { last: number } | null }>();
    return (record?.pending?.last ?? 0) >= state.last_seq;
  });
  // The next incarnation remembers nothing of it.
  await harness.bus.manager.streams.purge('EVENTS');
  // It never reached the phone: no answer, and no receipt.
  harness.simulator.setFault('no-resp', { limit: 1 });
  harness.simulator.setFault('no-receipt', { limit: 1 });
  await harness.actor(carrierWith(harness.simulator, { responseTimerMs: 200 }));
  const [unanswered] = await harness.send(1, { recipient });
  await until('its outcome is unknown', async () => (await statusOf(unanswered!.messageId)) === 'unknown');

  await suspend(role.child.pid!);
  await until('its receipt is parked', async () => (await messagesIn(harness, 'LATER')) > 0);
  expect(await kinds()).not.toContain('delivered');
  role.child.kill('SIGCONT');
  await until('the receipt found its own', async () => (await kinds()).includes('delivered'));
  const [delivered] = (await eventsOf(harness.bus)).filter(({ kind }) => kind === 'delivered');
  expect(delivered?.messageId).toBe(known!.messageId);
  expect(await statusOf(unanswered!.messageId)).toBe('unknown');
  for (const stream of ['LATER', 'INBOUND']) {
    await until(`${stream} is empty`, async () => (await messagesIn(harness, stream)) === 0);
  }
});

describe('a receipt that waits', () => {
  const message = messageWith();
  const receipt: KnownReceipt = {
    carrierMessageId: '77',
    state: 'delivered',
    errorCode: '000',
    recipient: message.recipient,
    sender: message.sender,
  };
  const unavailable: FindSubmittedReply = { result: 'unavailable', why: 'behind', detail: '' };
  const none: FindSubmittedReply = { result: 'none', recordedTo: 1 };

  /** One try after the other, each with the store's answer; the waits it asked for, and how it was answered. */
  async function open(bus: TestBus) {
    const clock = new ManualClock(systemClock.nowMs());
    const publisher = new Publisher(bus.bus);
    const events = new EventWriter(publisher);
    const unknown = new UnknownSubmits(clock);
    let reply = unavailable;
    let parked: Parked | null = null;
    const delays: number[] = [];
    const answers: number[] = [];
    const receipts = new Receipts({
      carrier: 'alpha',
      events,
      outstanding: new Outstanding('auto', clock),
      unknown,
      clock,
      lookUp: () => Promise.resolve(reply),
      park(_receipt, next, delayMs, done) {
        parked = next;
        delays.push(delayMs);
        done(true);
      },
      resend: { onReceipt: () => () => {} },
    });
    receipts.open();
    closers.push(async () => {
      receipts.close();
      events.close();
      publisher.close();
    });
    return {
      clock,
      unknown,
      delays,
      /** True when it was parked again. */
      async look(says: FindSubmittedReply): Promise<boolean> {
        reply = says;
        const [looks, published] = [delays.length, answers.length];
        receipts.take(receipt, (status) => answers.push(status), parked);
        clock.advance(limits.carrier.earlyReceiptWaitMs + 500);
        await until('its answer', () => answers.length > published);
        expect(answers.at(-1)).toBe(commandStatus.ESME_ROK);
        return delays.length > looks;
      },
    };
  }

  test('for a store that does not answer uses up none of its waits, up to an age', async () => {
    const bus = await startBus();
    closers.push(() => bus.stop());
    const waiting = await open(bus);
    waiting.unknown.add(eventOfMessage(message, { kind: 'unknown', segment: 1, atMs: waiting.clock.nowMs() }));
    const sinceMs = waiting.clock.nowMs();
    for (let times = 0; times < 50; times += 1) expect(await waiting.look(unavailable)).toBe(true);
    expect(waiting.delays.slice(0, 5)).toEqual([5_000, 30_000, 120_000, 600_000, 600_000]);
    waiting.clock.advance(limits.carrier.parkedReceiptAgeMsMax - (waiting.clock.nowMs() - sinceMs) - 3_000);
    expect(await waiting.look(unavailable)).toBe(true);
    waiting.clock.advance(5_000);
    expect(await waiting.look(unavailable)).toBe(false);
    expect(waiting.unknown.find(message.recipient, message.sender, null)).not.toBeNull();
  });

  test('and is not known then has all its waits left', async () => {
    const bus = await startBus();
    closers.push(() => bus.stop());
    const waiting = await open(bus);
    for (let times = 0; times < 9; times += 1) await waiting.look(unavailable);
    const from = waiting.delays.length;
    for (const _wait of limits.carrier.parkedReceiptWaitsMs) expect(await waiting.look(none)).toBe(true);
    expect(waiting.delays.slice(from)).toEqual(limits.carrier.parkedReceiptWaitsMs);
    expect(await waiting.look(none)).toBe(false);
  });

  test('and is of an id that another number has too is kept beside that one', async () => {
    const bus = await startBus();
    const publisher = new Publisher(bus.bus);
    closers.push(async () => {
      publisher.close();
      await bus.stop();
    });
    const parts = { bus: bus.bus, publisher, carrier: 'alpha', clock: systemClock };
    const parked: Parked = { waits: 0, unanswered: 1, sinceMs: systemClock.nowMs() };
    const dueMs = 600_000;
    for (const recipient of ['+8801711111111', '+8801722222222', '+8801722222222']) {
      const safe = await new Promise<boolean>((resolve) =>
        parkReceipt(parts, { ...receipt, recipient }, parked, dueMs, resolve),
      );
      expect(safe).toBe(true);
    }
    expect((await bus.bus.manager.streams.info('LATER')).state.messages).toBe(2);
  });
});
