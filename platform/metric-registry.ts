// The registry of this thread's metrics: how a metric is made, how the values of threads, processes and nodes are merged,
// and what /metrics reads. What is measured: telemetry.ts.
import { Registry, collectDefaultMetrics } from 'prom-client';
import { TalliedCounter, TalliedGauge, TalliedHistogram } from './tallied-metrics.ts';

/** One registry per thread; threads and processes are merged by the supervisor's /metrics. */
const registry = new Registry();
/** Node's own metrics have a label for the role; ours add up over all of them. */
const processRegistry = new Registry();

/** The content type of /metrics. */
export const metricsContentType = registry.contentType;

/**
 * A timer measures how late the event loop is, in every process, at rest too: Node's default of 10 ms wakes each of them a
 * hundred times a second. The figures contain the interval: 0.1 s is not late.
 */
const loopLookMs = 100;

/** Adds Node's own process metrics. Called once per process (not per thread). */
export function collectProcessMetrics(role: string): void {
  processRegistry.setDefaultLabels({ role });
  collectDefaultMetrics({ register: processRegistry, eventLoopMonitoringPrecision: loopLookMs });
}

/** This thread's metrics, and in a process's main thread the process's own; input of AggregatorRegistry. */
export async function currentMetrics(): Promise<MetricObject[]> {
  const all = await Promise.all([registry.getMetricsAsJSON(), processRegistry.getMetricsAsJSON()]);
  return all.flat() as MetricObject[];
}

/** One metric as prom-client's `getMetricsAsJSON()` gives it. */
export type MetricObject = {
  name: string;
  help: string;
  type: unknown;
  aggregator?: string;
  values: unknown[];
};

/**
 * How the values of several threads, processes and nodes are merged. sum: each has a part · max, min: the extreme
 * counts · any: all have the same value.
 */
export type Together = 'sum' | 'max' | 'min' | 'any';
const gaugesTogether = new Map<unknown, Together>();

/** Counters and histograms add up. */
export const togetherOf = (metric: unknown): Together => gaugesTogether.get(metric) ?? 'sum';

const latencyBucketsS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A counter `heliograph_<name>`. */
export const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
  new TalliedCounter<L>({ name: `heliograph_${name}`, help, labelNames, registers: [registry] });
/** A gauge `heliograph_<name>`; `together`: how threads' values are merged. */
export const gauge = <L extends string>(
  name: string,
  help: string,
  labelNames: readonly L[] = [],
  together: Together = 'sum',
) => {
  const aggregator = together === 'any' ? 'max' : together;
  const made = new TalliedGauge<L>({ name: `heliograph_${name}`, help, labelNames, registers: [registry], aggregator });
  gaugesTogether.set(made, together);
  return made;
};
/** A histogram `heliograph_<name>` in seconds. */
export const histogram = <L extends string>(
  name: string,
  help: string,
  labelNames: readonly L[] = [],
  buckets = latencyBucketsS,
) => new TalliedHistogram<L>({ name: `heliograph_${name}`, help, labelNames, buckets, registers: [registry] });
