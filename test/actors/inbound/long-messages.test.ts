// Texts that come in parts: one message with all its words, whatever form, order and repeats they come in; and what is
// told when a part never comes.
import { afterEach, describe, expect, test } from 'vitest';
import { carrierWith } from '../../support/carrier-house.ts';
import { openTestDesk, receivedIn } from '../../support/inbound-desk.ts';
import { type InboundHouse, openInboundHouse } from '../../support/inbound-house.ts';

let house: InboundHouse;
afterEach(() => house.stop());

describe('a long message', () => {
  const long = `${'A long complaint about a parcel that never came. '.repeat(9)}End.`;

  test('in every form, over two binds, is one message with all its words', async () => {
    house = await openInboundHouse();
    await house.actor(carrierWith(house.simulator));
    house.say(long, { as: 'udh', reference: 1 });
    house.say(long, { as: 'udh8', reference: 1 });
    house.say(long, { as: 'sar', reference: 1 });
    house.say(long, { as: 'message_payload' });
    house.say(long, { as: 'udh', reference: 2, parts: [3, 1, 2] });
    const all = await house.told(5);
    expect(all.map(({ text }) => text)).toEqual(Array.from({ length: 5 }, () => long));
    expect(all.map(({ segments, parts }) => segments - parts)).toEqual([0, 0, 0, 0, 0]);
    await house.nothingWaits();
    expect((await receivedIn(house)).length).toBe(5);
  });

  test('whose parts came twice is one message', async () => {
    house = await openInboundHouse();
    await house.actor(carrierWith(house.simulator));
    house.say(long, { as: 'udh', reference: 9, parts: [1, 1, 2, 2, 1] });
    house.say(long, { as: 'udh', reference: 9, parts: [3, 3, 1, 2] });
    await house.answered(9);
    await house.told(1);
    await house.nothingWaits();
    expect((await receivedIn(house)).map(({ text }) => text)).toEqual([long]);
  });

  test('of which a part is lost is told with a gap when it was waited for, and no keyword is read in it', async () => {
    house = await openInboundHouse({ partsWaitMs: 1_500 });
    await house.actor(carrierWith(house.simulator));
    house.say(long, { as: 'udh', reference: 3, parts: [1, 3] });
    const [one] = await house.told(1);
    expect(one).toMatchObject({ error: 'incomplete', segments: 3, parts: 2 });
    expect(one?.text).toMatch(/^A long complaint.*\[…\].*End\.$/s);
    house.say(long, { as: 'udh', reference: 3, parts: [2] });
    await house.answered(3);
    const all = await house.told(2);
    expect(all[1]).toMatchObject({ error: 'incomplete', parts: 1 });
  }, 30_000);

  test('is put together by two desks at once, each with some of its parts', async () => {
    house = await openInboundHouse();
    const other = await openTestDesk(house);
    await house.actor(carrierWith(house.simulator));
    for (let reference = 0; reference < 20; reference += 1) house.say(`${reference} ${long}`, { as: 'udh', reference });
    const all = await house.told(20);
    await house.nothingWaits();
    expect((await receivedIn(house)).length).toBe(20);
    expect(new Set(all.map(({ text }) => text)).size).toBe(20);
    await other.stop();
  }, 30_000);
});
