// Pacing to the carrier's contract, as GCRA: one number, the theoretical arrival time of the next segment.
// There is no bucket that could fill up and burst: after an idle night or a stalled event loop the next second
// still carries no more than the contract. It counts segments, and it never decides which message goes.

export type Pacing = {
  /** Takes `segments` tokens when the next one is due at `nowMs` (monotonic); false otherwise. */
  take(segments: number, nowMs: number): boolean;
  /** How long until the next token is due. */
  waitMs(nowMs: number): number;
  /** No tokens before this moment: what a throttled carrier asks for. */
  pauseUntil(atMs: number): void;
};

/** Below the contract, because the carrier's counter and our clock do not start their seconds together. */
const shareOfContract = 0.975;
/** How early a segment may go: late timers are made up for, but two segments at 10 per second are not. */
const toleranceMs = 10;

export function pacing(segmentsPerSecond: number): Pacing {
  const intervalMs = 1_000 / (segmentsPerSecond * shareOfContract);
  let dueMs = Number.NEGATIVE_INFINITY;
  return {
    take(segments, nowMs) {
      if (nowMs < dueMs - toleranceMs) return false;
      dueMs = Math.max(dueMs, nowMs) + segments * intervalMs;
      return true;
    },
    waitMs: (nowMs) => Math.max(0, dueMs - toleranceMs - nowMs),
    pauseUntil(atMs) {
      dueMs = Math.max(dueMs, atMs + toleranceMs);
    },
  };
}
