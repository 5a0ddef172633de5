// Multipart texts: one message with all its words, in whatever form, order and repetition they arrive; and what is
// published when a part never comes.
import { afterEach, describe, expect, test } from 'vitest';
import { carrierWith } from '../../support/carrier-harness.ts';
import { openTestInboundConsumer, receivedIn } from '../../support/inbound-consumer.ts';
import { type InboundHarness, openInboundHarness } from '../../support/inbound-harness.ts';

let harness: InboundHarness;
afterEach(() => harness.stop());

describe('a long message', () => {
  const long = `${'A long complaint about a parcel that never came. '.repeat(9)}End.`;

  test('in every form, over two binds, is one message with all its words', async () => {
    harness = await openInboundHarness();
    await harness.actor(carrierWith(harness.simulator));
    harness.say(long, { as: 'udh', reference: 1 });
    harness.say(long, { as: 'udh8', reference: 1 });
    harness.say(long, { as: 'sar', reference: 1 });
    harness.say(long, { as: 'message_payload' });
    harness.say(long, { as: 'udh', reference: 2, parts: [3, 1, 2] });
    const all = await harness.published(5);
    expect(all.map(({ text }) => text)).toEqual(Array.from({ length: 5 }, () => long));
    expect(all.map(({ segments, parts }) => segments - parts)).toEqual([0, 0, 0, 0, 0]);
    await harness.nothingWaits();
    expect((await receivedIn(harness)).length).toBe(5);
  });

  test('whose parts came twice is one message', async () => {
    harness = await openInboundHarness();
    await harness.actor(carrierWith(harness.simulator));
    harness.say(long, { as: 'udh', reference: 9, parts: [1, 1, 2, 2, 1] });
    harness.say(long, { as: 'udh', reference: 9, parts: [3, 3, 1, 2] });
    await harness.answered(9);
    await harness.published(1);
    await harness.nothingWaits();
    expect((await receivedIn(harness)).map(({ text }) => text)).toEqual([long]);
  });

  test('with a lost part is published with a gap after its wait, and no keyword is read in it', async () => {
    harness = await openInboundHarness({ partsWaitMs: 1_500 });
    await harness.actor(carrierWith(harness.simulator));
    harness.say(long, { as: 'udh', reference: 3, parts: [1, 3] });
    const [one] = await harness.published(1);
    expect(one).toMatchObject({ error: 'incomplete', segments: 3, parts: 2 });
    expect(one?.text).toMatch(/^A long complaint.*\[…\].*End\.$/s);
    harness.say(long, { as: 'udh', reference: 3, parts: [2] });
    await harness.answered(3);
    const all = await harness.published(2);
    expect(all[1]).toMatchObject({ error: 'incomplete', parts: 1 });
  });

  test('is assembled by two inbound consumers at once, each with some of its parts', async () => {
    harness = await openInboundHarness();
    const other = await openTestInboundConsumer(harness);
    await harness.actor(carrierWith(harness.simulator));
    for (let reference = 0; reference < 20; reference += 1)
      harness.say(`${reference} ${long}`, { as: 'udh', reference });
    const all = await harness.published(20);
    await harness.nothingWaits();
    expect((await receivedIn(harness)).length).toBe(20);
    expect(new Set(all.map(({ text }) => text)).size).toBe(20);
    await other.stop();
  });
});
