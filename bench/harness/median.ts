// Median and quantile: a round in which another process had the core must not decide.

/** NaN of nothing, which meets no target. */
export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((one, other) => one - other),
    0.5,
  );
}

/** The value that this share of `sorted` is below. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
