// How long a stop of the carriers may take: both sides of each bound.
import { expect, test } from 'vitest';
import { actorsDrainMs, carrierDrainMs, responseTimerSMax } from '../../config/drain-times.ts';
import { limits } from '../../platform/limits.ts';

const { drainMs, drainSteps, carriersDrainMsMax } = limits.supervision;
const steps = drainSteps.writeMs + drainSteps.answerMarginMs + drainSteps.eventsMs;
const timed = (...seconds: number[]) => seconds.map((each) => ({ responseTimerMs: each * 1_000 }));

test('a carrier has its whole response timer for what was written last, besides the other steps', () => {
  expect(carrierDrainMs({ responseTimerMs: 8_000 })).toBe(8_000 + steps);
});

test('a process has the time of its slowest carrier, no less than any child and no more than the operator allows', () => {
  const allowing = (drainMsMax: number, ...seconds: number[]) =>
    actorsDrainMs({ carriers: timed(...seconds), limits: { drainMsMax } });
  expect(allowing(carriersDrainMsMax, 10, 60, 20)).toBe(60_000 + steps + drainSteps.closeMs);
  expect(allowing(carriersDrainMsMax, 1)).toBe(drainMs);
  expect(allowing(carriersDrainMsMax)).toBe(drainMs);
  expect(allowing(30_000, 60)).toBe(30_000);
  expect(allowing(5_000, 1)).toBe(5_000);
});

test("without an operator's setting the longest response timer has its time", () => {
  const longest = { carriers: timed(responseTimerSMax), limits: { drainMsMax: carriersDrainMsMax } };
  expect(actorsDrainMs(longest)).toBeGreaterThanOrEqual(responseTimerSMax * 1_000 + steps);
});
