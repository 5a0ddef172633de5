// STOP, START and HELP: in effect at the entry points and published, for which accounts they apply, and how they are
// answered.
import { afterEach, describe, expect, test } from 'vitest';
import { firstOfTurn } from '../../../actors/inbound/reply.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { type MessageId, timeOfMessageId } from '../../../model/ids.ts';
import { until } from '../../support/until.ts';
import { lateGates } from '../../../policy/late/late-gates.ts';
import { deliverSm } from '../../smpp/messages.ts';
import { carrierWith } from '../../support/carrier-harness.ts';
import { accountA, accountB, receivedIn, testCountry } from '../../support/inbound-consumer.ts';
import { type InboundHarness, openInboundHarness, patient, subscriber } from '../../support/inbound-harness.ts';
import { eventsOf } from '../../support/invariant.ts';

let harness: InboundHarness;
afterEach(() => harness.stop());

describe('a keyword', () => {
  test('STOP is in effect within a second, START lifts it, and both are published', async () => {
    harness = await openInboundHarness();
    await harness.actor(carrierWith(harness.simulator));
    harness.say('stop!');
    await until('STOP is in effect', () => harness.suppressed(), patient);
    expect(harness.suppressed(accountA, 'HELIO')).toBe(false);
    harness.say('Start');
    await until('START is in effect', () => !harness.suppressed(), patient);
    await harness.published(2);
    const events = await until('both are published', async () => {
      const all = (await eventsOf(harness.bus)).filter(({ kind }) => kind === 'opted_out' || kind === 'opted_in');
      return all.length >= 2 && all;
    });
    expect(events.map(({ kind, accountId, sender, recipient }) => [kind, accountId, sender, recipient])).toEqual([
      ['opted_out', accountA, '16000', subscriber],
      ['opted_in', accountA, '16000', subscriber],
    ]);
    const [first] = await receivedIn(harness);
    expect(events[0]?.inbound?.receivedId).toBe(first?.messageId);
    // The decisions wait for the database, which this harness does not have.
    await until('two decisions wait', async () => (await harness.waiting()) === 2, patient);
  });

  test('applies to every account that sends from the number', async () => {
    harness = await openInboundHarness();
    await harness.inboundConsumer.putAccount(accountB, ['16000', '+16000000000']);
    await until('both accounts are known', () => harness.inboundConsumer.directory.ownersOf('16000').length === 2);
    await harness.actor(carrierWith(harness.simulator));
    harness.say('বন্ধ');
    await until(
      'STOP is in effect for both',
      () => harness.suppressed(accountA) && harness.suppressed(accountB),
      patient,
    );
    // Without an event store it is not known who wrote last: the message must wait.
    expect(await receivedIn(harness)).toEqual([]);
  });

  test('for the whole account where the country says so', async () => {
    const keywords = { ...testCountry.keywords!, scope: 'account' as const };
    harness = await openInboundHarness({ country: { ...testCountry, keywords } });
    await harness.actor(carrierWith(harness.simulator));
    harness.say('STOP');
    await until('STOP is in effect', () => harness.suppressed(accountA, 'HELIO'), patient);
  });

  test('HELP is answered from the number it was sent to, once a minute however often it is asked', async () => {
    harness = await openInboundHarness();
    await harness.actor(carrierWith(harness.simulator));
    harness.say('HELP');
    harness.say('help');
    harness.say('Help.');
    await harness.published(3);
    const replies = await until('the answer arrives', () => {
      const all = harness.simulator.messages({ destination: subscriber.slice(1) });
      return all.length > 0 && all;
    });
    expect(replies[0]).toMatchObject({ source: '16000', text: 'Shop 0: reply STOP to end messages from 16000' });
    await harness.nothingWaits();
    await until(
      'nothing waits in the lane',
      async () => (await harness.bus.manager.streams.info('MT_TXN')).state.messages === 0,
    );
    // Two, when the minute turned between them.
    expect(harness.simulator.messages({ destination: subscriber.slice(1) }).length).toBeLessThanOrEqual(2);
    // Each answer has its place in lists where the message that asked for it has its own.
    const accepted = (await eventsOf(harness.bus)).filter(({ kind }) => kind === 'accepted');
    const asked = (await receivedIn(harness)).map(({ messageId }) => timeOfMessageId(messageId as MessageId));
    expect(accepted.length).toBeGreaterThan(0);
    for (const { messageId } of accepted) expect(asked).toContain(timeOfMessageId(messageId as MessageId));
  });

  test.each([
    ['the content rules of the account block', { content: { words: ['casino'], linksDenied: [], linksAllowed: [] } }],
    ['the account demands a template for', { requireTemplate: ['transactional' as const] }],
    ['the rules of the installation block', {}],
  ])('HELP is answered with the words of the country where %s its own', async (why, rules) => {
    const content = { words: [why.includes('installation') ? 'casino' : 'lottery'], linksDenied: [], linksAllowed: [] };
    harness = await openInboundHarness({ content });
    await harness.inboundConsumer.putAccount(accountA, ['16000', 'HELIO'], {
      helpText: 'Casino hotline: 16000',
      ...rules,
    });
    const helpText = () => harness.inboundConsumer.directory.account(accountA)?.helpText ?? null;
    await until('the account is known', () => helpText() !== null);
    await harness.actor(carrierWith(harness.simulator));
    harness.say('HELP');
    const [reply] = await until('the answer arrives', () => {
      const all = harness.simulator.messages({ destination: subscriber.slice(1) });
      return all.length > 0 && all;
    });
    expect(reply?.text).toBe('Shop 0: reply STOP to end messages from 16000');
  });

  test('the first request of a minute is the same for all, however many come at once and again', async () => {
    harness = await openInboundHarness();
    const bucket = await openBucket(harness.bus, 'inbound');
    const moments = Array.from({ length: 20 }, (_, nth) => 1_750_000_000_000 + nth);
    const ask = (turn: string) => Promise.all(moments.map((atMs) => firstOfTurn(bucket, turn, atMs)));
    const [first, ...others] = await ask('HELP 29166666');
    expect(moments).toContain(first);
    expect(new Set(others)).toEqual(new Set([first]));
    expect(new Set(await ask('HELP 29166666'))).toEqual(new Set([first]));
    expect(await firstOfTurn(bucket, 'HELP 29166667', 1_750_000_060_000)).toBe(1_750_000_060_000);
  });

  test('STOP is confirmed although the number is suppressed, and other messages of the account are not sent', async () => {
    harness = await openInboundHarness();
    const gates = lateGates(testCountry, () => ({ dnd: null, ported: null }), harness.inboundConsumer.directory);
    await harness.actor(carrierWith(harness.simulator), undefined, undefined, gates);
    harness.say('STOP');
    const [reply] = await until('the confirmation arrives', () => {
      const all = harness.simulator.messages({ destination: subscriber.slice(1) });
      return all.length > 0 && all;
    });
    expect(reply?.text).toBe('Shop 0: no more messages from 16000');
    await until('STOP is in effect', () => harness.suppressed(), patient);
    const sent = await harness.send(3, { accountId: accountA, sender: '16000', recipient: subscriber });
    expect(await harness.settled(sent)).toMatchObject({ statuses: { blocked: 3 } });
    const others = await harness.send(3, { accountId: accountA, sender: 'HELIO', recipient: subscriber });
    expect(await harness.settled(others)).toMatchObject({ statuses: { delivered: 3 } });
  });

  test('from an address that is no subscriber decides nothing', async () => {
    harness = await openInboundHarness();
    await harness.actor(carrierWith(harness.simulator));
    harness.simulator.deliver(
      deliverSm({ sourceTon: 5, sourceNpi: 0, source: 'GP INFO', octets: Buffer.from('STOP') }),
    );
    const [one] = await harness.published(1);
    expect(one).toMatchObject({ keyword: 'stop', recipient: 'GP INFO', accountId: accountA });
    await harness.nothingWaits();
    expect((await eventsOf(harness.bus)).map(({ kind }) => kind)).toEqual(['received']);
  });
});
