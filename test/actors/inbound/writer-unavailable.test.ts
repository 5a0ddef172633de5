// Whose a message to a number of several accounts is, only the event store can say. While it is away, behind or busy the
// message waits, and is told to nobody; what the subscriber decided is in force meanwhile.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FindWriterReply, querySubjects } from '../../../analytics/contract.ts';
import { until } from '../../../platform/deadline.ts';
import { carrierWith } from '../../support/carrier-house.ts';
import { accountA, accountB, receivedIn } from '../../support/inbound-desk.ts';
import { type InboundHouse, openInboundHouse, patient } from '../../support/inbound-house.ts';

let house: InboundHouse;
beforeEach(async () => {
  house = await openInboundHouse();
  await house.desk.putAccount(accountB, ['16000']);
  await until('both accounts are known', () => house.desk.directory.ownersOf('16000').length === 2);
  await house.actor(carrierWith(house.simulator));
});
afterEach(() => house.stop());

/** An event store that answers with these, one after the other, and then with the last. */
function answerWith(...replies: FindWriterReply[]): () => number {
  let asked = 0;
  house.bus.connection.subscribe(querySubjects.findWriter, {
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
  test('waits while the event store is behind, and is told once, to the one that wrote last', async () => {
    const asked = answerWith(behind, behind, wroteLast);
    house.say('Where is my order?');
    const [one] = await house.told(1);
    expect(one?.accountId).toBe(accountB);
    expect(asked()).toBe(3);
    await house.nothingWaits();
    expect((await receivedIn(house)).length).toBe(1);
  });

  test('waits in LATER while nobody answers, where it holds up nobody, and STOP is in force at once', async () => {
    house.say('STOP');
    await until('STOP is in force for both', () => house.suppressed(accountA) && house.suppressed(accountB), patient);
    const inLater = async () => (await house.bus.manager.streams.info('LATER')).state.messages;
    await until('it waits in LATER', async () => (await inLater()) === 1, patient);
    expect(await receivedIn(house)).toEqual([]);
    // The decisions wait for the database, which this house does not have.
    await until('only the decisions are in INBOUND', async () => (await house.waiting()) === 2, patient);
    answerWith(wroteLast);
    const told = await until(
      'it is told',
      async () => {
        const all = await receivedIn(house);
        return all.length > 0 && all;
      },
      { limitMs: 40_000 },
    );
    expect(told.map(({ accountId, keyword }) => [accountId, keyword])).toEqual([[accountB, 'stop']]);
    await until('nothing waits', async () => (await house.waiting()) === 2 && (await inLater()) === 0, patient);
  }, 90_000);
});
