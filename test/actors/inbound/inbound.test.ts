// Messages from subscribers between real neighbours: the simulator delivers them over TCP, an actor takes them, a real
// nats-server keeps them, the desk tells them. Counted at both ends: what the carrier saw answered, what EVENTS has.
import { afterEach, describe, expect, test } from 'vitest';
import { ReplyTurns } from '../../../actors/inbound/reply-turns.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { inboundPartSubject } from '../../../cluster/bus/subjects.ts';
import { type MessageId, timeOfMessageId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../../platform/deadline.ts';
import { ignoring } from '../../../platform/errors.ts';
import { lateGates } from '../../../policy/late/late-gates.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../support/carrier-house.ts';
import {
  type TestDesk,
  accountA,
  accountB,
  openTestDesk,
  receivedIn,
  testCountry,
} from '../../support/inbound-desk.ts';
import { eventsOf } from '../../support/invariant.ts';

let house: CarrierHouse;
let desk: TestDesk | null = null;
afterEach(async () => {
  await desk?.stop();
  desk = null;
  await house.stop();
});

const subscriber = '+8801712345678';
const patient = { limitMs: 20_000, everyMs: 50 };
const told = (count: number) =>
  until(
    `${count} messages told`,
    async () => {
      // The server may have been killed a moment ago.
      const all = await receivedIn(house).catch((error: unknown) => {
        ignoring(error, 'what was told could not be read this time');
        return [];
      });
      return all.length >= count && all;
    },
    patient,
  );
const waiting = () =>
  house.bus.manager.streams.info('INBOUND').then(
    ({ state }) => state.messages,
    (error: unknown) => {
      ignoring(error, 'the server was killed a moment ago');
      return -1;
    },
  );
const answered = (count: number) =>
  until(`${count} deliver_sm answered`, () => house.simulator.stats().inbound.acked >= count, patient);
const say = (text: string, more: object = {}) =>
  house.simulator.sendInbound({ from: subscriber, to: '16000', text, ...more });
const suppressed = (accountId = accountA, sender = '16000', number = subscriber) =>
  desk?.directory.account(accountId)?.suppressions.has(number, sender, 'transactional') === true;

async function open(options: Parameters<typeof openTestDesk>[1] = {}, simulator = {}) {
  house = await openCarrierHouse(simulator);
  desk = await openTestDesk(house, options);
  await desk.putAccount(accountA, ['16000', 'HELIO']);
  await until('the account is known', () => desk?.directory.account(accountA));
}

describe('a message from a subscriber', () => {
  test('is told to the account whose number it was sent to, with its words sealed, and nothing stays behind', async () => {
    await open();
    await house.actor(carrierWith(house.simulator));
    say('Where is my order? 😀');
    const [one] = await told(1);
    expect(one).toMatchObject({ accountId: accountA, sender: '16000', recipient: subscriber, carrier: 'alpha' });
    expect(one).toMatchObject({ text: 'Where is my order? 😀', keyword: null, segments: 1, parts: 1, error: null });
    await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
    const raw = (await house.bus.manager.streams.getMessage('EVENTS', { seq: 1 }))?.data ?? Buffer.alloc(0);
    expect(Buffer.from(raw).includes('order')).toBe(false);
    await answered(1);
  });

  test('to a number of nobody is kept and told without an account', async () => {
    await open();
    await house.actor(carrierWith(house.simulator));
    say('hello?', { to: '17000' });
    say('STOP', { to: '17000' });
    const all = await told(2);
    expect(all.map(({ accountId }) => accountId)).toEqual(['', '']);
    expect(all.map(({ sender }) => sender)).toEqual(['17000', '17000']);
    expect((await eventsOf(house.bus)).filter(({ kind }) => kind !== 'received')).toEqual([]);
  });

  test('that nobody can read goes to DEAD, and the others go on', async () => {
    await open();
    await house.actor(carrierWith(house.simulator));
    const sent = await house.publisher.publishOne(inboundPartSubject('alpha'), Buffer.from('no record'), 'garbage');
    expect(sent.ok).toBe(true);
    say('hello');
    await told(1);
    const dead = async () => (await house.bus.manager.streams.info('DEAD')).state.messages;
    await until('it is in DEAD', async () => (await dead()) === 1, patient);
    await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
  });

  test('twice in the same words is two messages, because a person may say a thing twice', async () => {
    await open();
    await house.actor(carrierWith(house.simulator));
    for (let times = 0; times < 3; times += 1) {
      say('YES');
      await answered(times + 1);
    }
    const all = await told(3);
    expect(new Set(all.map(({ messageId }) => messageId)).size).toBe(3);
  });

  test('is answered only when it is durable: with the bus away it is kept by the carrier and told once', async () => {
    await open();
    await house.actor(carrierWith(house.simulator));
    await house.nats.kill9();
    say('are you there?');
    await until('it was sent', () => house.simulator.stats().inbound.sent >= 1, patient);
    expect(house.simulator.stats().inbound.acked).toBe(0);
    await house.nats.restart();
    await until('the bus is back', () => house.bus.connected(), patient);
    await answered(1);
    await told(1);
    await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
    expect((await receivedIn(house)).length).toBe(1);
  }, 40_000);
});

test('through kill -9 of the actors under load every message is told, and none of them twice', async () => {
  house = await openCarrierHouse();
  let child = await house.host([carrierWith(house.simulator)]);
  const count = 600;
  const words = Array.from({ length: count }, (_, nth) => `message ${nth}`);
  const saying = (async () => {
    for (const [nth, text] of words.entries()) {
      house.simulator.sendInbound({ from: `+88017${10_000_000 + nth}`, to: '16000', text });
      if (nth % 10 === 9) await systemClock.sleep(20);
    }
  })();
  for (let kills = 1; kills <= 2; kills += 1) {
    await until('some are answered', () => house.simulator.stats().inbound.acked >= kills * 100, patient);
    await child.kill9();
    child = await house.host([carrierWith(house.simulator)]);
  }
  await saying;
  await answered(count);
  await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
  const all = await receivedIn(house);
  expect(all.length).toBe(count);
  expect(new Set(all.map(({ text }) => text))).toEqual(new Set(words));
  await child.drain(2_000);
}, 60_000);

describe('a long message', () => {
  const long = `${'A long complaint about a parcel that never came. '.repeat(9)}End.`;

  test('in every form, over two binds, is one message with all its words', async () => {
    await open();
    await house.actor(carrierWith(house.simulator));
    say(long, { as: 'udh', reference: 1 });
    say(long, { as: 'udh8', reference: 1 });
    say(long, { as: 'sar', reference: 1 });
    say(long, { as: 'message_payload' });
    say(long, { as: 'udh', reference: 2, parts: [3, 1, 2] });
    const all = await told(5);
    expect(all.map(({ text }) => text)).toEqual(Array.from({ length: 5 }, () => long));
    expect(all.map(({ segments, parts }) => segments - parts)).toEqual([0, 0, 0, 0, 0]);
    await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
    expect((await receivedIn(house)).length).toBe(5);
  });

  test('whose parts came twice is one message', async () => {
    await open();
    await house.actor(carrierWith(house.simulator));
    say(long, { as: 'udh', reference: 9, parts: [1, 1, 2, 2, 1] });
    say(long, { as: 'udh', reference: 9, parts: [3, 3, 1, 2] });
    await answered(9);
    await told(1);
    await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
    expect((await receivedIn(house)).map(({ text }) => text)).toEqual([long]);
  });

  test('of which a part is lost is told with a gap when it was waited for, and no keyword is read in it', async () => {
    await open({ partsWaitMs: 1_500 });
    await house.actor(carrierWith(house.simulator));
    say(long, { as: 'udh', reference: 3, parts: [1, 3] });
    const [one] = await told(1);
    expect(one).toMatchObject({ error: 'incomplete', segments: 3, parts: 2 });
    expect(one?.text).toMatch(/^A long complaint.*\[…\].*End\.$/s);
    say(long, { as: 'udh', reference: 3, parts: [2] });
    await answered(3);
    const all = await told(2);
    expect(all[1]).toMatchObject({ error: 'incomplete', parts: 1 });
  }, 30_000);

  test('survives kill -9 of whoever takes it, between its parts and after them', async () => {
    house = await openCarrierHouse();
    const first = await house.host([carrierWith(house.simulator)]);
    say(long, { as: 'udh', reference: 5, parts: [2] });
    await answered(1);
    await first.kill9();
    const second = await house.host([carrierWith(house.simulator)]);
    say(long, { as: 'udh', reference: 5, parts: [3] });
    await answered(2);
    await second.kill9();
    // Nobody serves the carrier: what comes now waits there.
    say(long, { as: 'udh', reference: 5, parts: [1, 2] });
    const third = await house.host([carrierWith(house.simulator)]);
    const all = await told(1);
    expect(all.map(({ text }) => text)).toEqual([long]);
    await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
    expect((await receivedIn(house)).length).toBe(1);
    await third.drain(2_000);
  }, 60_000);

  test('is put together by two desks at once, each with some of its parts', async () => {
    await open();
    const other = await openTestDesk(house);
    await house.actor(carrierWith(house.simulator));
    for (let reference = 0; reference < 20; reference += 1) say(`${reference} ${long}`, { as: 'udh', reference });
    const all = await told(20);
    await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
    expect((await receivedIn(house)).length).toBe(20);
    expect(new Set(all.map(({ text }) => text)).size).toBe(20);
    await other.stop();
  }, 30_000);
});

describe('a keyword', () => {
  test('STOP is in force within a second, START lifts it, and both are told', async () => {
    await open();
    await house.actor(carrierWith(house.simulator));
    say('stop!');
    await until('STOP is in force', () => suppressed(), patient);
    expect(suppressed(accountA, 'HELIO')).toBe(false);
    say('Start');
    await until('START is in force', () => !suppressed(), patient);
    await told(2);
    const events = await until('both are told', async () => {
      const all = (await eventsOf(house.bus)).filter(({ kind }) => kind === 'opted_out' || kind === 'opted_in');
      return all.length >= 2 && all;
    });
    expect(events.map(({ kind, accountId, sender, recipient }) => [kind, accountId, sender, recipient])).toEqual([
      ['opted_out', accountA, '16000', subscriber],
      ['opted_in', accountA, '16000', subscriber],
    ]);
    const [first] = await receivedIn(house);
    expect(events[0]?.inbound?.receivedId).toBe(first?.messageId);
    // The decisions wait for the database, which this house does not have.
    await until('two decisions wait', async () => (await waiting()) === 2, patient);
  });

  test('holds for every account that sends from the number', async () => {
    await open();
    await desk?.putAccount(accountB, ['16000', '+16000000000']);
    await until('both accounts are known', () => (desk?.directory.ownersOf('16000').length ?? 0) === 2);
    await house.actor(carrierWith(house.simulator));
    say('বন্ধ');
    await until('STOP is in force for both', () => suppressed(accountA) && suppressed(accountB), patient);
    const [one] = await told(1);
    // Without an event store nobody knows who wrote last: the message is the first account's.
    expect(one?.accountId).toBe(accountA);
  });

  test('for the whole account where the country says so', async () => {
    const keywords = { ...testCountry.keywords!, scope: 'account' as const };
    await open({ country: { ...testCountry, keywords } });
    await house.actor(carrierWith(house.simulator));
    say('STOP');
    await until('STOP is in force', () => suppressed(accountA, 'HELIO'), patient);
  });

  test('HELP is answered from the number it was sent to, once a minute however often it is asked', async () => {
    await open();
    await house.actor(carrierWith(house.simulator));
    say('HELP');
    say('help');
    say('Help.');
    await told(3);
    const replies = await until('the answer arrives', () => {
      const all = house.simulator.messages({ destination: subscriber.slice(1) });
      return all.length > 0 && all;
    });
    expect(replies[0]).toMatchObject({ source: '16000', text: 'Shop 0: reply STOP to end messages from 16000' });
    await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
    await until(
      'nothing waits in the lane',
      async () => (await house.bus.manager.streams.info('MT_TXN')).state.messages === 0,
    );
    // Two, when the minute turned between them.
    expect(house.simulator.messages({ destination: subscriber.slice(1) }).length).toBeLessThanOrEqual(2);
    // Each answer has its place in lists where the message that asked for it has its own.
    const accepted = (await eventsOf(house.bus)).filter(({ kind }) => kind === 'accepted');
    const asked = (await receivedIn(house)).map(({ messageId }) => timeOfMessageId(messageId as MessageId));
    expect(accepted.length).toBeGreaterThan(0);
    for (const { messageId } of accepted) expect(asked).toContain(timeOfMessageId(messageId as MessageId));
  });

  test('who asked first in a minute is the same for everybody, however many ask at once and again', async () => {
    await open();
    const bucket = await openBucket(house.bus, 'inbound');
    const nodes = [new ReplyTurns(bucket), new ReplyTurns(bucket)];
    const moments = Array.from({ length: 20 }, (_, nth) => 1_750_000_000_000 + nth);
    const ask = (turn: string) =>
      Promise.all(moments.map((atMs, nth) => (nodes[nth % 2] as ReplyTurns).firstOf(turn, atMs)));
    const [first, ...others] = await ask('HELP 29166666');
    expect(moments).toContain(first);
    expect(new Set(others)).toEqual(new Set([first]));
    expect(new Set(await ask('HELP 29166666'))).toEqual(new Set([first]));
    expect(await nodes[0]?.firstOf('HELP 29166667', 1_750_000_060_000)).toBe(1_750_000_060_000);
  });

  test('STOP is confirmed although the number is suppressed, and what the account says then is not sent', async () => {
    await open();
    const gates = lateGates(testCountry, () => ({ dnd: null, ported: null }), desk!.directory);
    await house.actor(carrierWith(house.simulator), undefined, undefined, gates);
    say('STOP');
    const [reply] = await until('the confirmation arrives', () => {
      const all = house.simulator.messages({ destination: subscriber.slice(1) });
      return all.length > 0 && all;
    });
    expect(reply?.text).toBe('Shop 0: no more messages from 16000');
    expect(suppressed()).toBe(true);
    const sent = await house.send(3, { accountId: accountA, sender: '16000', recipient: subscriber });
    expect(await house.settled(sent)).toMatchObject({ statuses: { blocked: 3 } });
    const others = await house.send(3, { accountId: accountA, sender: 'HELIO', recipient: subscriber });
    expect(await house.settled(others)).toMatchObject({ statuses: { delivered: 3 } });
  }, 30_000);

  test('from what is no subscriber decides nothing', async () => {
    await open();
    await house.actor(carrierWith(house.simulator));
    house.simulator.deliver({
      sourceTon: 5,
      sourceNpi: 0,
      source: 'GP INFO',
      destinationTon: 3,
      destinationNpi: 0,
      destination: '16000',
      esmClass: 0,
      registeredDelivery: 0,
      dataCoding: 0,
      octets: Buffer.from('STOP'),
    });
    const [one] = await told(1);
    expect(one).toMatchObject({ keyword: 'stop', recipient: 'GP INFO', accountId: accountA });
    await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
    expect((await eventsOf(house.bus)).map(({ kind }) => kind)).toEqual(['received']);
  });
});
