// The part of limits.ts about finding another way: heartbeats, carriers' health, reroutes, the watched configuration. A
// file of its own only for its length; it is read as `limits`.
import { assert } from './assert.ts';

export const routingLimits = {
  heartbeats: {
    publishEveryMs: 1_000,
    /** Two lost heartbeats are no news; three are. */
    staleMs: 3_500,
    silentDownMs: 15_000,
    carriersMax: 256,
    nodesMax: 64,
    bytesMax: 1_024,
  },
  carrierHealth: {
    lookEveryMs: 200,
    /** Answers fade with this time constant; with fewer than this many a share says nothing. */
    answersFadeMs: 5_000,
    answersMin: 10,
    /**
     * Refusals that are the carrier's doing, as a share of the answers: weak from the one, well again below the other.
     */
    errorShareWeak: 0.5,
    errorShareGood: 0.2,
    answerMsWeak: 3_000,
    answerMsGood: 1_500,
    /** Receipts come late: their share is looked at over minutes, and only with a carrier that did send them. */
    receiptsFadeMs: 120_000,
    receiptsMin: 100,
    receiptShareWeak: 0.05,
    receiptShareGood: 0.2,
    receiptShareUsual: 0.5,
    /** How long a carrier stays avoided at least; twice as long at each relapse, up to the second. */
    holdMs: 3_000,
    holdMsMax: 120_000,
    /** Good for this long and the next fault counts as the first. */
    relapseMs: 120_000,
    /**
     * Of its contract: sent less than this because it complains, a carrier is reported; whole again so long, it is
     * over.
     */
    slowedShare: 0.9,
    slowedEndMs: 60_000,
  },
  reroute: {
    /** Carriers one message may be given to: a message that wanders longer stays where it is until its validity ends. */
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
assert(heartbeats.staleMs > 3 * heartbeats.publishEveryMs, 'two lost heartbeats would make a carrier look silent');
assert(
  health.errorShareGood < health.errorShareWeak &&
    health.answerMsGood < health.answerMsWeak &&
    health.receiptShareGood > health.receiptShareWeak,
  'a fault has to end at another threshold than where it begins, or a carrier flaps',
);
assert(health.holdMs <= health.holdMsMax, 'the hold could never double');
