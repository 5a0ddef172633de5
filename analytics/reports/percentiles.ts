// Percentiles of a report: a column for each, all of one aggregate, which the engine computes once for a group.
import { type Measure, milliseconds } from './report.ts';

type Percentiles = {
  readonly percents: readonly number[];
  /** Before `p90_ms` in the name of a column; '' for nothing. */
  readonly prefix: string;
  /** After `90 % `. */
  readonly help: string;
  /**
   * The aggregate at these levels (`0.5, 0.9`). A count that was taken back is a weight of -1, and weights are added up modulo
   * 2^64: what is left of each value is exact.
   */
  readonly aggregate: (levels: string) => string;
  /** The milliseconds of one quantile, which is SQL; NULL where nothing was counted. */
  readonly ms: (quantile: string) => string;
};

export function percentiles({ percents, prefix, help, aggregate, ms }: Percentiles): readonly Measure[] {
  const quantiles = aggregate(percents.map((percent) => percent / 100).join(', '));
  return percents.map((percent, at) =>
    milliseconds(`${prefix}p${percent}_ms`, `${percent} % ${help}`, ms(`${quantiles}[${at + 1}]`)),
  );
}
