// Counts what became of messages: each final event of a carrier, once, when it is durable. What nobody submits and
// nobody delivers shows here and in no latency. It counts events, not messages: the parts of a long message end one by
// one, and what is `unknown` may end a second time.
import type { DeliveryEvent, EventKind } from '../model/delivery-event.ts';
import { categories } from '../model/message.ts';
import { metrics } from '../platform/telemetry.ts';

type Counter = { inc(value?: number): void };

/** `canceled` is told by the entry points, and by the releaser once more. */
const terminalKinds: readonly EventKind[] = [
  'delivered',
  'undelivered',
  'expired',
  'rejected',
  'unknown',
  'failed',
  'blocked',
];

/** Looked up once: the metrics library would otherwise build a key from the labels for every event. */
const counters = new Map<string, Counter>();

export function countTerminalEvent({
  carrier,
  category,
  kind,
}: Pick<DeliveryEvent, 'carrier' | 'category' | 'kind'>): void {
  if (!terminalKinds.includes(kind)) return;
  counterOf(carrier, category, kind).inc();
}

/** All of a carrier stand at 0 from the beginning; carrier-counters.ts says why. */
export function registerTerminalCounters(carrier: string): void {
  for (const category of categories) for (const kind of terminalKinds) counterOf(carrier, category, kind).inc(0);
}

function counterOf(carrier: string, category: DeliveryEvent['category'], status: EventKind): Counter {
  const key = `${category} ${status} ${carrier}`;
  let counter = counters.get(key);
  if (counter === undefined) {
    counter = metrics.ended.labels({ carrier, category, status });
    counters.set(key, counter);
  }
  return counter;
}
