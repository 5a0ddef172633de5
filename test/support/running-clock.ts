// The system's clock for a promised bound, less the stalls of the machine. It detects a stall because its user (until)
// reads it all the time.
import { type Clock, systemClock } from '../../platform/clock.ts';

/** A longer gap between reads is a stall: more than any turn of our own loop takes. */
const unaskedMsMax = 200;

/** For `until`: within so much time of a machine that runs. */
export const within = (limitMs: number) => ({ limitMs, clock: runningClock() });

export function runningClock(): Clock {
  let [ranMs, askedAtMs] = [0, systemClock.monotonicMs()];
  return {
    ...systemClock,
    monotonicMs() {
      const nowMs = systemClock.monotonicMs();
      ranMs += Math.min(nowMs - askedAtMs, unaskedMsMax);
      askedAtMs = nowMs;
      return ranMs;
    },
  };
}
