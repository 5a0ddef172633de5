// A wall clock that steps by an hour in either direction while messages flow (fault 34): pacing and ack deadlines use
// monotonic time, so the contract holds, nothing waits for the hour to pass, and nothing is sent twice.
import { afterEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const hourMs = 3_600_000;

test('a wall clock that steps an hour forward and two back changes neither rate nor order', async () => {
  harness = await openCarrierHarness({ response: 'fixed:5' });
  let stepMs = 0;
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + stepMs };
  await harness.actor(carrierWith(harness.simulator, { tps: 100 }), clock);
  const sent = await harness.send(300, { category: 'otp', validUntilMs: systemClock.nowMs() + 10 * hourMs });
  const submits = () => harness.simulator.stats().submits.total;
  await until('under way', () => submits() >= 60, { everyMs: 5 });
  stepMs = hourMs;
  await until('it goes on', () => submits() >= 160, { everyMs: 5 });
  stepMs = -hourMs;
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 300 } });
  expect(harness.simulator.stats().submits.peakPerS).toBeLessThanOrEqual(100);
});
