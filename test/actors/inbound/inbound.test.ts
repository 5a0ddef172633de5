// Messages from subscribers between real neighbours: the simulator delivers them over TCP, an actor takes them, a real
// nats-server keeps them, the desk tells them. Counted at both ends: what the carrier saw answered, what EVENTS has.
import { afterEach, describe, expect, test } from 'vitest';
import { inboundPartSubject } from '../../../cluster/bus/subjects.ts';
import { until } from '../../../platform/deadline.ts';
import { carrierWith } from '../../support/carrier-house.ts';
import { accountA, receivedIn } from '../../support/inbound-desk.ts';
import { type InboundHouse, openInboundHouse, patient, subscriber } from '../../support/inbound-house.ts';
import { eventsOf } from '../../support/invariant.ts';

let house: InboundHouse;
afterEach(() => house.stop());

describe('a message from a subscriber', () => {
  test('is told to the account whose number it was sent to, with its words sealed, and nothing stays behind', async () => {
    house = await openInboundHouse();
    await house.actor(carrierWith(house.simulator));
    house.say('Where is my order? 😀');
    const [one] = await house.told(1);
    expect(one).toMatchObject({ accountId: accountA, sender: '16000', recipient: subscriber, carrier: 'alpha' });
    expect(one).toMatchObject({ text: 'Where is my order? 😀', keyword: null, segments: 1, parts: 1, error: null });
    await house.nothingWaits();
    const raw = (await house.bus.manager.streams.getMessage('EVENTS', { seq: 1 }))?.data ?? Buffer.alloc(0);
    expect(Buffer.from(raw).includes('order')).toBe(false);
    await house.answered(1);
  });

  test('to a number of nobody is kept and told without an account', async () => {
    house = await openInboundHouse();
    await house.actor(carrierWith(house.simulator));
    house.say('hello?', { to: '17000' });
    house.say('STOP', { to: '17000' });
    const all = await house.told(2);
    expect(all.map(({ accountId }) => accountId)).toEqual(['', '']);
    expect(all.map(({ sender }) => sender)).toEqual(['17000', '17000']);
    expect((await eventsOf(house.bus)).filter(({ kind }) => kind !== 'received')).toEqual([]);
  });

  test('that nobody can read goes to DEAD, and the others go on', async () => {
    house = await openInboundHouse();
    await house.actor(carrierWith(house.simulator));
    const sent = await house.publisher.publishOne(inboundPartSubject('alpha'), Buffer.from('no record'), 'garbage');
    expect(sent.ok).toBe(true);
    house.say('hello');
    await house.told(1);
    const dead = async () => (await house.bus.manager.streams.info('DEAD')).state.messages;
    await until('it is in DEAD', async () => (await dead()) === 1, patient);
    await house.nothingWaits();
  });

  test('twice in the same words is two messages, because a person may say a thing twice', async () => {
    house = await openInboundHouse();
    await house.actor(carrierWith(house.simulator));
    for (let times = 0; times < 3; times += 1) {
      house.say('YES');
      await house.answered(times + 1);
    }
    const all = await house.told(3);
    expect(new Set(all.map(({ messageId }) => messageId)).size).toBe(3);
  });

  test('is answered only when it is durable: with the bus away it is kept by the carrier and told once', async () => {
    house = await openInboundHouse();
    await house.actor(carrierWith(house.simulator));
    await house.nats.kill9();
    house.say('are you there?');
    await until('it was sent', () => house.simulator.stats().inbound.sent >= 1, patient);
    expect(house.simulator.stats().inbound.acked).toBe(0);
    await house.nats.restart();
    await until('the bus is back', () => house.bus.connected(), patient);
    await house.answered(1);
    await house.told(1);
    await house.nothingWaits();
    expect((await receivedIn(house)).length).toBe(1);
  }, 40_000);
});
