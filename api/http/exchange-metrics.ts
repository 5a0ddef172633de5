// Counts the answers of the ingress. The label sets are few and fixed, so each counter is looked up once: the metrics
// library would build a key from the labels for every request.
import { metrics } from '../../platform/telemetry.ts';

type Counter = { inc(): void };
type Histogram = { observe(value: number): void };

const requests = new Map<string, Map<number, Counter>>();
const durations = new Map<string, Histogram>();
const acceptances = new Map<string, { readonly count: Counter; readonly duration: Histogram }>();

/** `route`: one of the ingress's route names, never a path. */
export function countAnswered(route: string, status: number, elapsedMs: number): void {
  let byStatus = requests.get(route);
  if (byStatus === undefined) {
    byStatus = new Map();
    requests.set(route, byStatus);
    durations.set(route, metrics.httpDuration.labels({ route }));
  }
  let counter = byStatus.get(status);
  if (counter === undefined) {
    counter = metrics.httpRequests.labels({ route, status: String(status) });
    byStatus.set(status, counter);
  }
  counter.inc();
  durations.get(route)?.observe(elapsedMs / 1_000);
}

export function countAborted(route: string): void {
  metrics.httpAborted.inc({ route });
}

export function countAccepted(category: string, carrier: string, elapsedMs: number): void {
  const key = `${category} ${carrier}`;
  let held = acceptances.get(key);
  if (held === undefined) {
    held = {
      count: metrics.accepted.labels({ category, carrier }),
      duration: metrics.acceptDuration.labels({ category }),
    };
    acceptances.set(key, held);
  }
  held.count.inc();
  held.duration.observe(elapsedMs / 1_000);
}
