// kill -9 of the actors process that takes and publishes subscribers' messages: nothing is lost and nothing is
// published twice.
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { carrierWith } from '../../support/carrier-harness.ts';
import { receivedIn } from '../../support/inbound-consumer.ts';
import { type SubscribersHarness, openSubscribersHarness, patient } from '../../support/inbound-harness.ts';

let harness: SubscribersHarness;
afterEach(() => harness.stop());

test('through kill -9 of the actors under load every message is published, and none of them twice', async () => {
  harness = await openSubscribersHarness();
  let child = await harness.host([carrierWith(harness.simulator)]);
  const count = 600;
  const words = Array.from({ length: count }, (_, nth) => `message ${nth}`);
  const saying = (async () => {
    for (const [nth, text] of words.entries()) {
      harness.simulator.sendInbound({ from: `+88017${10_000_000 + nth}`, to: '16000', text });
      if (nth % 10 === 9) await systemClock.sleep(20);
    }
  })();
  for (let kills = 1; kills <= 2; kills += 1) {
    await until('some are answered', () => harness.simulator.stats().inbound.acked >= kills * 100, patient);
    await child.kill9();
    child = await harness.host([carrierWith(harness.simulator)]);
  }
  await saying;
  await harness.answered(count);
  await harness.nothingWaits();
  const all = await receivedIn(harness);
  expect(all.length).toBe(count);
  expect(new Set(all.map(({ text }) => text))).toEqual(new Set(words));
  await child.drain(2_000);
});

const long = `${'A long complaint about a parcel that never came. '.repeat(9)}End.`;

test('a long message survives kill -9 of its consumer, between its parts and after them', async () => {
  harness = await openSubscribersHarness();
  const first = await harness.host([carrierWith(harness.simulator)]);
  harness.say(long, { as: 'udh', reference: 5, parts: [2] });
  await harness.answered(1);
  await first.kill9();
  const second = await harness.host([carrierWith(harness.simulator)]);
  harness.say(long, { as: 'udh', reference: 5, parts: [3] });
  await harness.answered(2);
  await second.kill9();
  // The carrier is not served: what comes now waits there.
  harness.say(long, { as: 'udh', reference: 5, parts: [1, 2] });
  const third = await harness.host([carrierWith(harness.simulator)]);
  const all = await harness.published(1);
  expect(all.map(({ text }) => text)).toEqual([long]);
  await harness.nothingWaits();
  expect((await receivedIn(harness)).length).toBe(1);
  await third.drain(2_000);
});
