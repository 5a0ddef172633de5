// Pacing to the carrier's contract, as GCRA: one number, the theoretical arrival time of the next segment.
// There is no bucket that could fill up and burst: after an idle night or a stalled event loop the next second
// still carries no more than the contract. When the carrier says "too fast", the rate is halved and comes back by
// a twentieth of the contract for every clean second. It counts segments, and it never decides which message goes.

export type Pacing = {
  /** Takes `segments` tokens when the next one is due at `nowMs` (monotonic); false otherwise. */
  take(segments: number, nowMs: number): boolean;
  /** How long until the next token is due. */
  waitMs(nowMs: number): number;
  /** No tokens before this moment: what a throttled carrier asks for. */
  pauseUntil(atMs: number): void;
  /** The carrier was throttled or full: half of the present rate, once for each second of complaints. */
  slowDown(nowMs: number): void;
  /** Segments per second right now, the contract's own share included. */
  ratePerS(nowMs: number): number;
  /** Another contract from now on. */
  setContract(segmentsPerSecond: number): void;
};

/** Below the contract, because the carrier's counter and our clock do not start their seconds together. */
const shareOfContract = 0.975;
/** How early a segment may go: late timers are made up for, but two segments at 10 per second are not. */
const toleranceMs = 10;
/** What was in flight when the first complaint came may complain too: that is one complaint. */
const complaintMs = 1_000;
const recoveryShare = 0.05;
const floorPerS = 1;

export function pacing(segmentsPerSecond: number): Pacing {
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

  return {
    take(segments, nowMs) {
      if (nowMs < dueMs - toleranceMs) return false;
      dueMs = Math.max(dueMs, nowMs) + (segments * 1_000) / rateAt(nowMs);
      return true;
    },
    waitMs: (nowMs) => Math.max(0, dueMs - toleranceMs - nowMs),
    pauseUntil(atMs) {
      dueMs = Math.max(dueMs, atMs + toleranceMs);
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
    },
  };
}
