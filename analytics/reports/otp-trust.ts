// The report of whether carriers' receipts can be believed, as data (report.ts): who enters a code has got its message, and
// a receipt cannot be asked for that.
import { otpTrustRows } from './otp-rows.ts';
import type { Report } from './report.ts';

/** Everybody else's row of the same time and numbers. */
const peers = (column: string) => `(sum(${column}) OVER peers - ${column})`;
const peersClaimed = peers('m_claimed_delivered');
const peersVerified = peers('m_verified_of_claimed_count');

/** Wilson's bounds of a share at 95 % (Wilson 1927). */
const z = 1.96;
const wilson = (part: string, whole: string, sign: '+' | '-') =>
  `((${part} / ${whole} + ${(z * z) / 2} / ${whole} ${sign} ${z} * sqrt(${part} / ${whole} * (1 - ${part} / ${whole}) / ${whole} + ` +
  `${(z * z) / 4} / (${whole} * ${whole}))) / (1 + ${z * z} / ${whole}))`;

/** Fewer receipts say nothing; and a difference of three points is no reason to suspect a carrier. */
const claimedLeast = 100;
const differenceLeast = 0.03;

export const otpTrust: Report = {
  name: 'otp-trust',
  title: 'Whether receipts can be believed',
  description:
    'For each carrier, how many one-time passwords with a receipt “delivered” were entered, beside the other carriers: receipts ' +
    'that are claimed are not followed by codes that are entered. Counted are those whose time is over, with one message through one ' +
    'carrier and a code of Heliograph’s own, at the time of their start.',
  table: 'otps',
  rows: otpTrustRows,
  where: '',
  groupBy: ['hour', 'day', 'sender', 'prefix'],
  filters: ['carrier', 'sender', 'prefix'],
  always: [{ name: 'carrier', unit: 'text', help: '', sql: 'carrier' }],
  measures: [
    { name: 'messages', unit: 'count', help: 'taken by the carrier', sql: 'sum(counted)' },
    { name: 'claimed_delivered', unit: 'count', help: 'with a receipt that says delivered', sql: 'sum(claimed)' },
    {
      name: 'claimed_share',
      unit: 'share',
      help: 'claimed_delivered ÷ messages',
      sql: 'round(sum(claimed) / sum(counted), 4)',
    },
    { name: 'verified', unit: 'count', help: 'entered, with or without a receipt', sql: 'sum(verified)' },
    {
      name: 'conversion',
      unit: 'share',
      help: 'verified ÷ messages: what routes with `choose: conversion` are drawn by, there of the last minutes',
      sql: 'round(sum(verified) / sum(counted), 4)',
    },
    {
      name: 'verified_of_claimed_count',
      unit: 'count',
      help: 'entered among those with such a receipt',
      sql: 'countIf(claimed = 1 AND verified = 1)',
    },
    {
      name: 'trust',
      unit: 'share',
      help: 'verified_of_claimed_count ÷ claimed_delivered',
      sql: 'if(sum(claimed) = 0, NULL, round(countIf(claimed = 1 AND verified = 1) / sum(claimed), 4))',
    },
  ],
  compared: [
    {
      name: 'peers_trust',
      unit: 'share',
      help: 'the same figure of all other rows together, of the same hour, day and prefix where grouped by them',
      sql: `if(${peersClaimed} = 0, NULL, round(${peersVerified} / ${peersClaimed}, 4))`,
    },
    {
      name: 'suspicious',
      unit: 'count',
      help:
        `1: with at least ${claimedLeast} receipts here and elsewhere, trust is below that of the peers by more than chance explains ` +
        `(Wilson’s upper bound here below their lower bound less ${differenceLeast}, 95 % each)`,
      sql:
        `toUInt8(m_claimed_delivered >= ${claimedLeast} AND ${peersClaimed} >= ${claimedLeast} AND ` +
        `${wilson('m_verified_of_claimed_count', 'm_claimed_delivered', '+')} < ${wilson(peersVerified, peersClaimed, '-')} - ${differenceLeast})`,
    },
  ],
  peersOf: ['hour', 'day', 'prefix'],
  reads: ['carrier', 'claimed', 'verified', 'counted'],
  counted: 'counted',
};
