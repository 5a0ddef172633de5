// How long the receipts of one carrier usually take, by the operator prefix of the number: adding is an addition to
// two histograms, and nothing is ever sorted. Only receipts of delivered messages are added: a failure is reported at
// once or at the end of the validity, and says nothing of how long a delivery takes. Pure.
import type { Clock } from '../../platform/clock.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';
import { FadingQuantile } from './fading-quantile.ts';

export type ReceiptTimesBounds = {
  readonly p95: number;
  /** So many receipts halve the weight of those before them. */
  readonly halfLife: number;
  /** With fewer receipts of a prefix the carrier's own p95 is used, and with fewer of that the default. */
  readonly countMin: number;
  readonly defaultMs: number;
  /** A prefix with fewer is taken for one whose messages get no receipts. */
  readonly seenMin: number;
  readonly prefixesMax: number;
  readonly idleMs: number;
};

type Times = { readonly quantile: FadingQuantile; added: number };

export class ReceiptTimes {
  readonly #bounds: ReceiptTimesBounds;
  readonly #all: Times;
  /** A prefix without a receipt for a while is forgotten: its messages may get none any more. */
  readonly #byPrefix: RotatingMap<string, Times>;

  constructor(bounds: ReceiptTimesBounds, clock: Clock) {
    this.#bounds = bounds;
    this.#all = this.#empty();
    this.#byPrefix = new RotatingMap(bounds.idleMs, bounds.prefixesMax, clock);
  }

  /** A message to this prefix was delivered so long after its submit_sm_resp, by its receipt. */
  add(prefix: string, tookMs: number): void {
    const own = this.#byPrefix.get(prefix) ?? this.#empty();
    this.#byPrefix.set(prefix, own);
    add(own, tookMs);
    add(this.#all, tookMs);
  }

  /** After how long a receipt is late; null for a prefix that gets none. */
  lateAfterMs(prefix: string): number | null {
    const own = this.#byPrefix.get(prefix);
    if (own === undefined || own.added < this.#bounds.seenMin) return null;
    return this.#p95(own) ?? this.#p95(this.#all) ?? this.#bounds.defaultMs;
  }

  /** The carrier's own p95; null with too few receipts. */
  get usualMs(): number | null {
    return this.#p95(this.#all);
  }

  #p95({ quantile, added }: Times): number | null {
    const { p95, countMin } = this.#bounds;
    return added < countMin ? null : quantile.quantile(p95, 1, added);
  }

  #empty(): Times {
    return { quantile: new FadingQuantile(this.#bounds.halfLife, 0), added: 0 };
  }
}

function add(times: Times, tookMs: number): void {
  times.added += 1;
  times.quantile.add(tookMs, times.added);
}
