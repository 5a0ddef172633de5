// The memories of all accounts, at most so many: the one whose account sent nothing for longest is forgotten first.
import { assert } from '../../platform/assert.ts';
import { setNewest } from '../../platform/bounded-map.ts';
import { AccountMemory } from './account-memory.ts';
import type { GuardBounds } from './contract.ts';

/** What all accounts together may have so many of. */
export type Totalled = 'pendingCount' | 'historyCount';

export class Accounts {
  readonly #bounds: GuardBounds;
  /** The one used last at the end. */
  readonly #memories = new Map<string, AccountMemory>();

  constructor(bounds: GuardBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#memories.size;
  }

  /** Undefined of an account that sent nothing lately. */
  known(accountId: string): AccountMemory | undefined {
    return this.#memories.get(accountId);
  }

  /** Of an account that sends something now. */
  used(accountId: string): AccountMemory {
    const memory = this.known(accountId) ?? new AccountMemory(this.#bounds);
    return setNewest(this.#memories, accountId, memory, this.#bounds.accountsMax);
  }

  all(): Iterable<readonly [accountId: string, AccountMemory]> {
    return this.#memories;
  }

  total(of: Totalled): number {
    let total = 0;
    for (const memory of this.#memories.values()) total += memory[of];
    return total;
  }

  /** The account that has most of it. */
  most(of: Totalled): readonly [accountId: string, AccountMemory] {
    let most: readonly [string, AccountMemory] | undefined;
    for (const entry of this.#memories) if (most === undefined || entry[1][of] > most[1][of]) most = entry;
    assert(most !== undefined, 'a total is exceeded and no account has any');
    return most;
  }

  /** The misses before an outage was noticed were its own. Returns whose they were: of many, those that sent last. */
  forgetMisses(carrier: string): readonly string[] {
    const concerned: string[] = [];
    for (const [accountId, memory] of this.#memories) {
      const histories = [...memory.histories()].filter((history) => history.carrier === carrier);
      for (const history of histories) history.restart(0);
      if (histories.length > 0) concerned.push(accountId);
    }
    return concerned.slice(-this.#bounds.outageAccountsMax);
  }
}
