// The cumulative sum test (Page 1954) for a fall of the share of codes that are entered: each code adds the logarithm of
// its likelihood under fraud over that under ordinary use, and the sum never falls below 0. Pure.

/**
 * The statistic after one more code. `usual` and `fraud` are the shares of codes entered in ordinary use and under fraud.
 *
 * ```ts
 * nextStatistic(0, false, 0.7, 0.05); // 1.15: one miss
 * nextStatistic(3, true, 0.7, 0.05); // 0.36: a verification takes 2.64
 * ```
 */
export function nextStatistic(statistic: number, isVerified: boolean, usual: number, fraud: number): number {
  const step = isVerified ? Math.log(fraud / usual) : Math.log((1 - fraud) / (1 - usual));
  return Math.max(0, statistic + step);
}
