// How long a stop of carriers may take: as long as the slowest of them may take to answer what is out, so that a clean
// restart leaves nothing `unknown`, and never longer than the operator allows. Pure.
import { assert } from '../platform/assert.ts';
import { limits } from '../platform/limits.ts';
import type { CarrierConfig, LimitsConfig } from './configuration.ts';

type Timed = Pick<CarrierConfig, 'responseTimerMs'>;

const { drainMs, drainSteps, carriersDrainMsMax } = limits.supervision;

/** One carrier: all steps of its drain, with the whole response timer for what was just written. */
export function carrierDrainMs({ responseTimerMs }: Timed): number {
  const { writeMs, answerMarginMs, eventsMs } = drainSteps;
  return writeMs + responseTimerMs + answerMarginMs + eventsMs;
}

/** The process that has these carriers. */
export function actorsDrainMs(configuration: {
  readonly carriers: readonly Timed[];
  readonly limits: Pick<LimitsConfig, 'drainMsMax'>;
}): number {
  const longestMs = Math.max(0, ...configuration.carriers.map(carrierDrainMs));
  return Math.min(configuration.limits.drainMsMax, Math.max(drainMs, longestMs + drainSteps.closeMs));
}

/** `response_timer_s` may be as long as this (schema.ts). */
export const responseTimerSMax = 60;

assert(
  carrierDrainMs({ responseTimerMs: responseTimerSMax * 1_000 }) + drainSteps.closeMs <= carriersDrainMsMax,
  'a drain could end before the last submit had its chance of an answer',
);
