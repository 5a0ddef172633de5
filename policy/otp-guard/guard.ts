// The guard against fraud with one-time passwords: who asks may send, and every process reports to it what was sent,
// entered and received. It refuses nothing by itself and does no I/O; time is a parameter, of one monotonic clock.
// Everything is counted for each account alone: what one account does never blocks another's numbers.
//
// | reported            | may return                                                                    |
// |---------------------|-------------------------------------------------------------------------------|
// | sent, or accepted   | blocked by `sequence`                                                         |
// | verified            | released, when it was a probe                                                 |
// | two minutes go by   | blocked by `conversion` or `partial_conversion`; an outage of a carrier or    |
// |                     | of a block of numbers, and its end                                            |
import { assert } from '../../platform/assert.ts';
import { setNewest } from '../../platform/bounded-map.ts';
import { AccountMemory, type PendingCode } from './account-memory.ts';
import { decideBlock } from './block-decision.ts';
import type { GuardBlocks } from './blocks.ts';
import type {
  GuardBounds,
  GuardEvent,
  GuardModes,
  GuardNumber,
  GuardRequest,
  GuardSend,
  GuardVerdict,
} from './contract.ts';
import { type Alarm, type ConversionTest, type History, conversionTests, prefixOf } from './history.ts';
import { Outages } from './outages.ts';
import { isSequenceDue, testSequence } from './sequence.ts';
import { thresholds } from './thresholds.ts';
import { passes, verdictOf } from './verdict.ts';

/** A code that is about to be sent. `code`: null when its number waited for one already. */
export type BegunCode = { readonly send: GuardSend; readonly code: PendingCode | null };

type NumbersPlace = { readonly accountId: string; readonly prefix: string };

export type EnteredCode = GuardNumber & Pick<GuardSend, 'ownCode'>;

export class OtpGuard {
  readonly #bounds: GuardBounds;
  readonly #blocks: () => GuardBlocks;
  readonly #isSafe: (number: GuardNumber) => boolean;
  readonly #outages: Outages;
  /** The one used last at the end. */
  readonly #accounts = new Map<string, AccountMemory>();
  #modes: GuardModes;

  /** `blocks`: those in effect, which others may change. `isSafe`: no rule refuses the number, and it counts nowhere. */
  constructor(
    modes: GuardModes,
    bounds: GuardBounds,
    blocks: () => GuardBlocks,
    isSafe: (number: GuardNumber) => boolean,
  ) {
    this.#modes = modes;
    this.#blocks = blocks;
    this.#isSafe = isSafe;
    this.#bounds = bounds;
    this.#outages = new Outages(bounds);
  }

  configure(modes: GuardModes): void {
    this.#modes = modes;
  }

