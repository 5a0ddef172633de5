// What one code whose two minutes are over, or that has no room any more, changes in what is counted of its numbers. Which
// blocks follow is the guard's to decide.
import type { AccountMemory, PendingCode } from './account-memory.ts';
import type { GuardEvent } from './contract.ts';
import type { Conversion } from './conversion.ts';
import type { History } from './history.ts';
import { thresholds } from './thresholds.ts';

/** A code that is judged. `conversion`: the account's with its operator. */
export type JudgedCode = {
  readonly accountId: string;
  readonly memory: AccountMemory;
  readonly code: PendingCode;
  readonly conversion: Conversion;
  /** Of this, the share that was usual before the code. */
  readonly usual: number;
  readonly nowMs: number;
};

/** An entered code did arrive. */
export const arrived = ({ hasReceipt, isVerified }: PendingCode): boolean => hasReceipt || isVerified;

/** Counts it among those that arrive or not. Returns the ends of outages of its numbers. */
export function endedOutages({ accountId, code, usual, nowMs }: JudgedCode): GuardEvent[] {
  const events: GuardEvent[] = [];
  for (const history of [code.four, code.six]) {
    const { isOutage, codes } = history.undelivered;
    history.undelivered.add(code);
    endOutage(history, code.sentAtMs, usual, nowMs);
    const isOver = isOutage && !history.undelivered.isOutage;
    if (isOver) events.push({ kind: 'unreachable_over', accountId, prefix: history.prefix, codes });
  }
  return events;
}

/**
 * Counts it as entered or missed, and yields where. A suspicious block neither shows what is usual, nor speaks for the block
 * of 10^6 numbers around it.
 */
export function* countCode({ code, conversion, nowMs }: JudgedCode): Iterable<History> {
  const { to, four, six, sentAtMs, isVerified } = code;
  const waited = waitedShare(nowMs - sentAtMs);
  const counted = four.isSuspicious ? [four] : [four, six];
  // Who was not waited for would lower what is usual.
  if (!four.isSuspicious && waited === 1) conversion.add(isVerified);
  for (const history of counted) {
    history.judge(isVerified, to, conversion, waited);
    yield history;
  }
}

/** Which share of those who enter their code have entered it by then, as far as is assumed: all within a minute. */
function waitedShare(ageMs: number): number {
  return Math.min(1, ageMs / thresholds.enteredWithinMs);
}

/** Ends an outage of numbers that lasts too long, or in which more is sent than usual: three misses block then. */
function endOutage(history: History, sentAtMs: number, usual: number, nowMs: number): void {
  const { undelivered } = history;
  if (!undelivered.isOutage) return;
  const isOver = undelivered.endOutage(sentAtMs, history.usualCodes(usual), nowMs);
  if (isOver) history.restart(thresholds.afterBlock);
}

/** Whether its block of 10^4 numbers got no more of the codes that do not arrive than an outage excuses. */
export function isExcused({ code, usual }: JudgedCode, isOfCarrier: boolean): boolean {
  const { four, sentAtMs } = code;
  const { undelivered } = four;
  if (isOfCarrier) return undelivered.isOfCarrier(sentAtMs, four.usualCodes(usual));
  return undelivered.isOutage || undelivered.codes <= thresholds.undelivered.excusedCodes;
}

/** Nobody can be reached at these numbers: the misses before it was noticed were those of the outage. */
export function beginOutage({ accountId, memory, nowMs }: JudgedCode, at: History): GuardEvent {
  const { prefix, undelivered } = at;
  undelivered.beginOutage(nowMs);
  for (const history of memory.histories()) if (history.prefix.startsWith(prefix)) history.restart(0);
  return { kind: 'unreachable', accountId, prefix, codes: undelivered.codes };
}
