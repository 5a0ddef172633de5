// The owner of a message to a number of several accounts is known only to the event store. While it is down, behind or
// busy the message waits, and is published to none; the subscriber's decision is in effect meanwhile.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FindWriterReply, querySubjects } from '../../../analytics/contract.ts';
import { until } from '../../support/until.ts';
import { carrierWith } from '../../support/carrier-harness.ts';
import { accountA, accountB, receivedIn } from '../../support/inbound-consumer.ts';
import { type InboundHarness, openInboundHarness, patient } from '../../support/inbound-harness.ts';

let harness: InboundHarness;
beforeEach(async () => {
  harness = await openInboundHarness();
  await harness.inboundConsumer.putAccount(accountB, ['16000']);
  await until('both accounts are known', () => harness.inboundConsumer.directory.ownersOf('16000').length === 2);
  await harness.actor(carrierWith(harness.simulator));
});
afterEach(() => harness.stop());

/** An event store that gives these answers in sequence, and then repeats the last. */
function answerWith(...replies: FindWriterReply[]): () => number {
  let asked = 0;
  harness.bus.connection.subscribe(querySubjects.findWriter, {
    callback: (_error, question) => {
      question.respond(JSON.stringify(replies[Math.min(asked, replies.length - 1)]));
      asked += 1;
    },
  });
  return () => asked;
}

const behind: FindWriterReply = { result: 'unavailable', why: 'behind', detail: 'recorded up to 5 of 9' };
const wroteLast: FindWriterReply = {
  result: 'found',
  recordedTo: 9,
  writer: { accountId: accountB, sender: '16000' },
};

describe('a message to a number of two accounts', () => {
  test('waits while the event store is behind, and is published once, to the one that wrote last', async () => {
    const asked = answerWith(behind, behind, wroteLast);
    harness.say('Where is my order?');
    const [one] = await harness.published(1);
    expect(one?.accountId).toBe(accountB);
    expect(asked()).toBe(3);
    await harness.nothingWaits();
    expect((await receivedIn(harness)).length).toBe(1);
  });

  test('waits in LATER while the event store is down, delays no other, and STOP is in effect at once', async () => {
    harness.say('STOP');
    await until(
      'STOP is in effect for both',
      () => harness.suppressed(accountA) && harness.suppressed(accountB),
      patient,
    );
    const inLater = async () => (await harness.bus.manager.streams.info('LATER')).state.messages;
    await until('it waits in LATER', async () => (await inLater()) === 1, patient);
    expect(await receivedIn(harness)).toEqual([]);
    // The decisions wait for the database, which this harness does not have.
    await until('only the decisions are in INBOUND', async () => (await harness.waiting()) === 2, patient);
    answerWith(wroteLast);
    const published = await until('it is published', async () => {
      const all = await receivedIn(harness);
      return all.length > 0 && all;
    });
    expect(published.map(({ accountId, keyword }) => [accountId, keyword])).toEqual([[accountB, 'stop']]);
    await until('nothing waits', async () => (await harness.waiting()) === 2 && (await inLater()) === 0, patient);
  });
});
