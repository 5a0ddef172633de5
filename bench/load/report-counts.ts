// The counts of a month of messages, as the recorder would have written them: ClickHouse generates them in the tables that
// it writes, and feeds the tiers. An account of the asked size, and others beside it.
import type { Engine } from '../../analytics/store/engine.ts';

export const days = 30;
export const fromMs = Date.UTC(2026, 9, 1);
export const askedAccount = 'acc_1';

/**
 * Places of the account in each half hour, 1,620 = 54 combinations × 3 carriers × 10 statuses and errors. Combinations of
 * sender, encoding, segments and campaign: 3 senders of OTP with 1, 5 of transactional messages with 3 each, 4 of
 * promotional ones with 3 for each of 3 campaigns, which last 8 hours (270 campaigns in all) and have two variants: one
 * of a segment, and one of one or two.
 */
const places = 1_620;
/** 3 categories × 3 carriers × 3 stages × 60 buckets. */
const times = 1_620;
const otherAccounts = 20;
/** The first combination, of a sender of OTP. */
const placesOfOthers = 30;
export const slotsOfDay = 48;
export const fillLimitMs = 300_000;

export const list = (names: readonly string[]) => `[${names.map((name) => `'${name}'`).join(', ')}]`;
export const carriers = list(['alpha', 'beta', 'gamma']);
const categories = list(['otp', 'transactional', 'promotional']);
const stages = list(['accepted_to_submitted', 'submitted_to_delivered', 'accepted_to_delivered']);
const outcomes = [
  ['delivered', ''],
  ['submitted', ''],
  ['undelivered', 'receipt_undelivered:001'],
  ['undelivered', 'receipt_undelivered:027'],
  ['undelivered', 'receipt_undelivered:032'],
  ['unknown', 'no_receipt'],
  ['expired', 'receipt_expired:000'],
  ['rejected', 'ESME_RTHROTTLED'],
  ['rejected', 'ESME_RINVDSTADR'],
  ['failed', 'no_route'],
] as const;
const statuses = list(outcomes.map(([status]) => status));
const errors = list(outcomes.map(([, error]) => error));

/** Messages of the asked account: at least one in each place, so at least 2.3 million. */
export async function fillCounts(engine: Engine, messages: number): Promise<void> {
  const each = Math.max(1, Math.round(messages / (days * slotsOfDay * places)));
  // A day at a time, as parts grow while they are recorded; then one merge, as months have it.
  for (let day = 0; day < days; day += 1) {
    await engine.command(messagesOf(day, `'${askedAccount}'`, places, 1, each), fillLimitMs);
    const account = "concat('other_', toString(intDiv(number, 30 * 48)))";
    await engine.command(messagesOf(day, account, placesOfOthers, otherAccounts, 1), fillLimitMs);
    await engine.command(timesOf(day, each), fillLimitMs);
  }
  for (const table of [
    'message_counts',
    'message_tiers',
    'campaign_message_tiers',
    'latency_counts',
    'latency_tiers',
  ]) {
    await engine.command(`OPTIMIZE TABLE ${table} FINAL`, fillLimitMs);
  }
}

export const dayS = (day: number) => fromMs / 1_000 + day * 86_400;

/** `c`: the combination; `k`: that of promotional messages. */
function messagesOf(day: number, account: string, inSlot: number, accounts: number, each: number): string {
  return `INSERT INTO message_counts (account_id, livemode, slot, category, carrier, status, error, sender, encoding, segments, campaign_id,
      variant_id, messages, segments_submitted)
    WITH number % ${inSlot} AS p, intDiv(number, ${inSlot}) % ${slotsOfDay} AS at, intDiv(p, 30) AS c, c - 18 AS k,
      multiIf(c < 3, 1, c < 18, [1, 2, 2][intDiv(c - 3, 5) + 1], [1, 1, 2][intDiv(k, 4) % 3 + 1]) AS parts
    SELECT ${account}, true, fromUnixTimestamp(${dayS(day)} + at * 1800), ${categories}[multiIf(c < 3, 1, c < 18, 2, 3)],
      ${carriers}[p % 3 + 1], ${statuses}[intDiv(p, 3) % 10 + 1], ${errors}[intDiv(p, 3) % 10 + 1],
      concat('SENDER', toString(multiIf(c < 3, c, c < 18, 3 + (c - 3) % 5, 8 + k % 4))),
      multiIf(c < 3, 'gsm7', c < 18, ['gsm7', 'gsm7', 'ucs2'][intDiv(c - 3, 5) + 1], ['gsm7', 'ucs2', 'ucs2'][intDiv(k, 4) % 3 + 1]),
      parts, if(c < 18, '', concat('cmp_', toString(${day * 9} + intDiv(at, 16) * 3 + intDiv(k, 12)))),
      multiIf(c < 18, '', intDiv(k, 4) % 3 = 0, 'a', 'b'), ${each}, ${each} * parts
    FROM numbers(${accounts * slotsOfDay * inSlot})`;
}

function timesOf(day: number, each: number): string {
  return `INSERT INTO latency_counts (account_id, livemode, slot, category, carrier, stage, bucket, messages)
    WITH number % ${times} AS p
    SELECT '${askedAccount}', true, fromUnixTimestamp(${dayS(day)} + intDiv(number, ${times}) * 1800), ${categories}[p % 3 + 1],
      ${carriers}[intDiv(p, 3) % 3 + 1], ${stages}[intDiv(p, 9) % 3 + 1], 100 + intDiv(p, 27), ${each}
    FROM numbers(${slotsOfDay * times})`;
}
