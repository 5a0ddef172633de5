// The reports of one-time passwords, as data (report.ts): their funnel, whether carriers' receipts can be believed (who
// enters a code has got its message, and a receipt cannot be asked for that), and what the guard against fraud decided.
import { otpDecisionRows, otpRows, otpSize, otpSummarized, otpTrustRows } from './otp-rows.ts';
import { percentiles } from './percentiles.ts';
import { type Report, bucketMsSql, compared, count, figure, key, share, shareSql, text, wilsonSql } from './report.ts';

const started = 'sum(otps)';
const otpsWith = (condition: string) => `sumIf(otps, ${condition})`;
const verified = otpsWith("status = 'verified'");
const countWith = (name: string, help: string, condition: string) => count(name, help, otpsWith(condition));

export const otp: Report = {
  name: 'otp',
  title: 'What became of one-time passwords',
  description:
    'One-time passwords as they are now, at the time of their start: from the message to the code that was entered, and why ' +
    'others were not. The carrier is the last one that took a message; refused requests have a prefix and a time only.',
  table: 'otps',
  computed: otpRows,
  size: otpSize,
  summarized: otpSummarized,
  groupBy: ['hour', 'day', 'carrier', 'sender', 'prefix', 'language', 'purpose'],
  filters: ['carrier', 'sender', 'prefix', 'language', 'purpose'],
  always: [],
  measures: [
    count('started', 'one-time passwords', started),
    count('messages', 'messages with their codes', 'sum(sends)'),
    count('submitted', 'with a message that a carrier took', otpsWith('submitted')),
    count('delivered', 'with a receipt that says delivered', otpsWith('delivered')),
    count('verified', 'entered', verified),
    countWith('pending', 'may still be entered', "status = 'pending'"),
    countWith('expired', 'not entered in time', "reason = 'expired'"),
    countWith('delivery_failed', 'not entered in time, and no message arrived', "reason = 'delivery_failed'"),
    countWith('max_attempts_reached', 'five wrong guesses', "reason = 'max_attempts_reached'"),
    countWith('locked', 'too many wrong guesses about the number', "reason = 'locked'"),
    countWith('canceled', 'canceled, also by another code of the same purpose that was entered', "status = 'canceled'"),
    share('delivered_share', 'delivered', 'started', shareSql(otpsWith('delivered'), started)),
    share('conversion', 'verified', 'started', shareSql(verified, started)),
    {
      ...share(
        'conversion_of_delivered',
        'verified',
        'delivered',
        shareSql(otpsWith("status = 'verified' AND delivered"), otpsWith('delivered')),
      ),
      help: 'verified among delivered ÷ delivered',
    },
    ...percentiles({
      percents: [50, 90, 99],
      prefix: 'verified_',
      help: 'of the verified ones were entered within this time of their start, to within 2.5 %',
      aggregate: (levels) => `quantilesExactWeightedArray(${levels})(took_buckets, took_counts)`,
      ms: (bucket) => bucketMsSql(verified, bucket, 'UInt32'),
    }),
    count(
      'blocked',
      'requests that the guard refused: no one-time passwords, and in no other column',
      "sumIf(counted, refused = 'block')",
    ),
    count(
      'challenged',
      'requests to which it answered with a challenge, likewise',
      "sumIf(counted, refused = 'challenge')",
    ),
  ],
  reads: [
    ...['otps', 'sends', 'submitted', 'delivered', 'status', 'reason', 'took_buckets', 'took_counts', 'refused'],
    'counted',
  ],
  counted: 'counted',
};

/** The rows of all other carriers for the same time, sender and numbers. */
const peers = (column: string) => `(sum(${column}) OVER peers - ${column})`;
const peersClaimed = peers('m_claimed_delivered');
const peersVerified = peers('m_verified_of_claimed_count');

/** Fewer receipts say nothing; and a difference of three points is no reason to suspect a carrier. */
const claimedLeast = 100;
const differenceLeast = 0.03;
const verifiedOfClaimed = 'sum(verified_of_claimed)';

