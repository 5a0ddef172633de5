// Messages from subscribers between real peers: the simulator delivers them over TCP, an actor takes them, a real
// nats-server stores them, the inbound consumer publishes them. Counted at both ends: the answers at the carrier, the
// events in EVENTS.
import { afterEach, describe, expect, test } from 'vitest';
import { inboundPartSubject } from '../../../cluster/bus/subjects.ts';
import { until } from '../../support/until.ts';
import { carrierWith } from '../../support/carrier-harness.ts';
import { accountA, receivedIn } from '../../support/inbound-consumer.ts';
import { type InboundHarness, openInboundHarness, patient, subscriber } from '../../support/inbound-harness.ts';
import { eventsOf } from '../../support/invariant.ts';

let harness: InboundHarness;
afterEach(() => harness.stop());

describe('a message from a subscriber', () => {
  test('is published to the account that owns the number it was sent to, with its text encrypted, and nothing is left over', async () => {
    harness = await openInboundHarness();
    await harness.actor(carrierWith(harness.simulator));
    harness.say('Where is my order? 😀');
    const [one] = await harness.published(1);
    expect(one).toMatchObject({ accountId: accountA, sender: '16000', recipient: subscriber, carrier: 'alpha' });
    expect(one).toMatchObject({ text: 'Where is my order? 😀', keyword: null, segments: 1, parts: 1, error: null });
    await harness.nothingWaits();
    const raw = (await harness.bus.manager.streams.getMessage('EVENTS', { seq: 1 }))?.data ?? Buffer.alloc(0);
    expect(Buffer.from(raw).includes('order')).toBe(false);
    await harness.answered(1);
  });

  test('to a number without an owner is kept and published without an account', async () => {
    harness = await openInboundHarness();
    await harness.actor(carrierWith(harness.simulator));
    harness.say('hello?', { to: '17000' });
    harness.say('STOP', { to: '17000' });
    const all = await harness.published(2);
    expect(all.map(({ accountId }) => accountId)).toEqual(['', '']);
    expect(all.map(({ sender }) => sender)).toEqual(['17000', '17000']);
    expect((await eventsOf(harness.bus)).filter(({ kind }) => kind !== 'received')).toEqual([]);
  });

  test('that cannot be read goes to DEAD, and the others continue', async () => {
    harness = await openInboundHarness();
    await harness.actor(carrierWith(harness.simulator));
    const sent = await harness.publisher.publishOne(inboundPartSubject('alpha'), Buffer.from('no record'), 'garbage');
    expect(sent.ok).toBe(true);
    harness.say('hello');
    await harness.published(1);
    const dead = async () => (await harness.bus.manager.streams.info('DEAD')).state.messages;
    await until('it is in DEAD', async () => (await dead()) === 1, patient);
    await harness.nothingWaits();
  });

  test('twice in the same words is two messages, because a person may write a thing twice', async () => {
    harness = await openInboundHarness();
    await harness.actor(carrierWith(harness.simulator));
    for (let times = 0; times < 3; times += 1) {
      harness.say('YES');
      await harness.answered(times + 1);
    }
    const all = await harness.published(3);
    expect(new Set(all.map(({ messageId }) => messageId)).size).toBe(3);
  });

  test('is answered only when it is durable: with the bus down the carrier keeps it, and it is published once', async () => {
    harness = await openInboundHarness();
    await harness.actor(carrierWith(harness.simulator));
    await harness.nats.kill9();
    harness.say('are you there?');
    await until('it was sent', () => harness.simulator.stats().inbound.sent >= 1, patient);
    expect(harness.simulator.stats().inbound.acked).toBe(0);
    await harness.nats.restart();
    await until('the bus is back', () => harness.bus.connected(), patient);
    await harness.answered(1);
    await harness.published(1);
    await harness.nothingWaits();
    expect((await receivedIn(harness)).length).toBe(1);
  });
});
