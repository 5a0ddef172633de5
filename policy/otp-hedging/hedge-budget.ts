// Which second copies may be sent: a bucket of tokens for each account and pair of carriers. It starts empty, earns a
// share of a token with each first send, and holds at most `tokensMax`: a restart cannot cause a burst, and an account
// cannot hedge more than the share of what it sends. Pure.
import type { Clock } from '../../platform/clock.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';

export type HedgeBudgetBounds = { readonly tokensMax: number; readonly pairsMax: number; readonly idleMs: number };

export class HedgeBudget {
  readonly #tokensMax: number;
  readonly #tokens: RotatingMap<string, number>;

  constructor({ tokensMax, pairsMax, idleMs }: HedgeBudgetBounds, clock: Clock) {
    this.#tokensMax = tokensMax;
    this.#tokens = new RotatingMap(idleMs, pairsMax, clock);
  }

  /** A first copy was sent that could be hedged by this carrier. */
  earn(accountId: string, to: string, share: number): void {
    const pair = pairOf(accountId, to);
    this.#tokens.set(pair, Math.min(this.#tokensMax, (this.#tokens.get(pair) ?? 0) + share));
  }

  /** Takes the token of one copy; false when there is none. */
  spend(accountId: string, to: string): boolean {
    const pair = pairOf(accountId, to);
    const tokens = this.#tokens.get(pair) ?? 0;
    if (tokens < 1 - tolerance) return false;
    this.#tokens.set(pair, Math.max(0, tokens - 1));
    return true;
  }
}

/** Twenty times a twentieth is a token. */
const tolerance = 1e-9;

const pairOf = (accountId: string, to: string): string => `${accountId} ${to}`;
