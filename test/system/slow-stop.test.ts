// A proper stop of the whole system while its carriers take eight seconds to answer: every answer is waited for.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../platform/deadline.ts';
import { nothingWrong, settledReckoning } from '../support/reckoning.ts';
import { sendTraffic } from '../support/traffic.ts';
import { type WholeHouse, openWholeHouse } from '../support/whole-house.ts';

let house: WholeHouse;

beforeAll(async () => {
  house = await openWholeHouse({
    responseMs: 'fixed:8000',
    receiptMs: 'fixed:200',
    configured: (yaml) => yaml.replaceAll('enquire_link_s: 2', 'enquire_link_s: 2\n    response_timer_s: 60'),
  });
});
afterAll(() => house?.stop());

it('carriers that answer after eight seconds: a clean restart leaves nothing unknown', {
  timeout: 120_000,
}, async () => {
  const promised = await sendTraffic(house.client, { ratePerSecond: 30, seconds: 1, seed: 24 });
  await until('some of it is out and not answered', () => house.farEnds.taken() >= 20);
  expect(await house.system.stop()).toBe(0);
  await house.startAgain();
  const reckoning = await settledReckoning(house, promised);
  expect(reckoning).toEqual({ ...nothingWrong, statuses: { delivered: promised.length } });
  expect(await house.system.stop()).toBe(0);
});
