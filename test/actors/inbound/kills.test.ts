// kill -9 of the actors process that takes and tells what subscribers write: nothing is lost and nothing is told twice.
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../../platform/deadline.ts';
import { carrierWith } from '../../support/carrier-house.ts';
import { receivedIn } from '../../support/inbound-desk.ts';
import { type SubscribersHouse, openSubscribersHouse, patient } from '../../support/inbound-house.ts';

let house: SubscribersHouse;
afterEach(() => house.stop());

test('through kill -9 of the actors under load every message is told, and none of them twice', async () => {
  house = await openSubscribersHouse();
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
  await house.answered(count);
  await house.nothingWaits();
  const all = await receivedIn(house);
  expect(all.length).toBe(count);
  expect(new Set(all.map(({ text }) => text))).toEqual(new Set(words));
  await child.drain(2_000);
}, 60_000);

const long = `${'A long complaint about a parcel that never came. '.repeat(9)}End.`;

test('a long message survives kill -9 of whoever takes it, between its parts and after them', async () => {
  house = await openSubscribersHouse();
  const first = await house.host([carrierWith(house.simulator)]);
  house.say(long, { as: 'udh', reference: 5, parts: [2] });
  await house.answered(1);
  await first.kill9();
  const second = await house.host([carrierWith(house.simulator)]);
  house.say(long, { as: 'udh', reference: 5, parts: [3] });
  await house.answered(2);
  await second.kill9();
  // Nobody serves the carrier: what comes now waits there.
  house.say(long, { as: 'udh', reference: 5, parts: [1, 2] });
  const third = await house.host([carrierWith(house.simulator)]);
  const all = await house.told(1);
  expect(all.map(({ text }) => text)).toEqual([long]);
  await house.nothingWaits();
  expect((await receivedIn(house)).length).toBe(1);
  await third.drain(2_000);
}, 60_000);
