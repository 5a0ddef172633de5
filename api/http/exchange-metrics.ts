// Counts the answers of the ingress. The label sets are few and fixed, so each has a tally: the metrics library would
// build a key from the labels for every request.
import type { HistogramTally, Tally } from '../../platform/tallied-metrics.ts';
import { metrics } from '../../platform/telemetry.ts';

const requests = new Map<string, Map<number, Tally>>();
const durations = new Map<string, HistogramTally>();
const acceptances = new Map<string, { readonly count: Tally; readonly duration: HistogramTally }>();

/** `route`: one of the ingress's route names, never a path. */
export function countAnswered(route: string, status: number, elapsedMs: number): void {
  let byStatus = requests.get(route);
  if (byStatus === undefined) {
    byStatus = new Map();
    requests.set(route, byStatus);
    durations.set(route, metrics.httpDuration.tally({ route }));
  }
  let counter = byStatus.get(status);
  if (counter === undefined) {
    counter = metrics.httpRequests.tally({ route, status: String(status) });
    byStatus.set(status, counter);
  }
  counter.inc();
  durations.get(route)?.observe(elapsedMs / 1_000);
}

export function countAccepted(category: string, carrier: string, elapsedMs: number): void {
  const key = `${category} ${carrier}`;
  let held = acceptances.get(key);
  if (held === undefined) {
    held = {
      count: metrics.accepted.tally({ category, carrier }),
      duration: metrics.acceptDuration.tally({ category }),
    };
    acceptances.set(key, held);
  }
  held.count.inc();
  held.duration.observe(elapsedMs / 1_000);
}
