// The pacing of a carrier as the settlement changes it, with a note for each change: a lower rate, the begin of a
// pause.
import type { Clock } from '../../platform/clock.ts';
import type { Pacing } from '../carrier/pacing/pacing.ts';
import type { DecisionRing } from './decision-ring.ts';

type Pace = Pick<Pacing, 'pauseUntil' | 'slowDown'>;

export function watchPacing(pace: Pace & Pick<Pacing, 'ratePerS'>, decided: DecisionRing, clock: Clock): Pace {
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  return {
    pauseUntil(atMs) {
      pace.pauseUntil(atMs);
      const nowMs = clock.monotonicMs();
      // Every answer of a burst asks for the same rest.
      if (nowMs >= pausedUntilMs) decided.note('pace', `paused for ${Math.round(atMs - nowMs)} ms`);
      pausedUntilMs = Math.max(pausedUntilMs, atMs);
    },
    slowDown(nowMs, by) {
      const before = pace.ratePerS(nowMs);
      pace.slowDown(nowMs, by);
      const after = pace.ratePerS(nowMs);
      if (after < before)
        decided.note('pace', `cut from ${before.toFixed(1)} to ${after.toFixed(1)} segments a second`);
    },
  };
}
