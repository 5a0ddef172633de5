// Bounds of a carrier: its messages in flight and what it reads after a restart, its SMPP sessions and their flight
// recorder, its health, and the moves to another carrier. Read as `limits`.
import { assert } from './assert.ts';

export const carrierLimits = {
  carrier: {
    ackWaitOtpMs: 2_000,
    ackWaitMs: 10_000,
    responseTimerMs: 10_000,
    /**
     * The least span of its events that a carrier reads after a restart, and how long it remembers outcomes, because an
     * ack may have been lost. Messages without an outcome are read however old they are (replay floor). See the assertion
     * below.
     */
    replayWindowMs: 60_000,
    /** Interval at which the replay floor is computed, and the longest one at which it is stored. */
    floorEveryMs: 5_000,
    floorAgainMs: 60_000,
    floorTimeoutMs: 5_000,
    /** Messages whose state is republished at one check: × ~250 B. */
    republishedAtOnce: 200,
    /** An intent whose PDU was not written within this is closed, and the message starts again with a new one. */
    intentAgeMsMax: 30_000,
    /**
     * Messages other than OTP that wait for their carrier's pacing are chosen and written so far apart: those of 5 ms share a
     * write, and at the SMSC a read. A write of one PDU costs more than the rest of its message (bench: otp).
     */
    pacedTogetherMs: 5,
    /**
     * The share of its contract that promotional messages use falls to shrinkTo of itself, at most every shrinkEveryMs, while
     * more than slowShareMax of the last intents of OTP, and more than slowMin, take marginMs longer than twice the usual
     * time; it grows back along a cubic curve. At 100 OTP a second the counts hold 144. When at least otpMin of these come beside
     * promotional messages after pauseMs without the one or the other, the share is beginsAt, and doubles within doublesWithinMs
     * until OTP are late: with all of it hundreds of OTP would be late before it has fallen.
     */
    campaignShare: {
      shareMin: 0.25,
      shrinkTo: 0.8,
      shrinkEveryMs: 500,
      /**
       * The share before a fall is the peak; of all falls within oneMomentMs, the share before the first. It is back there after
       * cbrt((peak − share) / perCubicS) seconds: 10 s from 0.8 to 1.
       */
      growth: { perCubicS: 0.000_2, oneMomentMs: 3_000 },
      marginMs: 8,
      halfLifeMs: 1_000,
      slowShareMax: 0.01,
      slowMin: 1.5,
      otpMin: 20,
      beginsAt: 0.25,
      doublesWithinMs: 1_000,
      pauseMs: 5_000,
    },
    /** A replay that receives nothing for this long logs it and requests the records again. */
    replaySilentMs: 10_000,
    /** A carrier whose replay takes longer does not delay the others of its thread any more. */
    startWaitMs: 10_000,
    /** Idle consumers send a heartbeat every two seconds and are reopened after five missing ones. */
    consumerReachableMs: 12_000,
    /** How long a durable intent waits until it has been read in EVENTS; then it is published as not written. */
    claimWaitMs: 8_000,
    /**
     * The longest a message waits in memory between two attempts: the longest wait after a refusal. Only a message that
     * must not leave (the carrier has a part of it) or cannot (LATER refuses it) waits longer than a second.
     */
    restMsMax: 60_000,
    /** Interval of repeated publishes to LATER that got no acknowledgement. */
    deferralRetryMs: 1_000,
    /** How long our own open intent without a message in flight is left alone: its events may still be read. */
    ownOpenWaitMs: 10_000,
    /** Records a replay index generation remembers: 60 s at 8,000/s; 2²⁰ slots × 16 B = 16 MB. */
    replayIndexEntriesMax: 500_000,
    /**
     * Segments an actor remembers for their receipts before it must query the event store: 200,000 × ~80 B for the ids,
     * and packed fields for their events: up to 220 B each at seven eighths of 192 × 256 KiB; ~180 B are usual.
     */
    outstandingMax: 200_000,
    outstandingMemory: { chunkBytes: 256 * 1024, chunksMax: 192 },
    /** Receipts that arrived before the response; each waits this long for it, then queries the event store. */
    earlyReceiptsMax: 10_000,
    earlyReceiptWaitMs: 2_000,
    /** A receipt without a match is retried after these waits, then reported. */
    parkedReceiptWaitsMs: [5_000, 30_000, 120_000, 600_000],
    /** While the event store is unavailable no retry is used up: a receipt is kept this long. */
    parkedReceiptAgeMsMax: 2 * 86_400_000,
    /** A problem that every receipt of a carrier may have is logged once in this time. */
    receiptLogEveryMs: 60_000,
    /** Records one carrier holds of one account shard in one lane: × 8 shards × 3 lanes × ~2 KiB = 100 MB at worst. */
    shardHeldMax: 2_048,
    /** Accounts that take turns in one lane of one carrier; further accounts share one turn. */
    laneAccountsMax: 1_024,
    /** Unknown submits that a late receipt may still settle by recipient and sender. */
    unknownRememberedMax: 50_000,
    /** How long a message with an unknown outcome waits for a late receipt before it is resent; an OTP does not. */
    resendWaitMs: 6_000,
    /** Submits with a late response to query with query_sm, and when: most receipts arrive before the first. */
    queriedSubmitsMax: 1_000,
    queryAfterMs: [2 * 60_000, 10 * 60_000, 60 * 60_000],
  },
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
    /**
     * Share of one-time passwords without an answer within the carrier's usual p99, of about the last hundred of at least
     * twenty, and of the last ten seconds. A carrier as usual has 0.01: with twenty of them five late ones come by chance
     * once in 10⁷.
     */
    lateShareWeak: 0.2,
    lateShareGood: 0.05,
    hedgeableLast: 100,
    hedgeableMin: 20,
    hedgeableFadeMs: 10_000,
    /**
     * The same of receipts within their usual p95, of which 0.05 are late as usual: with the last hundred (which weigh as
     * two hundred alike, σ = 0.015) a fifth is ten σ away. A hundred late ones are forgotten (fewer than twenty) after 48 s
     * without further ones: then the carrier is tried again.
     */
    lateReceiptsFadeMs: 30_000,
    /** What is late all the time, of the last two thousand, is no outage: subscribers who are out of reach. */
    lateReceiptsUsual: { last: 2_000, countMin: 200, expected: 0.05, usualMax: 0.3 },
    /** What one-time passwords wait for their turn while the carrier throttles: they have a second in all. */
    otpWaitMsWeak: 300,
    otpWaitMsGood: 100,
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
  smpp: {
    /** A submit_sm with ten TLVs is under 1 KiB; a length beyond this is garbage, not a PDU. */
    pduBytesMin: 16,
    pduBytesMax: 16_384,
    /** Submits stop when this much is unread by the peer: two windows of 100 × ~250 bytes. */
    writeBytesSoft: 64 * 1024,
    /** Reading stops too: a peer that reads nothing gets no more responses. */
    writeBytesHard: 512 * 1024,
    /** Outgoing PDUs are written into slabs of this size: ~250 submits, one allocation. */
    slabBytes: 64 * 1024,
    /** Characters kept of a text from a peer: as long as SMPP 3.4 lets a message id be. */
    textCharsMax: 64,
    windowPdusMax: 1_000,
    /** Pending query_sm of one session: they are rare and never urgent. */
    queriesMax: 4,
    /** Pending cancel_sm of one session, besides its window: at 50 ms an answer 160 a second. */
    cancelsMax: 8,
    connectTimerMs: 10_000,
    bindTimerMs: 5_000,
    enquireLinkMs: 15_000,
    /** After this many response timeouts in a row the bind is closed and reopened. */
    responseTimeoutsInARowMax: 3,
    /** Connection attempts of one process, over all its binds: 200 binds are back within ten seconds. */
    connectsPerSecond: 20,
    /** A slot unused for this long expires: after a stall at most one second's attempts happen at once. */
    lateTurnMsMax: 1_000,
    reconnectBaseMs: 1_000,
    reconnectCapMs: 60_000,
    /** The first retry after a healthy session: most disconnects are a restart of the peer or one lost route. */
    reconnectQuickMs: 250,
    /** After this long in a bound state the backoff starts over. */
    stableMs: 30_000,
    /** A carrier frees the session of a crashed client after its inactivity timer, 60 s with most. */
    ghostSessionMs: 65_000,
    /** Binds refused this often in a row for too many sessions raise an alarm: it is not a ghost session any more. */
    tooManyBindsAlarmAt: 3,
  },
  flight: {
    /** The PDUs that one carrier's binds keep, divided among them: 64 carriers of 16 binds are 256 MiB at worst. */
    carrierBytes: 4 * 1024 * 1024,
    /** The most for one bind, ~2,000 messages with their responses and receipts, and the least. */
    bindBytesMax: 1024 * 1024,
    bindBytesMin: 64 * 1024,
    /** Decisions of one carrier: × ~120 B = 1 MB. */
    decisionsMax: 8_192,
    /** One answer to a reader of a recorder: it must not delay what the same connection publishes. */
    answerBytesMax: 128 * 1024,
    answerDecisionsMax: 512,
    answerMs: 2_000,
    /** How long the reader waits for further nodes of the carrier after the first answer. */
    gatherMs: 300,
    answersMax: 1_024,
    dumpDecisionsMax: 2_000,
    /** A bind that reconnects repeatedly writes one dump file in this time. */
    dumpEveryMs: 60_000,
    /** Packets written between two turns of the event loop: 200 × ~3 µs. */
    dumpSlice: 200,
  },
  simulator: {
    /** deliver_sm that wait for a response, per session. */
    receiptWindowMax: 200,
    /** Receipts kept while nobody is bound to take them: 200,000 × ~300 B = 60 MB. */
    pendingMax: 200_000,
    receiptRetryMs: 1_000,
    receiptAttemptsMax: 100,
    receiptResponseMs: 10_000,
    recordMax: 10_000,
    /** Nonces counted: 2M × ~100 B = 200 MB; beyond it they are counted as dropped. */
    noncesMax: 2_000_000,
    /** Incomplete concatenated messages kept for the recording. */
    partsMax: 10_000,
    magicNumbersMax: 10_000,
    /** A session that never binds is closed after this. */
    bindWaitMs: 30_000,
    statsBodyBytesMax: 16 * 1024,
  },
} as const;

