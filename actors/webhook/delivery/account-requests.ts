// How many requests each account may have in flight: its share of all, and of that as many as its receivers answer.
// Timeouts and refused connections shrink it, successes let it grow again; never below what a few endpoints need. It is
// remembered for some minutes while nothing of the account is in flight, so that receivers that are away are not asked by as
// many requests as before with every event. A stop waits for the answers of all.
import type { AccountId } from '../../../model/ids.ts';
import type { Clock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { ignoring } from '../../../platform/errors.ts';
import type { SharedBound, Taken } from '../../../platform/shared-bound.ts';
import type { SendError } from '../send/send-error.ts';
import { limits } from '../../../platform/limits.ts';
import type { Share } from '../../../platform/limits-shares.ts';
import { nextAccountConcurrency } from './schedule.ts';

/** `atMs`: when a request of the account ended last, monotonic. */
type Allowed = { requests: number; atMs: number };

const { accountConcurrencyFirst, accountConcurrencyKeptMs, accountConcurrencyKeptMax } = limits.delivery;

export class AccountRequests {
  readonly #sends: SharedBound;
  readonly #perAccount: number;
  readonly #clock: Clock;
  /**
   * In the order in which accounts were added. One without an entry may have accountConcurrencyFirst. An entry is changed in place:
   * deleting and adding one with every request fills V8's old generation (decision 242).
   */
  readonly #allowed = new Map<AccountId, Allowed>();
  #allEnded: () => void = () => {};

  constructor(sends: SharedBound, { perAccount }: Pick<Share, 'perAccount'>, clock: Clock) {
    this.#sends = sends;
    this.#perAccount = perAccount;
    this.#clock = clock;
  }

  allowedOf(accountId: AccountId): number {
    const known = this.#allowed.get(accountId);
    if (known === undefined || this.#isForgotten(accountId, known))
      return Math.min(accountConcurrencyFirst, this.#perAccount);
    return known.requests;
  }

  /** What `take` would do. */
  look(accountId: AccountId): Taken {
    if (this.#sends.usedBy(accountId) >= Math.floor(this.allowedOf(accountId))) return 'account_full';
    return this.#sends.look(accountId);
  }

  take(accountId: AccountId): void {
    const known = this.#allowed.get(accountId);
    if (known !== undefined && this.#isForgotten(accountId, known)) this.#allowed.delete(accountId);
    this.#sends.take(accountId);
  }

  /** A request has ended; `error` null: a 2xx. */
  ended(accountId: AccountId, error: SendError | null): void {
    // First: while a request is in flight nothing is forgotten, however long it takes.
    const requests = nextAccountConcurrency(this.allowedOf(accountId), error, this.#perAccount);
    this.#sends.giveBack(accountId);
    const atMs = this.#clock.monotonicMs();
    const known = this.#allowed.get(accountId);
    if (known === undefined) {
      this.#allowed.set(accountId, { requests, atMs });
      this.#forgetFirst();
    } else {
      known.requests = requests;
      known.atMs = atMs;
    }
    if (this.#sends.used === 0) this.#allEnded();
  }

  #isForgotten(accountId: AccountId, { atMs }: Readonly<Allowed>): boolean {
    return this.#sends.usedBy(accountId) === 0 && this.#clock.monotonicMs() - atMs >= accountConcurrencyKeptMs;
  }

  /** What is too old, and what is beyond the bound, of accounts without a request in flight. Looks at two entries for each account that is added. */
  #forgetFirst(): void {
    for (let looked = 0; looked < 2; looked += 1) {
      const [first] = this.#allowed;
      if (first === undefined) return;
      const [accountId, allowed] = first;
      const isInFlight = this.#sends.usedBy(accountId) > 0;
      const isBeyond = this.#allowed.size > accountConcurrencyKeptMax;
      if (!isInFlight && !isBeyond && !this.#isForgotten(accountId, allowed)) return;
      this.#allowed.delete(accountId);
      if (isInFlight) this.#allowed.set(accountId, allowed);
    }
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
