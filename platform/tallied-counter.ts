// A counter for what happens to every message. By itself prom-client makes a key of the labels and checks them at each
// increment, nearly half a microsecond; a tally is a number that its counter gets when it is read.
import { Counter, type LabelValues } from 'prom-client';

export type Tally = { inc(value?: number): void };

export class TalliedCounter<L extends string> extends Counter<L> {
  /** Null: nothing was counted since the counter was read. */
  readonly #tallies: { readonly labels: LabelValues<L>; count: number | null }[] = [];

  /** Made once for each set of labels and kept. */
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
