// What reports read beside the counts of messages (report-counts.ts), for the same month and account: counts of clicks, and
// one-time passwords with what carriers said of their messages, row by row. ClickHouse generates them.
import type { Engine } from '../../analytics/store/engine.ts';
import { askedAccount, carriers, dayS, days, fillLimitMs, list, slotsOfDay } from './report-counts.ts';

/** Of all messages. */
const linkedShare = 0.1;
const otpShare = 0.03;

/** 4 senders of promotional messages with 3 campaigns of 2 variants each and 5 of transactional ones, at 3 carriers. */
const promotional = 4 * 3 * 2;
const linkPlaces = (promotional + 5) * 3;
/** [class, reasons] of clicks: the bit of the class and its signs. */
const signs = [
  [1, ''],
  ...['no_language', 'no_user_agent', 'before_receipt', 'burst', 'soon_after_receipt'].map((one) => [8, one] as const),
  ...['previewer', 'prefetch', 'previewer,no_language'].map((one) => [2, one] as const),
  ...['bot', 'head', 'no_language,burst', 'bot,no_language'].map((one) => [4, one] as const),
] as const;
/** Some seven messages of a place are clicked: each is counted for every choice of classes that has its class. */
const firstClicks = 7 * 8;
const rowsOfPlace = 1 + signs.length + firstClicks;
/** From 4 minutes to 12 hours after a message was due. */
const bucketFirst = 254;
const buckets = 106;

/** Clicks of a tenth of so many messages. */
export async function fillClicks(engine: Engine, messages: number): Promise<void> {
  const each = Math.max(1, Math.round((messages * linkedShare) / (days * slotsOfDay * linkPlaces)));
  for (let day = 0; day < days; day += 1) await engine.command(clicksOf(day, each), fillLimitMs);
  for (const table of ['click_counts', 'click_tiers', 'campaign_click_tiers']) {
    await engine.command(`OPTIMIZE TABLE ${table} FINAL`, fillLimitMs);
  }
}

/** `r`: the row of its place: the messages, then clicks by their signs, then first clicks. */
function clicksOf(day: number, each: number): string {
  const clicks = `r > 0 AND r <= ${signs.length}`;
  return `INSERT INTO click_counts (account_id, livemode, slot, category, carrier, sender, campaign_id, variant_id, what, classes, reasons, bucket,
      counts)
    WITH number % ${rowsOfPlace} AS r, intDiv(number, ${rowsOfPlace}) % ${linkPlaces} AS p, intDiv(p, 3) AS c,
      intDiv(number, ${rowsOfPlace * linkPlaces}) AS at
    SELECT '${askedAccount}', true, fromUnixTimestamp(${dayS(day)} + at * 1800), if(c < ${promotional}, 'promotional', 'transactional'),
      ${carriers}[p % 3 + 1], concat('SENDER', toString(if(c < ${promotional}, 8 + c % 4, 3 + c - ${promotional}))),
      if(c < ${promotional}, concat('cmp_', toString(${day * 9} + intDiv(at, 16) * 3 + intDiv(c, 8))), ''),
      if(c < ${promotional}, ['a', 'b'][intDiv(c, 4) % 2 + 1], ''),
      multiIf(r = 0, 'messages', ${clicks}, 'clicks', 'first_click'),
      multiIf(r = 0, 0, ${clicks}, [${signs.map(([bit]) => bit).join(', ')}][r], 1 + r % 15),
      if(${clicks}, ${list(signs.map(([, reasons]) => reasons))}[r], ''),
      if(r > ${signs.length}, ${bucketFirst} + cityHash64(number) % ${buckets}, 0), if(r = 0, ${each}, 1)
    FROM numbers(${slotsOfDay * linkPlaces * rowsOfPlace})`;
}

/** One-time passwords, a few percent of so many messages, and refusals of the guard; resolves with how many there are a day. */
export async function fillOtps(engine: Engine, messages: number): Promise<number> {
  const aDay = Math.max(1_000, Math.round((messages * otpShare) / days));
  for (let day = 0; day < days; day += 1) {
    await engine.command(otpsOf(day, aDay), fillLimitMs);
    await engine.command(otpMessagesOf(day, aDay), fillLimitMs);
    await engine.command(decisionsOf(day, Math.round(aDay / 100)), fillLimitMs);
  }
  for (const table of ['otps', 'otp_messages', 'otp_guard_decisions']) {
    await engine.command(`OPTIMIZE TABLE ${table} FINAL`, fillLimitMs);
  }
  return aDay;
}

