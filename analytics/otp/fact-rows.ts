// Facts of one-time passwords as rows of otps and otp_guard_decisions: only this file knows the columns and their order.
import type { GuardFact, OtpFact } from '../../model/fact.ts';
import { prefixOf } from '../../policy/otp-guard/history.ts';
import { tsvText } from '../store/tab-separated.ts';

export const otpColumns =
  'account_id, livemode, started_at, otp_id, version, status, reason, purpose, language, sender, prefix, own_code, attempts, ' +
  'message_ids, expires_at, ended_at';

export function otpRow(fact: OtpFact): string {
  const { accountId, livemode, createdAtMs, id, version, status, reason, purpose, language, sender } = fact;
  // Ids have no character that means something in a list.
  const messages = `[${fact.messageIds.map((messageId) => `'${messageId}'`).join(',')}]`;
  const texts = [status, reason ?? '', purpose, language ?? '', sender, prefixOf(fact.to, 6)].map(tsvText).join('\t');
  const ended = fact.endedAtMs === null ? never : time(fact.endedAtMs);
  return (
    `${tsvText(accountId)}\t${flag(livemode)}\t${time(createdAtMs)}\t${tsvText(id)}\t${version}\t${texts}\t` +
    `${flag(fact.ownCode)}\t${fact.attempts}\t${messages}\t${time(fact.expiresAtMs)}\t${ended}\n`
  );
}

export const decisionColumns =
  'account_id, livemode, at, event_id, what, rule, action, mode, scope, prefix, statistic, threshold, times, until, released';

export function decisionRow(fact: GuardFact): string {
  const { accountId, livemode, atMs, eventId, what, rule, action, mode, scope, statistic, threshold } = fact;
  const texts = [eventId, what, rule, action ?? '', mode, scope, fact.prefix].map(tsvText).join('\t');
  const until = fact.untilMs === 0 ? never : time(fact.untilMs);
  return (
    `${tsvText(accountId)}\t${flag(livemode)}\t${time(atMs)}\t${texts}\t${statistic}\t${threshold}\t` +
    `${fact.times}\t${until}\t${tsvText(fact.released)}\n`
  );
}

const never = '1970-01-01 00:00:00';
const flag = (value: boolean) => (value ? 1 : 0);
/** DateTime64(3) reads a bare number of seconds. */
const time = (ms: number): string => (ms / 1_000).toFixed(3);
