// How long the drain of carriers may take: as long as the slowest carrier's responses, so that a clean restart leaves
// no message `unknown`, within the operator's bound. Pure.
import { assert } from '../platform/assert.ts';
import { limits } from '../platform/limits.ts';

type Timed = { readonly responseTimerMs: number };

const { drainMs, drainSteps, carriersDrainMsMax } = limits.supervision;

/** Milliseconds for one carrier: all steps of its drain, with the whole response timer for what was just written. */
export function carrierDrainMs({ responseTimerMs }: Timed): number {
  const { writeMs, answerMarginMs, eventsMs } = drainSteps;
  return writeMs + responseTimerMs + answerMarginMs + eventsMs;
}

/** Milliseconds for the process that has these carriers. */
export function actorsDrainMs(configuration: {
  readonly carriers: readonly Timed[];
  readonly limits: { readonly drainMsMax: number };
}): number {
  const longestMs = Math.max(0, ...configuration.carriers.map(carrierDrainMs));
  return Math.min(configuration.limits.drainMsMax, Math.max(drainMs, longestMs + drainSteps.closeMs));
}

/** The maximum of `response_timer_s` (schema.ts). */
export const responseTimerSMax = 60;

assert(
  carrierDrainMs({ responseTimerMs: responseTimerSMax * 1_000 }) + drainSteps.closeMs <= carriersDrainMsMax,
  'a drain could end before the response timer of the last submit',
);
