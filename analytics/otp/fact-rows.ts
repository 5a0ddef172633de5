// Facts of one-time passwords as rows of otps and otp_guard_decisions, and the published ones from rows: only this file
// knows the columns and their order.
import type { GuardFact, OtpFact } from '../../model/fact.ts';
import type { EventId, MessageId, OtpId } from '../../model/ids.ts';
import { prefixOf } from '../../policy/otp-guard/history.ts';
import type { Cell } from '../store/engine.ts';
import { orNull } from '../store/event-row.ts';
import { tsvRow, tsvTime } from '../store/tab-separated.ts';

export const otpColumns =
  'account_id, livemode, started_at, otp_id, version, status, reason, purpose, language, sender, prefix, own_code, attempts, ' +
  'message_ids, expires_at, ended_at';

export function otpRow(fact: OtpFact): string {
  const { accountId, livemode, id, version, status, reason, purpose, language, sender, ownCode, attempts } = fact;
  const prefix = prefixOf(fact.to, 6);
  // Ids have no character that means something in a list.
  const messages = `[${fact.messageIds.map((messageId) => `'${messageId}'`).join(',')}]`;
  return tsvRow([
    ...[accountId, livemode, tsvTime(fact.createdAtMs), id, version, status, reason, purpose, language, sender, prefix],
    ...[ownCode, attempts, messages, tsvTime(fact.expiresAtMs), tsvTime(fact.endedAtMs)],
  ]);
}

export const decisionColumns =
  'account_id, livemode, at, event_id, what, rule, action, mode, scope, prefix, statistic, threshold, times, until, released';

export function decisionRow(fact: GuardFact): string {
  const { accountId, livemode, eventId, what, rule, action, mode, scope, prefix, statistic, threshold } = fact;
  const until = tsvTime(fact.untilMs === 0 ? null : fact.untilMs);
  return tsvRow([
    ...[accountId, livemode, tsvTime(fact.atMs), eventId, what, rule, action, mode, scope, prefix],
    ...[statistic, threshold, fact.times, until, fact.released],
  ]);
}

export type FactOwner = { readonly accountId: string; readonly livemode: boolean };

export const otpFactColumns =
  'event_id, otp_id, version, status, reason, purpose, language, sender, own_code, attempts, message_ids, ' +
  'toUnixTimestamp64Milli(started_at), toUnixTimestamp64Milli(expires_at), toUnixTimestamp64Milli(ended_at)';

/** Of one that has ended. The table has no number and no reference: `to` is empty. */
export function otpFactOf(row: readonly Cell[], { accountId, livemode }: FactOwner): OtpFact {
  const endedAtMs = Number(row[13]);
  return {
    ...{ kind: 'otp', accountId, livemode, to: '', clientReference: null, atMs: endedAtMs, endedAtMs },
    eventId: row[0] as EventId,
    id: row[1] as OtpId,
    version: Number(row[2]),
    status: row[3] as OtpFact['status'],
    reason: orNull(row[4]) as OtpFact['reason'],
    purpose: row[5] as string,
    language: orNull(row[6]),
    sender: row[7] as string,
    ownCode: row[8] === true,
    attempts: row[9] as number,
    messageIds: row[10] as readonly MessageId[],
    createdAtMs: Number(row[11]),
    expiresAtMs: Number(row[12]),
  };
}

export const blockFactColumns =
  'event_id, toUnixTimestamp64Milli(at), rule, mode, scope, prefix, statistic, threshold, times, toUnixTimestamp64Milli(until)';

/** Of a row whose `what` is `block`. */
export function blockFactOf(row: readonly Cell[], { accountId, livemode }: FactOwner): GuardFact {
  return {
    ...{ kind: 'guard', accountId, livemode, what: 'block', action: null, released: '' },
    eventId: row[0] as EventId,
    atMs: Number(row[1]),
    rule: row[2] as string,
    mode: row[3] as GuardFact['mode'],
    scope: row[4] as string,
    prefix: row[5] as string,
    statistic: row[6] as number,
    threshold: row[7] as number,
    times: row[8] as number,
    untilMs: Number(row[9]),
  };
}
