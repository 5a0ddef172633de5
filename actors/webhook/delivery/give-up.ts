// The end of an event that was refused at every try.
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { type Shipment, triesOf } from './item.ts';

export function giveUp({ items }: Shipment): void {
  for (const item of items) {
    metrics.webhookDropped.inc({ reason: 'given_up' });
    const { eventId, endpointId } = item.record;
    log.warn({ eventId, endpointId, tries: triesOf(item) }, 'an event was refused at every try and is given up');
    item.settle();
  }
}
