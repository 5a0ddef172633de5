// Further tries of the events of a request, while others of the endpoint succeed: each is kept until its time comes, and given up
// at the end of the schedule.
import { giveUp } from './give-up.ts';
import { type Shipment, groupOf, triesOfShipment } from './item.ts';
import type { EndpointKey } from './parked-counts.ts';
import { isExhausted, waitAfter } from './schedule.ts';
import type { WorkerOwner } from './worker-owner.ts';

export function retryShipment(shipment: Shipment, { accountId }: EndpointKey, owner: WorkerOwner): void {
  const tries = triesOfShipment(shipment);
  if (isExhausted(tries)) return giveUp(shipment);
  const dueAtMs = owner.clock.nowMs() + waitAfter(tries);
  for (const item of shipment.items) {
    const record = { ...item.record, tries, dueAtMs, group: groupOf(shipment) };
    owner.log.keepForRetry(accountId, record, (seq) => {
      if (seq !== null) owner.retryLater(seq, dueAtMs);
      item.settle();
    });
  }
}
