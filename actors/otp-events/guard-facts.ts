// What an entry of the bucket `otp_guard` says about the guard's decisions, as a fact. Pure.
import type { StoredBlock } from '../../cluster/bus/otp-guard-bucket.ts';
import type { GuardFact } from '../../model/fact.ts';
import { eventIdOf } from '../../model/ids.ts';

/** That numbers are blocked, or that they are not any more although the time of the block is not over. */
export function factOfBlock(block: StoredBlock): GuardFact {
  const { accountId, prefix, rule, statistic, threshold, times, shadow, fromMs, untilMs, released } = block;
  const what = released === null ? 'block' : 'release';
  return {
    kind: 'guard',
    what,
    eventId: eventIdOf({ messageId: accountId, kind: `otp_guard.${what}`, detail: `${prefix}.${fromMs}` }),
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
