// Latency figures of a bench by name. Nothing measured is NaN, which meets no target: an empty histogram says 0 ms.
import type { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';
import { systemClock } from '../../platform/clock.ts';

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

/** The value that this share of `values` is below; NaN of nothing, which meets no target. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]) => quantile(values, 0.5);

export function cpuPerCallUs(call: () => void, durationMs: number, callsPerSlice: number): number {
  const each: number[] = [];
  const endAtMs = systemClock.monotonicMs() + durationMs;
  while (systemClock.monotonicMs() < endAtMs) {
    const before = process.cpuUsage();
    for (let nth = 0; nth < callsPerSlice; nth += 1) call();
    const { user, system } = process.cpuUsage(before);
    each.push((user + system) / callsPerSlice);
  }
  return median(each);
}
