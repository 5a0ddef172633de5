// The generic cell rate algorithm (ITU-T I.371). Its state is one time, the theoretical arrival of the next request at
// exactly this rate; so a rate costs eight octets, and changing a limit needs no reset. Pure: times are arguments, in
// microseconds.

/** A rate as the algorithm uses it. */
export type Pace = {
  /** Time per request. */
  readonly intervalUs: number;
  readonly burst: number;
};

export type RateVerdict = {
  readonly ok: boolean;
  /** The new state. A refusal changes one that is further ahead than a whole burst, and no other. */
  readonly arrivalUs: number;
  /** Requests that are still allowed now. */
  readonly remaining: number;
  /** Microseconds until the whole burst is available again. */
  readonly resetUs: number;
  /** Microseconds until the next request is allowed; 0 when this one was. */
  readonly retryUs: number;
};

export function paceOf(count: number, perUs: number, burst: number): Pace {
  return { intervalUs: perUs / count, burst: Math.max(1, burst) };
}

/** Takes `turns` requests at once, or none. More than a whole burst is never allowed. */
export function takeTurn(pace: Pace, arrivalUs: number, nowUs: number, turns = 1): RateVerdict {
  const { intervalUs, burst } = pace;
  const spanUs = intervalUs * burst;
  // An arrival further ahead than a whole burst is from an earlier, slower rate: the whole burst is used, no more. Without
  // a new state every try would be refused until that rate has recovered.
  const from = Math.min(Math.max(arrivalUs, nowUs), nowUs + spanUs);
  const next = from + intervalUs * turns;
  // Tolerance for rounding of the stored time: half a thousandth of an interval.
  const isOk = next - nowUs <= spanUs + intervalUs / 2_000;
  const kept = isOk ? next : from;
  const resetUs = Math.max(0, kept - nowUs);
  return {
    ok: isOk,
    arrivalUs: isOk ? next : Math.min(arrivalUs, nowUs + spanUs),
    remaining: Math.max(0, Math.floor((spanUs - resetUs) / intervalUs + 1 / 2_000)),
    resetUs,
    retryUs: isOk ? 0 : Math.max(1, Math.ceil(next - nowUs - spanUs)),
  };
}

/** The new state after `turns` requests were used; beyond a whole burst nothing is left. */
export function spentTurns({ intervalUs, burst }: Pace, arrivalUs: number, nowUs: number, turns: number): number {
  const endUs = nowUs + intervalUs * burst;
  return Math.min(Math.min(Math.max(arrivalUs, nowUs), endUs) + intervalUs * turns, endUs);
}

/** account_full: this account is at its rate · full: all together are. */
export type RateRefusal = { readonly reason: 'account_full' | 'full'; readonly retryUs: number };

/** A rate of each account, and perhaps one of all together. An account whose whole burst is available needs no entry. */
export class AccountRates {
  readonly #ofEach: Pace;
  readonly #accountsMax: number;
  readonly #ofAll: Pace | null;
  readonly #arrivals = new Map<string, number>();
  #allArrivalUs = 0;

  constructor(ofEach: Pace, accountsMax: number, ofAll: Pace | null = null) {
    this.#ofEach = ofEach;
    this.#accountsMax = accountsMax;
    this.#ofAll = ofAll;
  }

  /** Null when the account took a turn; else none was taken. */
  take(account: string, nowUs: number): RateRefusal | null {
    const own = takeTurn(this.#ofEach, this.#arrivals.get(account) ?? 0, nowUs);
    if (!own.ok) return { reason: 'account_full', retryUs: own.retryUs };
    const all = this.#ofAll === null ? null : takeTurn(this.#ofAll, this.#allArrivalUs, nowUs);
    if (all?.ok === false) return { reason: 'full', retryUs: all.retryUs };
    if (!this.#arrivals.has(account) && !this.#hasPlace(nowUs))
      return { reason: 'full', retryUs: this.#ofEach.intervalUs };
    this.#arrivals.set(account, own.arrivalUs);
    if (all !== null) this.#allArrivalUs = all.arrivalUs;
    return null;
  }

  #hasPlace(nowUs: number): boolean {
    if (this.#arrivals.size < this.#accountsMax) return true;
    for (const [account, arrivalUs] of this.#arrivals) if (arrivalUs <= nowUs) this.#arrivals.delete(account);
    return this.#arrivals.size < this.#accountsMax;
  }
}