/** `startedMs`: evenly over the day. `h`: a random number of the one-time password. Every tenth has a second message. */
const otpOf = (day: number, aDay: number) =>
  `toInt64(${dayS(day) * 1_000}) + intDiv(number * 86400000, ${aDay}) AS startedMs, cityHash64(${day}, number) AS h,
      number % 10 = 0 AS isTwice`;
const idOf = (kind: string, nth: string) =>
  `concat('${kind}', leftPad(hex(startedMs), 12, '0'), substring(hex(sipHash64(h, ${nth})), 1, 14))`;
const moment = (ms: string) => `fromUnixTimestamp64Milli(${ms}, 'UTC')`;

/** 70 % are entered, 20 % are not, and each other end has its part of the rest. */
function otpsOf(day: number, aDay: number): string {
  const ends = [
    ...Array.from({ length: 14 }, () => ['verified', ''] as const),
    ...Array.from({ length: 4 }, () => ['expired', 'expired'] as const),
    ['canceled', ''] as const,
    ['max_attempts_reached', 'max_attempts_reached'] as const,
  ];
  return `INSERT INTO otps (account_id, livemode, started_at, otp_id, version, status, reason, purpose, language, sender, prefix, own_code,
      attempts, message_ids, expires_at, ended_at)
    WITH ${otpOf(day, aDay)}
    SELECT '${askedAccount}', true, ${moment('startedMs')}, ${idOf('otp_', '0')}, 2, ${list(ends.map(([status]) => status))}[h % 20 + 1],
      ${list(ends.map(([, reason]) => reason))}[h % 20 + 1], 'default', ['en', 'bn'][h % 2 + 1], concat('SENDER', toString(h % 3)),
      concat('+88017', leftPad(toString(intDiv(h, 60) % 100), 2, '0')), false, 1,
      if(isTwice, [${idOf('sms_', '1')}, ${idOf('sms_', '2')}], [${idOf('sms_', '1')}]), ${moment('startedMs + 300000')},
      ${moment('startedMs + 5000 + toInt64(intDiv(h, 6000) % 90000)')}
    FROM numbers(${aDay})`;
}

/** All are submitted; 85 % of them are delivered, and 10 % are not. */
function otpMessagesOf(day: number, aDay: number): string {
  return `INSERT INTO otp_messages (account_id, livemode, accepted_at, message_id, kind, hop, carrier, at)
    WITH ${otpOf(day, aDay)}, intDiv(h, 20) % 20 AS luck,
      arrayJoin(if(isTwice, [1, 2], [1])) AS nth, arrayJoin(multiIf(luck < 17, ['submitted', 'delivered'], luck < 19, ['submitted', 'undelivered'],
        ['submitted'])) AS of_kind
    SELECT '${askedAccount}', true, ${moment('startedMs')}, ${idOf('sms_', 'nth')}, of_kind, 0, ${carriers}[intDiv(h, 400) % 3 + 1],
      ${moment("startedMs + if(of_kind = 'submitted', 100, 4000)")}
    FROM numbers(${aDay})`;
}

function decisionsOf(day: number, aDay: number): string {
  return `INSERT INTO otp_guard_decisions (account_id, livemode, at, event_id, what, rule, action, mode, scope, prefix, statistic, threshold)
    WITH ${otpOf(day, aDay)}, concat('+88017', leftPad(toString(intDiv(h, 60) % 100), 2, '0')) AS numbers_prefix
    SELECT '${askedAccount}', true, ${moment('startedMs')}, substring(${idOf('evt_', '3')}, 1, 26), if(h % 50 = 0, 'block', 'refusal'),
      ['conversion', 'velocity', 'spread'][h % 3 + 1], if(h % 50 = 0, '', ['block', 'challenge'][intDiv(h, 50) % 2 + 1]), 'on',
      numbers_prefix, numbers_prefix, h % 100, 20
    FROM numbers(${aDay})`;
}