export const otpTrust: Report = {
  name: 'otp-trust',
  title: 'Whether receipts can be believed',
  description:
    'For each carrier, how many one-time passwords with a receipt “delivered” were entered, beside the other carriers: receipts ' +
    'that are claimed are not followed by codes that are entered. Counted are those whose time is over, with one message through one ' +
    'carrier and a code of Heliograph’s own, at the time of their start.',
  table: 'otps',
  computed: otpTrustRows,
  size: otpSize,
  summarized: otpSummarized,
  groupBy: ['hour', 'day', 'sender', 'prefix'],
  filters: ['carrier', 'sender', 'prefix'],
  always: [key('carrier', '', 'carrier')],
  measures: [
    count('messages', 'taken by the carrier', 'sum(counted)'),
    count('claimed_delivered', 'with a receipt that says delivered', 'sum(claimed)'),
    share('claimed_share', 'claimed_delivered', 'messages', 'round(sum(claimed) / sum(counted), 4)'),
    count('verified', 'entered, with or without a receipt', 'sum(verified)'),
    share(
      'conversion',
      'verified',
      'messages',
      'round(sum(verified) / sum(counted), 4)',
      ': what routes with `choose: conversion` are drawn by, there of the last minutes',
    ),
    count('verified_of_claimed_count', 'entered among those with such a receipt', verifiedOfClaimed),
    share('trust', 'verified_of_claimed_count', 'claimed_delivered', shareSql(verifiedOfClaimed, 'sum(claimed)')),
  ],
  compared: [
    compared(
      'share',
      'peers_trust',
      'the same figure of the other carriers together, of the same hour, day, sender and prefix where grouped by them; null where no other carrier had any',
      shareSql(peersVerified, peersClaimed),
    ),
    compared(
      'count',
      'suspicious',
      `1: with at least ${claimedLeast} receipts here and elsewhere, trust is below that of the peers by more than chance explains ` +
        `(Wilson’s upper bound here below their lower bound less ${differenceLeast}, 95 % each)`,
      `toUInt8(m_claimed_delivered >= ${claimedLeast} AND ${peersClaimed} >= ${claimedLeast} AND ` +
        `${wilsonSql('m_verified_of_claimed_count', 'm_claimed_delivered', '+')} < ${wilsonSql(peersVerified, peersClaimed, '-')} - ${differenceLeast})`,
    ),
  ],
  peersOf: ['hour', 'day', 'sender', 'prefix'],
  reads: ['carrier', 'claimed', 'verified', 'verified_of_claimed', 'counted'],
  counted: 'counted',
};

export const otpDecisions: Report = {
  name: 'otp-decisions',
  title: 'What the guard against fraud decided',
  description:
    'Blocks of numbers, their releases, and refused requests for one-time passwords, by rule, with the figures they rest on; requests ' +
    'that were let through as a probe, or because a challenge was passed; also ' +
    'what rules in shadow mode would have done, and when nothing is blocked because a carrier or a block of numbers is in an outage. Blocks are ended by `POST /v1/otp-guard/blocks/{prefix}/release`.',
  table: 'otp_guard_decisions',
  computed: otpDecisionRows,
  groupBy: ['hour', 'day', 'prefix'],
  filters: ['prefix'],
  always: [
    key(
      'what',
      '`block`, `release`, `refusal` of a request, `probe` or `challenge_passed` of one that was let through; `suspension` while a carrier or a block of numbers is in an outage, and its end: `resumption`',
      'decision',
    ),
    key('rule', 'docs/otp-guard.md explains them; `outage` of suspensions', 'by_rule'),
    key('action', 'of requests: `block` or `challenge`', 'asked'),
    key('mode', '`on`, or `shadow`: reported only', 'in_mode'),
  ],
  measures: [
    count('decisions', 'of requests each one; those of a flood beyond some are under no prefix', 'sum(counted)'),
    figure('figure_max', 'the greatest figure of the rule', 'round(max(figure), 3)'),
    figure('threshold', 'of the last one', 'round(argMax(bound, happened), 3)'),
    text('last_at', 'the last one, in UTC', "formatDateTime(max(happened), '%FT%TZ', 'UTC')"),
    text(
      'last_until',
      'until when the last block lasts, or was released, and the last outage of numbers at most, in UTC; else empty',
      "if(max(until_at) <= toDateTime64(0, 3, 'UTC'), '', formatDateTime(max(until_at), '%FT%TZ', 'UTC'))",
    ),
  ],
  reads: ['decision', 'by_rule', 'asked', 'in_mode', 'figure', 'bound', 'happened', 'until_at', 'counted'],
  counted: 'counted',
};
