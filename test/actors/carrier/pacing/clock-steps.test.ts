// A wall clock that steps by an hour in either direction while messages flow (fault 34): pacing and holds live by
// monotonic time, so the contract holds, nothing waits for the hour to pass, and nothing is sent twice.
import { afterEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../../platform/deadline.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../../support/carrier-house.ts';

let house: CarrierHouse;
afterEach(() => house.stop());

const hourMs = 3_600_000;

test('a wall clock that steps an hour forward and two back changes neither the rate nor the order of anything', async () => {
  house = await openCarrierHouse({ response: 'fixed:5' });
  let stepMs = 0;
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + stepMs };
  await house.actor(carrierWith(house.simulator, { tps: 100 }), clock);
  const sent = await house.send(300, { category: 'otp', validUntilMs: systemClock.nowMs() + 10 * hourMs });
  const submits = () => house.simulator.stats().submits.total;
  await until('under way', () => submits() >= 60, { everyMs: 5 });
  stepMs = hourMs;
  await until('it goes on', () => submits() >= 160, { everyMs: 5 });
  stepMs = -hourMs;
  expect(await house.settled(sent, 25_000)).toMatchObject({ twice: [], never: [], statuses: { delivered: 300 } });
  expect(house.simulator.stats().submits.peakPerS).toBeLessThanOrEqual(100);
});
