// Counts each terminal event of a carrier once, when it is durable: outcomes without submit or delivery show in no
// latency metric. It counts events, not messages: the segments of a long message end one by one, and an `unknown` one
// may end a second time.
import type { DeliveryEvent } from '../model/delivery-event.ts';
import { categories } from '../model/message.ts';
import { type MessageStatus, endsOfSending } from '../model/status.ts';
import type { Tally } from '../platform/tallied-metrics.ts';
import { metrics } from '../platform/telemetry.ts';

const counters = new Map<string, Tally>();

export function countTerminalEvent(event: Pick<DeliveryEvent, 'carrier' | 'category' | 'kind'>): void {
  const status = endsOfSending.find((each) => each === event.kind);
  if (status !== undefined) counterOf(event.carrier, event.category, status).inc();
}

/** The values of command_status that concern the contract. */
const watchedStatuses = ['ESME_ROK', 'ESME_RTHROTTLED', 'ESME_RMSGQFUL'];

/**
 * Creates the counters of one carrier that alerts use with the value 0: the rate of a series that begins with its first
 * burst does not show that burst, and the alert would not fire.
 */
export function beginCounters(carrier: string): void {
  for (const status of watchedStatuses) metrics.submitResponses.inc({ carrier, status }, 0);
  for (const category of categories) {
    for (const status of endsOfSending) counterOf(carrier, category, status).inc(0);
    metrics.carrierUnknown.inc({ carrier, category }, 0);
    metrics.resentByPolicy.inc({ carrier, category }, 0);
  }
  metrics.reconnects.inc({ carrier }, 0);
}

function counterOf(carrier: string, category: DeliveryEvent['category'], status: MessageStatus): Tally {
  const key = `${category} ${status} ${carrier}`;
  let counter = counters.get(key);
  if (counter === undefined) {
    counter = metrics.ended.tally({ carrier, category, status });
    counters.set(key, counter);
  }
  return counter;
}
