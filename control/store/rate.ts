// The rate limit of an account or key in two columns: both null is no limit; without a burst the burst is the rate of
// one second.

/** Requests per second, and how many at once after a pause. */
export type Rate = { readonly perSecond: number; readonly burst: number };

type RateColumns = { readonly rate_per_second: number | null; readonly rate_burst: number | null };

export function rateOf({ rate_per_second: perSecond, rate_burst: burst }: RateColumns): Rate | null {
  return perSecond === null ? null : { perSecond, burst: burst ?? perSecond };
}

export function rateColumns(rate: Rate | null | undefined): RateColumns {
  return { rate_per_second: rate?.perSecond ?? null, rate_burst: rate?.burst ?? null };
}
