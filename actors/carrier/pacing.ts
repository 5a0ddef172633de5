// Pacing to the carrier's contract, as GCRA: one number, the theoretical arrival time of the next segment. What a
// late timer cost is made up for, but no second, wherever it begins, carries more than the contract (last-second.ts),
// also after an idle night or a stalled event loop. When the carrier says "too fast", the rate is halved and comes back by
// a twentieth of the contract for every clean second. It counts segments, and it never decides which message goes.
import { LastSecond } from './last-second.ts';

export type Pacing = {
  /** Takes `segments` tokens when the next one is due at `nowMs` (monotonic); false otherwise. */
  take(segments: number, nowMs: number): boolean;
  /** How long until `segments` may be taken; 0 says that take() will grant them. */
  waitMs(nowMs: number, segments: number): number;
  /** No tokens before this moment: what a throttled carrier asks for. */
  pauseUntil(atMs: number): void;
  /** The carrier was throttled or full: half of the present rate, once for each second of complaints. */
  slowDown(nowMs: number): void;
  /** Segments per second right now, the contract's own share included. */
  ratePerS(nowMs: number): number;
  /** Another contract from now on. */
  setContract(segmentsPerSecond: number): void;
};

/** As near to the contract as the jitter that is allowed for lets us: 0.975 × 1,025 ms = 0.9994 of it. */
export const shareOfContract = 0.975;
/**
 * Lost time that is made up for: late timers. Longer stalls are lost on purpose: measured on a busy machine, making up
 * 200 ms keeps every second at the very edge, and the first late arrival is throttled.
 */
const madeUpMs = 10;
/** What was in flight when the first complaint came may complain too: that is one complaint. */
const complaintMs = 1_000;
const recoveryShare = 0.05;
const floorPerS = 1;

export function pacing(segmentsPerSecond: number): Pacing {
  const lastSecond = new LastSecond(segmentsPerSecond);
  let fullPerS = segmentsPerSecond * shareOfContract;
  let dueMs = Number.NEGATIVE_INFINITY;
  /** The rate right after the last cut; it grows from there by the clean seconds since. Null: the whole contract. */
  let cut: { readonly perS: number; readonly atMs: number; lastComplaintMs: number } | null = null;

  function rateAt(nowMs: number): number {
    if (cut === null) return fullPerS;
    const cleanSeconds = Math.max(0, Math.floor((nowMs - cut.lastComplaintMs) / 1_000));
    const perS = Math.max(Math.min(floorPerS, fullPerS), cut.perS + cleanSeconds * recoveryShare * fullPerS);
    if (perS < fullPerS) return perS;
    cut = null;
    return fullPerS;
  }

  const earliestMs = (segments: number) => Math.max(dueMs, lastSecond.roomAtMs(segments));

  return {
    take(segments, nowMs) {
      if (nowMs < earliestMs(segments)) return false;
      dueMs = Math.max(dueMs, nowMs - madeUpMs) + (segments * 1_000) / rateAt(nowMs);
      lastSecond.add(segments, nowMs);
      return true;
    },
    waitMs: (nowMs, segments) => Math.max(0, earliestMs(segments) - nowMs),
    pauseUntil(atMs) {
      dueMs = Math.max(dueMs, atMs);
    },
    slowDown(nowMs) {
      if (cut !== null && nowMs - cut.atMs < complaintMs) {
        cut.lastComplaintMs = nowMs;
        return;
      }
      cut = { perS: Math.max(floorPerS, rateAt(nowMs) / 2), atMs: nowMs, lastComplaintMs: nowMs };
    },
    ratePerS: rateAt,
    setContract(perSecond) {
      const nextPerS = perSecond * shareOfContract;
      if (cut !== null) cut = { ...cut, perS: Math.min(cut.perS, nextPerS) };
      fullPerS = nextPerS;
      lastSecond.resize(perSecond);
    },
  };
}
