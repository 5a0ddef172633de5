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
import type { AccountMemory, PendingCode } from './account-memory.ts';
import { Accounts, type Totalled } from './accounts.ts';
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
import { type JudgedCode, arrived, beginOutage, countCode, endedOutages, isExcused } from './judged-code.ts';
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
  readonly #accounts: Accounts;
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
    this.#accounts = new Accounts(bounds);
  }

  configure(modes: GuardModes): void {
    this.#modes = modes;
  }

  /** Whether a code may be sent. `unit`, uniform in [0, 1), draws the probes. Changes nothing. */
  decide(request: GuardRequest, nowMs: number, unit: number): GuardVerdict {
    if (this.#isSafe(request)) return passes;
    const memory = this.#accounts.known(request.accountId);
    return verdictOf(request, { memory, blocks: this.#blocks(), modes: this.#modes, nowMs, unit });
  }

  /** It was accepted. */
  sent(send: GuardSend, nowMs: number): GuardEvent[] {
    if (this.#isSafe(send)) return [];
    const { code, events } = this.#counted(send, nowMs, true);
    return [...events, ...this.#testSequence(send.accountId, code, nowMs)];
  }

  /**
   * A code that is about to be sent counts at once, but for `sequence`: a block stays when a code is withdrawn. One that
   * waits at its number stays until this one is accepted: what is refused after all must not end the judgement of what was
   * sent.
   */
  begin(send: GuardSend, nowMs: number): { readonly begun: BegunCode; readonly events: readonly GuardEvent[] } {
    const { accountId, to, isProbe } = send;
    if (this.#isSafe(send)) return { begun: { send, code: null }, events: [] };
    const before = this.#accounts.known(accountId)?.waiting(to);
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
    const memory = this.#accounts.known(accountId);
    if (code === null || memory?.pending(to) !== code) return this.sent({ ...send, carrier }, nowMs);
    memory.accepted(code, carrier);
    return this.#testSequence(accountId, code, nowMs);
  }

  /** What was begun is not sent after all. */
  withdraw({ send: { accountId }, code }: BegunCode): void {
    const memory = this.#accounts.known(accountId);
    if (code !== null) memory?.withdraw(code);
  }

  /** The same code once more: one more message to the number that waits, or the number waits again. */
  resent(send: GuardSend, nowMs: number): GuardEvent[] {
    if (this.#isSafe(send)) return [];
    return this.#accounts.known(send.accountId)?.resent(send.to) === true ? [] : this.sent(send, nowMs);
  }

  verified({ accountId, to, ownCode }: EnteredCode, nowMs: number): GuardEvent[] {
    const memory = this.#accounts.known(accountId);
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
    this.#accounts.known(accountId)?.forgetCounts(prefix);
  }

  /** A receipt that says delivered. */
  received({ accountId, to }: GuardNumber): void {
    const code = this.#accounts.known(accountId)?.pending(to);
    if (code !== undefined) code.hasReceipt = true;
  }

  /** What follows from the time alone, and the totals: called about once a second. */
  advance(nowMs: number): GuardEvent[] {
    const events: GuardEvent[] = this.#outages.advance(nowMs).map((end) => ({ kind: 'resumed', ...end }));
    for (const [accountId, memory] of this.#accounts.all()) {
      events.push(...this.#judgeDue(accountId, memory, this.#bounds.pendingShare, nowMs));
    }
    events.push(...this.#keepTotals(nowMs));
    return events;
  }

  /** How much it holds of what is bounded. */
  get held(): { readonly accounts: number; readonly pending: number; readonly histories: number } {
    const [pending, histories] = [this.#accounts.total('pendingCount'), this.#accounts.total('historyCount')];
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

  /** The two minutes of a code are over, or there is no room for it. What becomes of a client's own code is not known. */
  #judge(accountId: string, memory: AccountMemory, code: PendingCode, nowMs: number): GuardEvent[] {
    if (!code.isJudged || code.isCleared || this.#isSafe({ accountId, to: code.to })) return [];
    const conversion = memory.conversion(code.carrier);
    const about = { accountId, memory, code, conversion, usual: conversion.usual, nowMs };
    const events = [...this.#carrierOutage(about), ...endedOutages(about)];
    const excuse = this.#excuse(about);
    if (excuse === 'excused') return events;
    // From now on three misses block.
    if (excuse === 'beyond' && !code.four.isSuspicious) code.four.restart(thresholds.afterBlock);
    for (const history of countCode(about)) events.push(...this.#alarmsOf(about, history));
    return events;
  }

  #carrierOutage({ code, nowMs }: JudgedCode): GuardEvent[] {
    const { carrier, six, sentAtMs, isVerified } = code;
    const begun = this.#outages.add(
      { carrier, prefix: six.prefix, sentAtMs, hasReceipt: arrived(code), isVerified },
      nowMs,
    );
    return begun === null ? [] : [{ kind: 'suspended', ...begun, accountIds: this.#accounts.forgetMisses(carrier) }];
  }

  /** Whether it is no miss because of an outage of its carrier or its numbers; null: no outage concerns it. */
  #excuse(about: JudgedCode): 'excused' | 'beyond' | null {
    const { carrier, four, six, sentAtMs, isVerified } = about.code;
    const isOfCarrier = !isVerified && this.#outages.covers(carrier, sentAtMs);
    const isOfNumbers = !arrived(about.code) && (four.undelivered.isOutage || six.undelivered.isOutage);
    if (!isOfCarrier && !isOfNumbers) return null;
    return isExcused(about, isOfCarrier) ? 'excused' : 'beyond';
  }

  /** What follows from the tests that reached their threshold with this code. */
  #alarmsOf(about: JudgedCode, history: History): GuardEvent[] {
    const { accountId, code, usual, nowMs } = about;
    const events: GuardEvent[] = [];
    for (const rule of conversionTests) {
      const alarm = history.alarm(rule);
      if (alarm === null || this.#waits(history, code.six, rule, nowMs)) continue;
      const mayBeOutage = !arrived(code) && history.undelivered.mayBeOutage(code.sentAtMs, history.usualCodes(usual));
      const isOn = this.#modes[rule] === 'on';
      if (!isOn) history.restartTest(rule, mayBeOutage ? 0 : thresholds.afterBlock);
      if (!mayBeOutage) events.push(...this.#block(accountId, code, history, alarm, nowMs));
      else if (isOn) events.push(beginOutage(about, history));
    }
    return events;
  }

  #counted(send: GuardSend, nowMs: number, isAccepted: boolean) {
    const { accountId, to, isProbe } = send;
    const memory = this.#accounts.used(accountId);
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
    if (!isSequenceDue(four.pending.size - four.notAccepted.size)) return [];
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

  /**
   * `found`: one of the two blocks of numbers that the code belongs to. Only a rule that is on changes what is counted
   * there.
   */
  #block(accountId: string, { six }: PendingCode, found: History, alarm: Alarm, nowMs: number): GuardEvent[] {
    const mode = this.#modes[alarm.rule];
    if (mode === 'off') return [];
    const shadow = mode === 'shadow';
    const about = { accountId, prefix: found.prefix, widePrefix: six.prefix, alarm, shadow };
    const decided = decideBlock(about, this.#blocks(), this.#bounds, nowMs);
    if (!shadow) {
      found.restart(thresholds.afterBlock);
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

  /** At a total the account with the most has up to an eighth of its codes judged, or forgets an eighth of its histories. */
  #keepTotals(nowMs: number): GuardEvent[] {
    const { pendingMax, historiesMax } = this.#bounds;
    const events: GuardEvent[] = [];
    for (let excess = this.#excess('pendingCount', pendingMax); excess > 0; ) {
      const [accountId, most] = this.#accounts.most('pendingCount');
      const judged = Math.min(excess, Math.ceil(most.pendingCount / 8));
      events.push(...this.#judgeDue(accountId, most, most.pendingCount - judged, nowMs));
      excess = this.#excess('pendingCount', pendingMax);
    }
    while (this.#excess('historyCount', historiesMax) > 0) {
      const [, most] = this.#accounts.most('historyCount');
      most.dropHistories(Math.ceil(most.historyCount / 8));
    }
    return events;
  }

  #excess(of: Totalled, max: number): number {
    return this.#accounts.total(of) - max;
  }
}
