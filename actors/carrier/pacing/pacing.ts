// Pacing to the carrier's contract, in segments. Messages are chosen at an even rate just under it, and what a late timer
// cost is made up for. PDUs are written as soon as no second of the carrier's own count can hold more than the contract
// (sliding-window.ts): also when intents come back in a burst, after an idle night or a stalled event loop. When the
// carrier says "too fast", the rate falls (throttle-backoff.ts). It never decides which message goes.
import type { Pace } from '../../../cluster/operator-commands/contract.ts';
import type { CarrierConfig } from '../../../config/configuration.ts';
import { SlidingWindow } from './sliding-window.ts';
import { ThrottleBackoff } from './throttle-backoff.ts';

/** All times are monotonic. */
export type Pacing = {
  /**
   * Takes the tokens of `segments` when they are due; false otherwise. `chosen` have theirs and are not written yet, and
   * `kept` more must find room after them.
   */
  take(segments: number, nowMs: number, chosen: number, kept?: number): boolean;
  /** How long until `segments` may be taken; 0 says that take() will grant them. */
  waitMs(segments: number, nowMs: number, chosen: number, kept?: number): number;
  /** The smoothed time from a token to a PDU that may be written, in milliseconds. */
  intentTook(tookMs: number): void;
  /** How long until a PDU of `segments` may be written; 0 says now. */
  writeWaitMs(segments: number, nowMs: number): number;
  /** It was written to a bind. Gives the number under which its answer is told. */
  written(segments: number, bind: number, nowMs: number): number;
  /** The carrier answered it. */
  answered(pdu: WrittenPdu, nowMs: number): void;
  /** Nobody will answer it any more. */
  unanswered(pdu: WrittenPdu, nowMs: number): void;
  /** Nothing goes before this moment: what a throttled carrier asks for. */
  pauseUntil(atMs: number): void;
  /** The carrier was throttled or full: `by` is what it said. */
  slowDown(nowMs: number, by?: string): void;
  /** Segments chosen per second right now, the contract's own share included. */
  ratePerS(nowMs: number): number;
  /** The same beside the contract, and what slowed it; empty while it goes at its whole rate. */
  pace(nowMs: number): Pace;
  /** Another contract from now on: a share of one need not be whole, and 0 lets nothing go. */
  setContract(segmentsPerSecond: number): void;
};

export type WrittenPdu = { readonly number: number; readonly bind: number; readonly writtenAtMs: number };

/** The rate messages are chosen at; the rest is for making up. */
export const shareOfContract = 0.99;
/** Lost time that is made up for: late timers, collections, a bus that took its time. What a longer stall cost is lost. */
const madeUpMs = 200;
/** What comes at once is written at this rate, but for as much as a late timer gathers. */
const spreadShare = 1.25;
const lumpMs = 20;

/** What the contract allows: segments per second over all its binds. */
export function contractOf({ tps, tpsScope, binds }: Pick<CarrierConfig, 'tps' | 'tpsScope' | 'binds'>): number {
  if (tpsScope !== 'bind') return tps;
  return tps * binds.filter((bind) => bind.type !== 'receiver').reduce((sum, bind) => sum + bind.count, 0);
}

export function pacing(segmentsPerSecond: number): Pacing {
  const slidingWindow = new SlidingWindow(segmentsPerSecond);
  const slow = new ThrottleBackoff(segmentsPerSecond * shareOfContract);
  const lead = leadTime();
  let contract = segmentsPerSecond;
  // When the next one is due, as GCRA's theoretical arrival times: to be chosen, and to be written.
  let chooseAtMs = Number.NEGATIVE_INFINITY;
  let writeAtMs = Number.NEGATIVE_INFINITY;

  const spreadMs = (segments: number) => (segments * 1_000) / (contract * spreadShare);

  /** Not so early that it would have to wait for its PDUs, with later and more urgent ones behind it. */
  function dueAtMs(segments: number, nowMs: number, chosen: number, kept: number): number {
    if (contract === 0) return Number.POSITIVE_INFINITY;
    const writtenAtMs = Math.max(
      slidingWindow.availableAtMs(segments, nowMs, chosen + kept),
      writeAtMs + spreadMs(chosen),
    );
    return Math.max(chooseAtMs, writtenAtMs - lead.ms());
  }

  return {
    take(segments, nowMs, chosen, kept = 0) {
      if (nowMs < dueAtMs(segments, nowMs, chosen, kept)) return false;
      chooseAtMs = Math.max(chooseAtMs, nowMs - madeUpMs) + (segments * 1_000) / slow.ratePerS(nowMs);
      return true;
    },
    waitMs: (segments, nowMs, chosen, kept = 0) => Math.max(0, dueAtMs(segments, nowMs, chosen, kept) - nowMs),
    intentTook: lead.learn,
    writeWaitMs: (segments, nowMs) =>
      Math.max(0, Math.max(writeAtMs, slidingWindow.availableAtMs(segments, nowMs)) - nowMs),
    written(segments, bind, nowMs) {
      writeAtMs = Math.max(writeAtMs, nowMs - lumpMs) + (contract === 0 ? 0 : spreadMs(segments));
      return slidingWindow.written(segments, bind, nowMs);
    },
    answered({ number, bind, writtenAtMs }, nowMs) {
      slow.answered(nowMs);
      slidingWindow.answered(number, bind, writtenAtMs, nowMs);
    },
    unanswered: ({ number, bind }, nowMs) => slidingWindow.unanswered(number, bind, nowMs),
    pauseUntil(atMs) {
      chooseAtMs = Math.max(chooseAtMs, atMs);
      writeAtMs = Math.max(writeAtMs, atMs);
    },
    slowDown(nowMs, by) {
      slow.onThrottled(nowMs, by);
      slidingWindow.distrust(nowMs);
    },
    ratePerS: (nowMs) => slow.ratePerS(nowMs),
    pace: (nowMs) => ({ perS: slow.ratePerS(nowMs), ofPerS: contract, slowedBy: slow.by(nowMs) }),
    setContract(perSecond) {
      contract = perSecond;
      slow.setFull(perSecond * shareOfContract);
      slidingWindow.resize(perSecond);
    },
  };
}

const leadMostMs = 100;
const leadGain = 1 / 32;

/** How long an intent takes to be durable, at most as a rule: so much before its PDU may go, a message is chosen. */
function leadTime() {
  let meanMs = 5;
  let deviationMs = 0;
  return {
    ms: () => Math.min(leadMostMs, meanMs + 4 * deviationMs),
    learn(tookMs: number): void {
      const countsMs = Math.min(tookMs, leadMostMs);
      deviationMs += (Math.abs(countsMs - meanMs) - deviationMs) * leadGain;
      meanMs += (countsMs - meanMs) * leadGain;
    },
  };
}
