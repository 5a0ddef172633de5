// How many requests each account may have in flight: its share of all, and of that as many as its receivers answer.
// Timeouts and refused connections shrink it, successes let it grow again; never below what a few endpoints need. A stop
// waits for the answers of all.
import type { AccountId } from '../../../model/ids.ts';
import type { Clock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { ignoring } from '../../../platform/errors.ts';
import type { SharedBound, Taken } from '../../../platform/shared-bound.ts';
import type { SendError } from '../send/send-error.ts';
import { limits } from '../../../platform/limits.ts';
import type { Share } from '../../../platform/limits-shares.ts';
import { nextAccountConcurrency } from './schedule.ts';

export class AccountRequests {
  readonly #sends: SharedBound;
  readonly #perAccount: number;
  /** Of accounts with requests in flight; the others start from the first number. */
  readonly #allowed = new Map<AccountId, number>();
  #allEnded: () => void = () => {};

  constructor(sends: SharedBound, { perAccount }: Pick<Share, 'perAccount'>) {
    this.#sends = sends;
    this.#perAccount = perAccount;
  }

  allowedOf(accountId: AccountId): number {
    return this.#allowed.get(accountId) ?? Math.min(limits.delivery.accountConcurrencyFirst, this.#perAccount);
  }

  /** What `take` would do. */
  look(accountId: AccountId): Taken {
    if (this.#sends.usedBy(accountId) >= Math.floor(this.allowedOf(accountId))) return 'account_full';
    return this.#sends.look(accountId);
  }

  take(accountId: AccountId): void {
    this.#sends.take(accountId);
  }

  /** A request has ended; `error` null: a 2xx. */
  ended(accountId: AccountId, error: SendError | null): void {
    this.#sends.giveBack(accountId);
    if (this.#sends.used === 0) this.#allEnded();
    if (this.#sends.usedBy(accountId) === 0) this.#allowed.delete(accountId);
    else this.#allowed.set(accountId, nextAccountConcurrency(this.allowedOf(accountId), error, this.#perAccount));
  }

  /** Resolves when all requests have ended, or after so long. No further one begins meanwhile. */
  async wait(withinMs: number, clock: Clock): Promise<void> {
    if (this.#sends.used === 0) return;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#allEnded = resolve;
    await withDeadline('the answers of webhooks', withinMs, ended, clock).catch((error: unknown) =>
      ignoring(error, 'requests without an answer are made again by the next process'),
    );
  }
}
