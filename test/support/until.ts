// How tests wait. What must happen gets a minute, because a busy machine is slow. A test whose subject is the time gives
// `limitMs`, or `within(…)` of running-clock.ts.
import { until as untilWithin } from '../../platform/deadline.ts';

/** How long a test waits for what must happen, in ms; half of the time limit of a test (vitest.config.ts). */
export const patienceMs = 60_000;

/** `until` of platform/deadline.ts, with that limit unless the test gives another. Throws DeadlineExceeded. */
export const until: typeof untilWithin = (what, condition, options) =>
  untilWithin(what, condition, { limitMs: patienceMs, ...options });
