// The system's clock for a bound that is promised, less the stalls of the machine: what did not run at all breaks no
// promise. It learns of a stall because whoever waits by it (until) asks it all the time.
import { type Clock, systemClock } from '../../platform/clock.ts';

/** So much of a time in which nobody asked counts: more than any turn of our own loop takes. */
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
