// Bounds of the stream FACTS: who writes it (the records of one-time passwords, the guard, clicks) and who reads it (the
// recorder of the event store, webhooks). Read as `limits`.
import { assert } from './assert.ts';
import { otpLimits } from './limits-otp.ts';

export const factLimits = {
  facts: {
    /** Records read ahead, and publishes in flight. */
    prefetch: 500,
    inFlightMax: 1_024,
    /**
     * OTP whose time is awaited, ~250 B each: all accounts' starts of ten minutes (limits.shares.otp_started), twice. With
     * more no record is read until some have ended.
     */
    waitingMax: 400_000,
    /** After its time is over a guess that was counted before may still be stored as right. */
    graceMs: 5_000,
    endEveryMs: 250,
    /** Ends that are looked into at once: two reads each. */
    endsAtOnce: 16,
    /** While the event store is away nobody asks it what became of messages. */
    awayMs: 10_000,
    /** How often the place is stored: so much is published again after a crash. */
    placeEveryMs: 1_000,
    /**
     * What was published lately of each OTP and number, so that a guess does not publish it again, and whose time was over:
     * two generations of each × ~110 B = 44 MB.
     */
    publishedMs: 10 * 60_000,
    publishedMax: 100_000,
    /**
     * An end is stored at the latest so long after the time that it names: seconds, and what clocks of machines differ by.
     */
    storedWithinMs: 5 * 60_000,
    /** Answers of the guard that are recorded one by one, of an account and thread: as refusals of the gates. */
    refusalsPerSecond: 20,
    refusalsBurst: 100,
    /** The others as one each time with their number, by account, rule and answer. The column of the number has 16 bits. */
    leftOutMax: 1_000,
    leftOutEveryMs: 10_000,
    leftOutTimesMax: 65_535,
    /** The recorder: records without an ack, rows of an insert, and how long they wait. */
    recorderHeldMax: 20_000,
    insertRowsMax: 10_000,
    insertEveryMs: 500,
    /** After a kill what was not acked is delivered again so late. */
    ackWaitMs: 15_000,
    retryMs: 1_000,
    purgeEveryMs: 60_000,
    /** Clicks that share a record, and their octets together; a click alone may have more. ~500 B each, at most ~7 KiB. */
    clicksPerRecordMax: 32,
    recordBytesMax: 64 * 1024,
    /** Webhooks: records without an ack, each until its endpoints have it: with clicks 32,000 facts, and at most 65 MiB. */
    webhooksHeldMax: 1_000,
    /** Events of one account among them; what is more goes to the lines of its endpoints, which takes a few milliseconds. */
    webhooksHeldPerAccount: 100,
  },
} as const;

assert(
  factLimits.facts.graceMs > otpLimits.otp.writes.deadlineMs,
  'an end by time could be published before a right guess of its last moment is stored',
);
assert(
  factLimits.facts.storedWithinMs < factLimits.facts.publishedMs,
  'an end would be published again between what is remembered of it and the time up to which all are published',
);
