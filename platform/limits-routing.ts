// The part of limits.ts about alternatives: heartbeats, carrier health, reroutes, the watched configuration. A separate
// file only for its length; read as `limits`.
import { assert } from './assert.ts';

export const routingLimits = {
  heartbeats: {
    publishEveryMs: 1_000,
    /** Two lost heartbeats change nothing; three mark the carrier as silent. */
    staleMs: 3_500,
    silentDownMs: 15_000,
    carriersMax: 256,
    nodesMax: 64,
    bytesMax: 1_024,
  },
  carrierHealth: {
    lookEveryMs: 200,
    /** Time constant of the decaying counts of responses; below answersMin a share is not evaluated. */
    answersFadeMs: 5_000,
    answersMin: 10,
    /** Share of responses that are refusals by the carrier's fault: weak from the first, good below the second. */
    errorShareWeak: 0.5,
    errorShareGood: 0.2,
    answerMsWeak: 3_000,
    answerMsGood: 1_500,
    /** Receipts arrive late: their share is measured over minutes, and only for a carrier that has sent receipts. */
    receiptsFadeMs: 120_000,
    receiptsMin: 100,
    receiptShareWeak: 0.05,
    receiptShareGood: 0.2,
    receiptShareUsual: 0.5,
    /** The shortest time for which a carrier is avoided; it doubles at each relapse, up to the second. */
    holdMs: 3_000,
    holdMsMax: 120_000,
    /** After this long in good health the next fault counts as the first. */
    relapseMs: 120_000,
    /**
     * A carrier sent less than this share of its contract because of throttling is reported; the report ends after
     * slowedEndMs at the full rate.
     */
    slowedShare: 0.9,
    slowedEndMs: 60_000,
  },
  reroute: {
    /** Carriers one message may be given to: after that it stays at its carrier until its validity ends. */
    hopsMax: 8,
    /** Messages moved in one turn of the event loop: 200 × ~20 µs = 4 ms. */
    failoversPerCheck: 200,
  },
  configuration: {
    lookEveryMs: 200,
    bytesMax: 4 * 1024 * 1024,
  },
} as const;

const { carrierHealth: health, heartbeats } = routingLimits;
assert(heartbeats.staleMs > 3 * heartbeats.publishEveryMs, 'two lost heartbeats would make a carrier silent');
assert(
  health.errorShareGood < health.errorShareWeak &&
    health.answerMsGood < health.answerMsWeak &&
    health.receiptShareGood > health.receiptShareWeak,
  'a fault has to end at another threshold than where it begins, or a carrier flaps',
);
assert(health.holdMs <= health.holdMsMax, 'the hold could never double');
