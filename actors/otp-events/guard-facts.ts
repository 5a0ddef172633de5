// What an entry of the bucket `otp_guard` says about the guard's decisions, as facts. Pure.
import type { GuardEntry, StoredBlock, StoredOutage } from '../../cluster/bus/otp-guard-bucket.ts';
import type { GuardFact } from '../../model/fact.ts';
import { eventIdOf } from '../../model/ids.ts';
import { thresholds } from '../../policy/otp-guard/thresholds.ts';

export function factsOfEntry(entry: GuardEntry): readonly GuardFact[] {
  if (entry.kind === 'block' && entry.block !== null) return [factOfBlock(entry.block)];
  return entry.kind === 'outage' && entry.outage !== null ? factsOfOutage(entry.outage) : [];
}

/** That numbers are blocked, or that they are not any more although the time of the block is not over. */
function factOfBlock(block: StoredBlock): GuardFact {
  const { accountId, prefix, rule, statistic, threshold, times, shadow, fromMs, untilMs, released } = block;
  const what = released === null ? 'block' : 'release';
  // A rule that is on and one in shadow mode may find the same numbers in the same millisecond.
  const detail = `${prefix}.${fromMs}${shadow ? '.shadow' : ''}`;
  return {
    kind: 'guard',
    what,
    eventId: eventIdOf({ messageId: accountId, kind: `otp_guard.${what}`, detail }),
    atMs: released === null ? fromMs : untilMs,
    accountId,
    // Under test keys the guard is asked nothing.
    livemode: true,
    rule,
    // Its refusals say which: people among the blocked numbers may be spared.
    action: null,
    mode: shadow ? 'shadow' : 'on',
    scope: prefix,
    prefix,
    statistic,
    threshold,
    times,
    untilMs,
    released: released ?? '',
  };
}

/** That nothing is blocked in an outage of a carrier or of numbers, and that it has ended, for each account it concerns. */
function factsOfOutage({ accountIds, fromMs, end, statistic, threshold, ...place }: StoredOutage): GuardFact[] {
  const [scope, prefix] = 'prefix' in place ? [place.prefix, place.prefix] : [place.carrier, ''];
  const untilMs = prefix === '' ? 0 : fromMs + thresholds.undelivered.outageMsMax;
  const decisions = [{ what: 'suspension' as const, atMs: fromMs, statistic, threshold, untilMs }];
  return accountIds.flatMap((accountId) =>
    [...decisions, ...(end === null ? [] : [{ what: 'resumption' as const, untilMs: 0, ...end }])].map(
      (decision): GuardFact => ({
        ...{ kind: 'guard', accountId, livemode: true, rule: 'outage', action: null, mode: 'on' },
        ...{ scope, prefix, times: 0, released: '', ...decision },
        eventId: eventIdOf({
          messageId: accountId,
          kind: `otp_guard.${decision.what}`,
          detail: `${scope}.${fromMs}`,
        }),
      }),
    ),
  );
}
