// What a test waits for happens or does not; when, is up to the machine, which may be busy. Where the time is what is
// tested, the test says so by `limitMs`.
import { until as untilWithin } from '../../platform/deadline.ts';

/** How long a test waits for what must happen, in ms; half of the time limit of a test (vitest.config.ts). */
export const patienceMs = 60_000;

/** `until` of platform/deadline.ts with the patience of a test. Throws DeadlineExceeded. */
export const until: typeof untilWithin = (what, condition, options) =>
  untilWithin(what, condition, { limitMs: patienceMs, ...options });
