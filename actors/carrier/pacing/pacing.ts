// Paces to the carrier's contract, in segments. Messages are chosen at an even rate just under it, and the loss of a
// late timer is made up. PDUs are written when no second of the carrier's own count can exceed the contract
// (sliding-window.ts), also when intents return in a burst or after a stalled event loop. When the carrier throttles,
// the rate falls (throttle-backoff.ts).
import type { Pace } from '../../../cluster/operator-commands/contract.ts';
import type { CarrierConfig } from '../../../config/configuration.ts';
import { limits } from '../../../platform/limits.ts';
import { SlidingWindow } from './sliding-window.ts';
import { ThrottleBackoff } from './throttle-backoff.ts';

export type Pacing = ReturnType<typeof pacing>;

export type WrittenPdu = { readonly number: number; readonly bind: number; readonly writtenAtMs: number };

/** The rate messages are chosen at; the rest is for making up. */
export const shareOfContract = 0.99;
/** How much lost time is made up (late timers, garbage collection, a slow bus), ms. A longer stall is lost. */
const madeUpMs = 200;
/** A burst is written at this rate, beyond what a late timer accumulates. */
const spreadShare = 1.25;
const lumpMs = 20;

/** The contract: segments per second over all its binds. */
export function contractOf({ tps, tpsScope, binds }: Pick<CarrierConfig, 'tps' | 'tpsScope' | 'binds'>): number {
  if (tpsScope !== 'bind') return tps;
  return tps * binds.filter((bind) => bind.type !== 'receiver').reduce((sum, bind) => sum + bind.count, 0);
}

/** All times are monotonic. */
export function pacing(segmentsPerSecond: number) {
  const slidingWindow = new SlidingWindow(segmentsPerSecond);
  const slow = new ThrottleBackoff(segmentsPerSecond * shareOfContract);
  const lead = leadTime();
  let contract = segmentsPerSecond;
  // When the next one is due to be chosen and to be written: GCRA's theoretical arrival times.
  let chooseAtMs = Number.NEGATIVE_INFINITY;
  let writeAtMs = Number.NEGATIVE_INFINITY;

  const spreadMs = (segments: number) => (segments * 1_000) / (contract * spreadShare);

  /** Not so early that its PDUs would have to wait, ahead of later and more urgent ones. */
  function dueAtMs(segments: number, nowMs: number, chosen: number, kept: number): number {
    if (contract === 0) return Number.POSITIVE_INFINITY;
    const writtenAtMs = Math.max(
      slidingWindow.availableAtMs(segments, nowMs, chosen + kept),
      writeAtMs + spreadMs(chosen),
    );
    return Math.max(chooseAtMs, writtenAtMs - lead.ms());
  }

  return {
    /**
     * Takes the tokens of `segments` when they are due; false otherwise. `chosen` segments have theirs and are not
     * written yet, and `kept` more must fit after them.
     */
    take(segments: number, nowMs: number, chosen: number, kept = 0): boolean {
      if (nowMs < dueAtMs(segments, nowMs, chosen, kept)) return false;
      chooseAtMs = Math.max(chooseAtMs, nowMs - madeUpMs) + (segments * 1_000) / slow.ratePerS(nowMs);
      return true;
    },
    /** How long until `segments` may be taken, ms; 0: take() will grant them. */
    waitMs: (segments: number, nowMs: number, chosen: number, kept = 0): number =>
      Math.max(0, dueAtMs(segments, nowMs, chosen, kept) - nowMs),
    /** Reports a time from token to writable PDU, which is smoothed, ms. */
    intentTook: lead.learn,
    /** How long until a PDU of `segments` may be written, ms; 0: now. */
    writeWaitMs: (segments: number, nowMs: number): number =>
      Math.max(0, Math.max(writeAtMs, slidingWindow.availableAtMs(segments, nowMs)) - nowMs),
    /** It was written to a bind. Returns the number that its answer is reported with. */
    written(segments: number, bind: number, nowMs: number): number {
      writeAtMs = Math.max(writeAtMs, nowMs - lumpMs) + (contract === 0 ? 0 : spreadMs(segments));
      return slidingWindow.written(segments, bind, nowMs);
    },
    answered({ number, bind, writtenAtMs }: WrittenPdu, nowMs: number): void {
      slow.answered(nowMs);
      slidingWindow.answered(number, bind, writtenAtMs, nowMs);
    },
    /** No answer will come. */
    unanswered: ({ number, bind }: WrittenPdu, nowMs: number): void => slidingWindow.unanswered(number, bind, nowMs),
    /** Sends nothing before this moment: after a refusal that asks for a pause. */
    pauseUntil(atMs: number): void {
      chooseAtMs = Math.max(chooseAtMs, atMs);
      writeAtMs = Math.max(writeAtMs, atMs);
    },
    /** The carrier throttled; `by`: the status it answered. */
    slowDown(nowMs: number, by?: string): void {
      slow.onThrottled(nowMs, by);
      slidingWindow.distrust(nowMs);
    },
    /** Segments chosen per second now, including the contract's share. */
    ratePerS: (nowMs: number): number => slow.ratePerS(nowMs),
    /** The same beside the contract, and what lowered it; empty at the whole rate. */
    pace: (nowMs: number): Pace => ({ perS: slow.ratePerS(nowMs), ofPerS: contract, slowedBy: slow.by(nowMs) }),
    /** Changes the contract: a share of one need not be whole, and 0 sends nothing. */
    setContract(perSecond: number): void {
      contract = perSecond;
      slow.setFull(perSecond * shareOfContract);
      slidingWindow.resize(perSecond);
    },
  };
}

const leadMostMs = 100;
const leadGain = 1 / 32;

/**
 * How long before its PDU is due a message is chosen: the usual upper bound of an intent's time to become durable, and the
 * time between two turns of the sender, in which several are chosen.
 */
function leadTime() {
  let meanMs = 5;
  let deviationMs = 0;
  return {
    ms: () => Math.min(leadMostMs, meanMs + 4 * deviationMs) + limits.carrier.pacedTogetherMs,
    learn(tookMs: number): void {
      const countsMs = Math.min(tookMs, leadMostMs);
      deviationMs += (Math.abs(countsMs - meanMs) - deviationMs) * leadGain;
      meanMs += (countsMs - meanMs) * leadGain;
    },
  };
}