const { carrier, carrierHealth: health, flight, heartbeats, smpp } = carrierLimits;
assert(
  carrier.resendWaitMs > carrier.earlyReceiptWaitMs,
  'a message would be resent before its late receipt was matched',
);
assert(
  carrier.replayWindowMs > 2 * (carrier.consumerReachableMs + carrier.ackWaitMs),
  'a record whose ack was lost could come back after its outcome fell out of the replay window',
);
assert(
  carrier.intentAgeMsMax * 2 <= carrier.replayWindowMs,
  'intents that wait for a bind would keep more of EVENTS than every restart reads',
);
assert(
  flight.bindBytesMin >= 2 * smpp.pduBytesMax && flight.answerBytesMax > smpp.pduBytesMax,
  'the largest PDU would not fit into a flight recorder, or into one of its answers',
);
assert(heartbeats.staleMs > 3 * heartbeats.publishEveryMs, 'two lost heartbeats would make a carrier silent');
assert(
  health.errorShareGood < health.errorShareWeak &&
    health.answerMsGood < health.answerMsWeak &&
    health.receiptShareGood > health.receiptShareWeak,
  'a fault has to end at another threshold than where it begins, or a carrier flaps',
);
assert(health.holdMs <= health.holdMsMax, 'the hold could never double');
assert(
  1 - health.lateReceiptsUsual.usualMax > health.lateShareWeak,
  'a carrier that sends no receipt in time at all would count as usual',
);
