// Prometheus metrics for what every message counts. prom-client checks the labels and builds a key from them at each
// increment, observation and value, half a microsecond and more, also through `labels()`; a tally does that once.
import { Counter, Gauge, Histogram, type LabelValues } from 'prom-client';

export type Tally = { inc(value?: number): void };
export type HistogramTally = { observe(value: number): void };
export type GaugeTally = { set(value: number): void };

export class TalliedCounter<L extends string> extends Counter<L> {
  /** `count` is null when nothing was counted since the last read. */
  readonly #tallies: { readonly labels: LabelValues<L>; count: number | null }[] = [];

  /** A plain number, added to the counter when the metric is read. Call it once per set of labels and keep the tally. */
  tally(labels: LabelValues<L>): Tally {
    const tally = { labels, count: null as number | null };
    this.#tallies.push(tally);
    return { inc: (value = 1) => void (tally.count = (tally.count ?? 0) + value) };
  }

  override get(): ReturnType<Counter<L>['get']> {
    for (const tally of this.#tallies) {
      if (tally.count !== null) this.inc(tally.labels, tally.count);
      tally.count = null;
    }
    return super.get();
  }
}

export class TalliedGauge<L extends string> extends Gauge<L> {
  /** `value` is null when it was not set since the last read. */
  readonly #tallies: { readonly labels: LabelValues<L>; value: number | null }[] = [];

  /** A plain number, which the gauge is set to when the metric is read. Call it once per set of labels and keep the tally. */
  tally(labels: LabelValues<L>): GaugeTally {
    const tally = { labels, value: null as number | null };
    this.#tallies.push(tally);
    return { set: (value) => void (tally.value = value) };
  }

  override get(): ReturnType<Gauge<L>['get']> {
    for (const tally of this.#tallies) {
      if (tally.value !== null) this.set(tally.labels, tally.value);
      tally.value = null;
    }
    return super.get();
  }
}

/** What prom-client keeps for one set of labels: `bucketValues` by upper bound, not cumulative. */
type Observed = { sum: number; count: number; readonly bucketValues: Record<number, number> };
/** prom-client has the record under a key of its own making, and declares neither. */
type Internals = { readonly hashMap: Record<string, Observed>; readonly upperBounds: readonly number[] };

export class TalliedHistogram<L extends string> extends Histogram<L> {
  /**
   * Observes into prom-client's own record of these labels. Call it once per set of labels and keep the tally. After
   * `reset()` or `remove()` of the histogram a tally observes into a record that nobody reads.
   */
  tally(labels: LabelValues<L>): HistogramTally {
    let observed: Observed | null = null;
    return {
      observe: (value) => {
        if (observed === null) {
          observed = this.#begin(labels, value);
          return;
        }
        observed.sum += value;
        observed.count += 1;
        for (const bound of (this as unknown as Internals).upperBounds) {
          if (value > bound) continue;
          observed.bucketValues[bound] = (observed.bucketValues[bound] ?? 0) + 1;
          return;
        }
      },
    };
  }

  /** The first observation makes the record, or finds the one that has these labels: the only one whose count grows. */
  #begin(labels: LabelValues<L>, value: number): Observed {
    const { hashMap } = this as unknown as Internals;
    const before = new Map(Object.values(hashMap).map((each) => [each, each.count]));
    this.observe(labels, value);
    const changed = Object.values(hashMap).find((each) => each.count !== (before.get(each) ?? 0));
    if (changed === undefined) throw new Error('prom-client keeps its histograms in another way than this expects');
    return changed;
  }
}