  /** Whether a code may be sent. `unit`, uniform in [0, 1), draws the probes. Changes nothing. */
  decide(request: GuardRequest, nowMs: number, unit: number): GuardVerdict {
    if (this.#isSafe(request)) return passes;
    const memory = this.#accounts.get(request.accountId);
    return verdictOf(request, { memory, blocks: this.#blocks(), modes: this.#modes, nowMs, unit });
  }

  /** It was accepted. */
  sent(send: GuardSend, nowMs: number): GuardEvent[] {
    if (this.#isSafe(send)) return [];
    const { code, events } = this.#counted(send, nowMs, true);
    return [...events, ...this.#testSequence(send.accountId, code, nowMs)];
  }

  /**
   * A code that is about to be sent counts at once, but for `sequence`: a block stays when a code is withdrawn. One that waits at
   * its number stays until this one is accepted: what is refused after all must not end the judgement of what was sent.
   */
  begin(send: GuardSend, nowMs: number): { readonly begun: BegunCode; readonly events: readonly GuardEvent[] } {
    const { accountId, to, isProbe } = send;
    if (this.#isSafe(send)) return { begun: { send, code: null }, events: [] };
    const before = this.#accounts.get(accountId)?.waiting(to);
    if (before !== undefined) {
      if (isProbe) this.#probed(accountId, before, nowMs);
      return { begun: { send, code: null }, events: [] };
    }
    const { code, events } = this.#counted(send, nowMs, false);
    return { begun: { send, code }, events };
  }

  /** What was begun is accepted, and this carrier takes it. */
  accepted({ send, code }: BegunCode, carrier: string, nowMs: number): readonly GuardEvent[] {
    const { accountId, to } = send;
    const memory = this.#accounts.get(accountId);
    if (code === null || memory?.pending(to) !== code) return this.sent({ ...send, carrier }, nowMs);
    memory.accepted(code, carrier);
    return this.#testSequence(accountId, code, nowMs);
  }

  /** What was begun is not sent after all. */
  withdraw({ send: { accountId }, code }: BegunCode): void {
    const memory = this.#accounts.get(accountId);
    if (code !== null) memory?.withdraw(code);
  }

  /** The same code once more: one more message to the number that waits, or the number waits again. */
  resent(send: GuardSend, nowMs: number): GuardEvent[] {
    if (this.#isSafe(send)) return [];
    return this.#accounts.get(send.accountId)?.resent(send.to) === true ? [] : this.sent(send, nowMs);
  }

  verified({ accountId, to, ownCode }: EnteredCode, nowMs: number): GuardEvent[] {
    const memory = this.#accounts.get(accountId);
    if (memory === undefined || memory.pending(to)?.isVerified === true) return [];
    const code = memory.verified(to);
    if (this.#isSafe({ accountId, to })) return [];
    for (const openDigits of [4, 6] as const) {
      const history = memory.known(prefixOf(to, openDigits), openDigits);
      history?.verified(nowMs);
      // It was counted as a miss.
      if (code === undefined && ownCode !== true) history?.judge(true, to, memory.conversion(history.carrier));
    }
    if (code?.isProbe !== true) return [];
    return [code.four, code.six].flatMap(({ prefix }) => {
      const leftMs = this.#blocks().on.release({ accountId, prefix }, nowMs);
      return leftMs > 0 ? [{ kind: 'released' as const, accountId, prefix, leftMs }] : [];
    });
  }

  /** A person has released a block of these numbers, and so says that what was asked for there is legitimate. */
  released({ accountId, prefix }: NumbersPlace): void {
    this.#accounts.get(accountId)?.forgetCounts(prefix);
  }

  /** A receipt that says delivered. */
  received({ accountId, to }: GuardNumber): void {
    const code = this.#accounts.get(accountId)?.pending(to);
    if (code !== undefined) code.hasReceipt = true;
  }

  /** What follows from the time alone, and the totals: called about once a second. */
  advance(nowMs: number): GuardEvent[] {
    const events: GuardEvent[] = this.#outages.advance(nowMs).map((end) => ({ kind: 'resumed', ...end }));
    for (const [accountId, memory] of this.#accounts) {
      events.push(...this.#judgeDue(accountId, memory, this.#bounds.pendingShare, nowMs));
    }
    events.push(...this.#keepTotals(nowMs));
    return events;
  }

  /** How much it holds of what is bounded. */
  get held(): { readonly accounts: number; readonly pending: number; readonly histories: number } {
    const [pending, histories] = [this.#total('pendingCount'), this.#total('historyCount')];
    return { accounts: this.#accounts.size, pending, histories };
  }

  /** Judges the codes whose two minutes are over, and the oldest of those of which more than `kept` wait. */
  #judgeDue(accountId: string, memory: AccountMemory, kept: number, nowMs: number): GuardEvent[] {
    const events: GuardEvent[] = [];
    for (let code = memory.takeDue(nowMs, kept); code !== undefined; code = memory.takeDue(nowMs, kept)) {
      events.push(...this.#judge(accountId, memory, code, nowMs));
    }
    return events;
  }

  /**
   * The two minutes of a code are over, or there is no room for it. A miss does not count when its carrier was in an outage,
   * and less the sooner it is judged. What becomes of a client's own code is not known.
   */
  #judge(accountId: string, memory: AccountMemory, code: PendingCode, nowMs: number): GuardEvent[] {
    if (!code.isJudged || code.isCleared || this.#isSafe({ accountId, to: code.to })) return [];
    const { carrier, four, six, sentAtMs, isVerified } = code;
    const hasReceipt = code.hasReceipt || isVerified;
    const begun = this.#outages.add({ carrier, prefix: six.prefix, sentAtMs, hasReceipt, isVerified }, nowMs);
    const events: GuardEvent[] = [];
    if (begun !== null) events.push({ kind: 'suspended', ...begun, accountIds: this.#forgetMisses(carrier) });
    const conversion = memory.conversion(carrier);
    const { usual } = conversion;
    const waited = waitedShare(nowMs - sentAtMs);
    for (const history of [four, six]) {
      const { isOutage, codes } = history.undelivered;
      history.undelivered.add(code);
      judgeAfterOutage(history, sentAtMs, usual, nowMs);
      const isOver = isOutage && !history.undelivered.isOutage;
      if (isOver) events.push({ kind: 'unreachable_over', accountId, prefix: history.prefix, codes });
    }
    const isOfCarrier = !isVerified && this.#outages.covers(carrier, sentAtMs);
    const isOfNumbers = !hasReceipt && (four.undelivered.isOutage || six.undelivered.isOutage);
    if (isOfCarrier || isOfNumbers) {
      if (isExcused(code, usual, isOfCarrier)) return events;
      if (!four.isSuspicious) four.begin(thresholds.afterBlock);
    }
    // A suspicious block neither shows what is usual, nor speaks for the block of 10^6 numbers around it.
    const counted = four.isSuspicious ? [four] : [four, six];
    // Who was not waited for would lower what is usual.
    if (!four.isSuspicious && waited === 1) conversion.add(isVerified);
    for (const history of counted) {
      history.judge(isVerified, code.to, conversion, waited);
      for (const rule of conversionTests) {
        const alarm = history.alarm(rule);
        if (alarm === null || this.#waits(history, six, rule, nowMs)) continue;
        const mayBeOutage = !hasReceipt && history.undelivered.mayBeOutage(sentAtMs, history.usualCodes(usual));
        if (this.#modes[rule] !== 'on') {
          history.beginTest(rule, mayBeOutage ? 0 : thresholds.afterBlock);
          if (!mayBeOutage) events.push(...this.#block(accountId, code, history, alarm, nowMs));
        } else if (mayBeOutage) {
          history.undelivered.beginOutage(nowMs);
          events.push(unreachable(accountId, memory, history));
        } else events.push(...this.#block(accountId, code, history, alarm, nowMs));
      }
    }
    return events;
  }

  #counted(send: GuardSend, nowMs: number, isAccepted: boolean) {
    const { accountId, to, isProbe } = send;
    const memory = this.#memoryOf(accountId);
    const before = memory.pending(to);
    const events = before?.isVerified === true ? this.#judge(accountId, memory, before, nowMs) : [];
    const code = memory.sent(send, nowMs, isAccepted);
    // Beyond the account's share the oldest is judged sooner.
    if (memory.pendingCount > this.#bounds.pendingShare) {
      events.push(...this.#judgeDue(accountId, memory, this.#bounds.pendingShare, nowMs));
    }
    if (isProbe) this.#probed(accountId, code, nowMs);
    return { code, events };
  }

  #testSequence(accountId: string, code: PendingCode, nowMs: number): GuardEvent[] {
    const { four } = code;
    if (!isSequenceDue(four.pending.size - four.begun.size)) return [];
    const { pairs, threshold, isSequential } = testSequence(four.accepted());
    if (!isSequential) return [];
    return this.#block(accountId, code, four, { rule: 'sequence', statistic: pairs, threshold }, nowMs);
  }

  #probed(accountId: string, { four, six }: PendingCode, nowMs: number): void {
    for (const { prefix } of [four, six]) this.#blocks().on.probed({ accountId, prefix }, nowMs);
  }

  /** While receipts of its prefix fall too it may be an outage: an alarm waits two minutes for what others show. */
  #waits(history: History, { prefix, undelivered }: History, rule: ConversionTest, nowMs: number): boolean {
    if (undelivered.isOutage || !this.#outages.receiptsFell(history.carrier, prefix)) return false;
    return history.alarmWaitedMs(rule, this.#modes, nowMs) < thresholds.maturityMs;
  }

  /** `found`: one of the two blocks of numbers that the code belongs to. Only a rule that is on changes what is counted there. */
  #block(accountId: string, { six }: PendingCode, found: History, alarm: Alarm, nowMs: number): GuardEvent[] {
    const mode = this.#modes[alarm.rule];
    if (mode === 'off') return [];
    const shadow = mode === 'shadow';
    const about = { accountId, prefix: found.prefix, widePrefix: six.prefix, alarm, shadow };
    const decided = decideBlock(about, this.#blocks(), this.#bounds, nowMs);
    if (!shadow) {
      found.begin(thresholds.afterBlock);
      found.undelivered.forgetReceipts();
    }
    if (decided === null) return [];
    if (decided.kind === 'blocked') {
      const { kind: _, insteadOf: __, ...block } = decided;
      this.#blocks()
        .of(shadow)
        .apply(block, nowMs + block.durationMs, nowMs);
    }
    return [decided];
  }

  /** The misses before an outage was noticed were its own. Returns whose they were: of many, those that sent last. */
  #forgetMisses(carrier: string): readonly string[] {
    const concerned: string[] = [];
    for (const [accountId, memory] of this.#accounts) {
      const histories = [...memory.histories()].filter((history) => history.carrier === carrier);
      for (const history of histories) history.begin(0);
      if (histories.length > 0) concerned.push(accountId);
    }
    return concerned.slice(-this.#bounds.outageAccountsMax);
  }

  #memoryOf(accountId: string): AccountMemory {
    const memory = this.#accounts.get(accountId) ?? new AccountMemory(this.#bounds);
    return setNewest(this.#accounts, accountId, memory, this.#bounds.accountsMax);
  }

  /** At a total the account with the most has up to an eighth of its codes judged, or forgets an eighth of its histories. */
  #keepTotals(nowMs: number): GuardEvent[] {
    const { pendingMax, historiesMax } = this.#bounds;
    const events: GuardEvent[] = [];
    for (let excess = this.#excess('pendingCount', pendingMax); excess > 0; ) {
      const [accountId, most] = this.#most('pendingCount');
      const judged = Math.min(excess, Math.ceil(most.pendingCount / 8));
      events.push(...this.#judgeDue(accountId, most, most.pendingCount - judged, nowMs));
      excess = this.#excess('pendingCount', pendingMax);
    }
    while (this.#excess('historyCount', historiesMax) > 0) {
      const [, most] = this.#most('historyCount');
      most.dropHistories(Math.ceil(most.historyCount / 8));
    }
    return events;
  }

  #excess(of: 'pendingCount' | 'historyCount', max: number): number {
    return this.#total(of) - max;
  }

  #total(of: 'pendingCount' | 'historyCount'): number {
    let total = 0;
    for (const memory of this.#accounts.values()) total += memory[of];
    return total;
  }

  #most(of: 'pendingCount' | 'historyCount'): readonly [string, AccountMemory] {
    let most: readonly [string, AccountMemory] | undefined;
    for (const entry of this.#accounts) if (most === undefined || entry[1][of] > most[1][of]) most = entry;
    assert(most !== undefined, 'a total is exceeded and no account has any');
    return most;
  }
}

/** Which share of those who enter their code have entered it by then, as far as is assumed: all within a minute. */
function waitedShare(ageMs: number): number {
  return Math.min(1, ageMs / thresholds.enteredWithinMs);
}

/** Ends an outage of numbers that lasts too long, or in which more is sent than usual: three misses block then. */
function judgeAfterOutage(history: History, sentAtMs: number, usualConversion: number, nowMs: number): void {
  const { undelivered } = history;
  if (!undelivered.isOutage) return;
  const isOver = undelivered.endOutage(sentAtMs, history.usualCodes(usualConversion), nowMs);
  if (isOver) history.begin(thresholds.afterBlock);
}

/** Whether its block of 10^4 numbers got no more of the codes that do not arrive than an outage excuses. */
function isExcused({ four, sentAtMs }: PendingCode, usualConversion: number, isOfCarrier: boolean): boolean {
  const { undelivered } = four;
  if (isOfCarrier) return undelivered.isOfCarrier(sentAtMs, four.usualCodes(usualConversion));
  return undelivered.isOutage || undelivered.codes <= thresholds.undelivered.excusedCodes;
}

/** Nobody can be reached at these numbers: the misses before it was noticed were those of the outage. */
function unreachable(accountId: string, memory: AccountMemory, { prefix, undelivered }: History): GuardEvent {
  for (const history of memory.histories()) if (history.prefix.startsWith(prefix)) history.begin(0);
  return { kind: 'unreachable', accountId, prefix, codes: undelivered.codes };
}
