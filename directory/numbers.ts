// Which accounts have registered a number or short code as their sender, and so receive what subscribers answer.
// Names with letters are left out: nobody can answer them. No I/O.
import type { AccountId } from '../model/ids.ts';
import { senderKindOf } from '../model/sender.ts';

/** An account, and the number as it registered it. */
export type NumberOwner = { readonly accountId: AccountId; readonly sender: string };

export class Numbers {
  readonly #owners = new Map<string, NumberOwner[]>();

  /** Takes over what an account's senders were before and are now. */
  change(accountId: AccountId, before: Iterable<string>, now: Iterable<string>): void {
    for (const sender of before) {
      const digits = digitsOf(sender);
      if (digits === null) continue;
      const left = (this.#owners.get(digits) ?? []).filter(
        (owner) => owner.accountId !== accountId || owner.sender !== sender,
      );
      if (left.length > 0) this.#owners.set(digits, left);
      else this.#owners.delete(digits);
    }
    for (const sender of now) {
      const digits = digitsOf(sender);
      if (digits === null) continue;
      const owners = [...(this.#owners.get(digits) ?? []), { accountId, sender }];
      // Ids sort by time: the account that was there first comes first.
      this.#owners.set(
        digits,
        owners.sort((one, other) => (one.accountId < other.accountId ? -1 : one.accountId > other.accountId ? 1 : 0)),
      );
    }
  }

  /** `digits` without a plus. The account that was there first comes first. */
  ownersOf(digits: string): readonly NumberOwner[] {
    return this.#owners.get(digits) ?? [];
  }
}

function digitsOf(sender: string): string | null {
  const kind = senderKindOf(sender);
  if (kind !== 'numeric' && kind !== 'short_code') return null;
  return sender.startsWith('+') ? sender.slice(1) : sender;
}
