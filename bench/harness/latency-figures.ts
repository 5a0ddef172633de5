// Latency figures of a bench by name. Nothing measured is NaN, which meets no target: an empty histogram says 0 ms.
import type { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';

const quantiles = { p50: 'p50Ms', p99: 'p99Ms', p999: 'p999Ms', max: 'maxMs' } as const;
export type Quantile = keyof typeof quantiles;

/** `latencyFigures('accept', summary, ['p50', 'p99'])` → `{ accept_p50_ms: …, accept_p99_ms: … }`. */
export function latencyFigures(
  name: string,
  summary: ReturnType<LatencyHistogram['summary']>,
  wanted: readonly Quantile[] = ['p50', 'p99', 'p999'],
): Record<string, number> {
  return Object.fromEntries(
    wanted.map((each) => [`${name}_${each}_ms`, summary.count === 0 ? Number.NaN : summary[quantiles[each]]]),
  );
}
