// A Prometheus counter for what every message increments. prom-client checks the labels and builds a key from them at
// each increment, nearly half a microsecond; a tally is a plain number, added to its counter when the metric is read.
import { Counter, type LabelValues } from 'prom-client';

export type Tally = { inc(value?: number): void };

export class TalliedCounter<L extends string> extends Counter<L> {
  /** `count` is null when nothing was counted since the last read. */
  readonly #tallies: { readonly labels: LabelValues<L>; count: number | null }[] = [];

  /** Call it once per set of labels and keep the tally. */
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
