// STOP, START and HELP: in force at the doors and told, for whom they hold, and how they are answered.
import { afterEach, describe, expect, test } from 'vitest';
import { ReplyTurns } from '../../../actors/inbound/reply-turns.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { type MessageId, timeOfMessageId } from '../../../model/ids.ts';
import { until } from '../../../platform/deadline.ts';
import { lateGates } from '../../../policy/late/late-gates.ts';
import { deliverSm } from '../../smpp/messages.ts';
import { carrierWith } from '../../support/carrier-house.ts';
import { accountA, accountB, receivedIn, testCountry } from '../../support/inbound-desk.ts';
import { type InboundHouse, openInboundHouse, patient, subscriber } from '../../support/inbound-house.ts';
import { eventsOf } from '../../support/invariant.ts';

let house: InboundHouse;
afterEach(() => house.stop());

describe('a keyword', () => {
  test('STOP is in force within a second, START lifts it, and both are told', async () => {
    house = await openInboundHouse();
    await house.actor(carrierWith(house.simulator));
    house.say('stop!');
    await until('STOP is in force', () => house.suppressed(), patient);
    expect(house.suppressed(accountA, 'HELIO')).toBe(false);
    house.say('Start');
    await until('START is in force', () => !house.suppressed(), patient);
    await house.told(2);
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
    await until('two decisions wait', async () => (await house.waiting()) === 2, patient);
  });

  test('holds for every account that sends from the number', async () => {
    house = await openInboundHouse();
    await house.desk.putAccount(accountB, ['16000', '+16000000000']);
    await until('both accounts are known', () => house.desk.directory.ownersOf('16000').length === 2);
    await house.actor(carrierWith(house.simulator));
    house.say('বন্ধ');
    await until('STOP is in force for both', () => house.suppressed(accountA) && house.suppressed(accountB), patient);
    // Without an event store nobody knows who wrote last: whose message it is must wait.
    expect(await receivedIn(house)).toEqual([]);
  });

  test('for the whole account where the country says so', async () => {
    const keywords = { ...testCountry.keywords!, scope: 'account' as const };
    house = await openInboundHouse({ country: { ...testCountry, keywords } });
    await house.actor(carrierWith(house.simulator));
    house.say('STOP');
    await until('STOP is in force', () => house.suppressed(accountA, 'HELIO'), patient);
  });

  test('HELP is answered from the number it was sent to, once a minute however often it is asked', async () => {
    house = await openInboundHouse();
    await house.actor(carrierWith(house.simulator));
    house.say('HELP');
    house.say('help');
    house.say('Help.');
    await house.told(3);
    const replies = await until('the answer arrives', () => {
      const all = house.simulator.messages({ destination: subscriber.slice(1) });
      return all.length > 0 && all;
    });
    expect(replies[0]).toMatchObject({ source: '16000', text: 'Shop 0: reply STOP to end messages from 16000' });
    await house.nothingWaits();
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

  test.each([
    ['the content rules of the account block', { content: { words: ['casino'], linksDenied: [], linksAllowed: [] } }],
    ['the account demands a template for', { requireTemplate: ['transactional' as const] }],
    ['the rules of the installation block', {}],
  ])('HELP is answered with the words of the country where %s its own', async (why, rules) => {
    const content = { words: [why.includes('installation') ? 'casino' : 'lottery'], linksDenied: [], linksAllowed: [] };
    house = await openInboundHouse({ content });
    await house.desk.putAccount(accountA, ['16000', 'HELIO'], { helpText: 'Casino hotline: 16000', ...rules });
    await until('the account is known', () => house.desk.directory.account(accountA)?.helpText !== null);
    await house.actor(carrierWith(house.simulator));
    house.say('HELP');
    const [reply] = await until('the answer arrives', () => {
      const all = house.simulator.messages({ destination: subscriber.slice(1) });
      return all.length > 0 && all;
    });
    expect(reply?.text).toBe('Shop 0: reply STOP to end messages from 16000');
  });

  test('who asked first in a minute is the same for everybody, however many ask at once and again', async () => {
    house = await openInboundHouse();
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
    house = await openInboundHouse();
    const gates = lateGates(testCountry, () => ({ dnd: null, ported: null }), house.desk.directory);
    await house.actor(carrierWith(house.simulator), undefined, undefined, gates);
    house.say('STOP');
    const [reply] = await until('the confirmation arrives', () => {
      const all = house.simulator.messages({ destination: subscriber.slice(1) });
      return all.length > 0 && all;
    });
    expect(reply?.text).toBe('Shop 0: no more messages from 16000');
    await until('STOP is in force', () => house.suppressed(), patient);
    const sent = await house.send(3, { accountId: accountA, sender: '16000', recipient: subscriber });
    expect(await house.settled(sent)).toMatchObject({ statuses: { blocked: 3 } });
    const others = await house.send(3, { accountId: accountA, sender: 'HELIO', recipient: subscriber });
    expect(await house.settled(others)).toMatchObject({ statuses: { delivered: 3 } });
  }, 30_000);

  test('from what is no subscriber decides nothing', async () => {
    house = await openInboundHouse();
    await house.actor(carrierWith(house.simulator));
    house.simulator.deliver(deliverSm({ sourceTon: 5, sourceNpi: 0, source: 'GP INFO', octets: Buffer.from('STOP') }));
    const [one] = await house.told(1);
    expect(one).toMatchObject({ keyword: 'stop', recipient: 'GP INFO', accountId: accountA });
    await house.nothingWaits();
    expect((await eventsOf(house.bus)).map(({ kind }) => kind)).toEqual(['received']);
  });
});
