// Counts the units of a bound that accounts share: a total, a share for each account, a reserve for urgent and for the
// system's own work. In memory of one thread; the caller answers the refused request.
import { assert } from './assert.ts';
import type { BoundName, Share } from './limits-shares.ts';
import type { GaugeTally } from './tallied-metrics.ts';
import { metrics } from './telemetry.ts';

/**
 * ordinary: batches, reads, management · urgent: single messages of any category, cancels, which must not wait for
 * ordinary work: a share of their own, and the reserve · otp: messages of one-time passwords: as urgent, and the part of
 * the reserve that is for them alone · system: the system's own work for any account; the account's share does not apply.
 */
export type Use = 'ordinary' | 'urgent' | 'otp' | 'system';

/** account_full: this account is at its share · full: the total, less what is reserved for others, is used up. */
export type Taken = 'taken' | 'account_full' | 'full';

/** Accounts that hold nothing and have an entry. */
const idleAccountsMax = 256;

/**
 * ```ts
 * const bound = new SharedBound('publish_slots', shares.publish_slots);
 * const taken = bound.take(accountId, 'ordinary');
 * if (taken !== 'taken') return refuse(taken); // account_full: 429, full: 503
 * work(() => bound.giveBack(accountId, 'ordinary'));
 * ```
 */
export class SharedBound {
  readonly name: BoundName;
  #share: Share;
  #used = 0;
  readonly #usedMetric: GaugeTally;
  /** Units held by account; urgent work has a separate share, so that an account's own campaign does not block it. */
  readonly #ordinary = new Map<string, number>();
  readonly #urgent = new Map<string, number>();

  constructor(name: BoundName, share: Share) {
    this.name = name;
    this.#share = share;
    metrics.sharedBoundTotal.set({ bound: name }, share.total);
    this.#usedMetric = metrics.sharedBoundUsed.tally({ bound: name });
    this.#usedMetric.set(0);
    for (const reason of ['account_full', 'full']) metrics.sharedBoundRefusals.inc({ bound: name, reason }, 0);
  }

  get used(): number {
    return this.#used;
  }

  usedBy(account: string, use: Exclude<Use, 'system'> = 'ordinary'): number {
    return this.#held(use).get(account) ?? 0;
  }

  /** Accounts with an entry. */
  get accountsKnown(): number {
    return this.#ordinary.size + this.#urgent.size;
  }

  /** Takes the share of the configuration; units that are already held stay held. */
  configure(share: Share): void {
    this.#share = share;
    metrics.sharedBoundTotal.set({ bound: this.name }, share.total);
  }

  take(account: string, use: Use = 'ordinary', units = 1): Taken {
    const taken = this.look(account, use, units);
    if (taken !== 'taken') return this.#refused(taken);
    this.#used += units;
    if (use !== 'system') {
      const held = this.#held(use);
      held.set(account, (held.get(account) ?? 0) + units);
    }
    this.#usedMetric.set(this.#used);
    return 'taken';
  }

  /** Returns what `take` took, with the same account, use and units. */
  giveBack(account: string, use: Use = 'ordinary', units = 1): void {
    if (use !== 'system') {
      const held = this.#held(use);
      const left = (held.get(account) ?? 0) - units;
      assert(left >= 0, `an account returned more units to ${this.name} than it had taken`);
      // An entry of an idle account stays: a Map that becomes empty again and again fills the old generation (decision 242).
      if (left === 0 && held.size > idleAccountsMax) held.delete(account);
      else held.set(account, left);
    }
    this.#used -= units;
    assert(this.#used >= 0, `more units were returned to ${this.name} than were taken`);
    this.#usedMetric.set(this.#used);
  }

  /** As `look`, and counts a refusal: for work that is refused early, and takes its units later. */
  check(account: string, use: Use = 'ordinary', units = 1): Taken {
    const taken = this.look(account, use, units);
    return taken === 'taken' ? taken : this.#refused(taken);
  }

  #refused(reason: Exclude<Taken, 'taken'>): Taken {
    metrics.sharedBoundRefusals.inc({ bound: this.name, reason });
    return reason;
  }

  /** The result that `take` would have, without taking or counting anything. */
  look(account: string, use: Use = 'ordinary', units = 1): Taken {
    const { perAccount, perAccountUrgent } = this.#share;
    const own = use === 'ordinary' ? perAccount : (perAccountUrgent ?? perAccount);
    if (use !== 'system' && this.usedBy(account, use) + units > own) return 'account_full';
    return this.#used + units > this.#roomFor(use) ? 'full' : 'taken';
  }

  #roomFor(use: Use): number {
    const { total, reserve, reserveOtp = 0 } = this.#share;
    if (use === 'ordinary') return total - reserve;
    return use === 'urgent' ? total - reserveOtp : total;
  }

  #held(use: Exclude<Use, 'system'>): Map<string, number> {
    return use === 'ordinary' ? this.#ordinary : this.#urgent;
  }
}
