// What the next request carries, under every order of events coming and requests ending: each event once, batches within
// their bounds, and the events of a message never in two requests at a time nor out of order.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EndpointQueue } from '../../../../actors/webhook/delivery/endpoint-queue.ts';
import { type Item, type Shipment, batchOf, chainOf, newItem } from '../../../../actors/webhook/delivery/item.ts';
import { eventOfMessage } from '../../../../model/delivery-event.ts';
import type { EventId, MessageId, WebhookEndpointId } from '../../../../model/ids.ts';
import type { WebhookGroup } from '../../../../model/records/webhook-record.ts';
import { limits } from '../../../../platform/limits.ts';
import { messageWith } from '../../../support/messages.ts';

const endpointId = 'whe_1' as WebhookEndpointId;

function itemOf(
  sequence: number,
  message: number,
  more: { url?: string; group?: WebhookGroup; atMs?: number } = {},
): Item {
  const event = eventOfMessage(messageWith({ messageId: `sms_${message}` as MessageId }), {
    kind: 'delivered',
    atMs: 1,
  });
  const { url = null, group = null, atMs = 0 } = more;
  const eventId = `evt_${sequence}` as EventId;
  const record = { eventId, endpointId, url, sequence, content: { event }, tries: 0, dueAtMs: 0, group };
  return newItem({ record, from: 'queue', seq: 0, settle: () => {}, queuedAtMs: atMs });
}

const aStep = fc.oneof(
  fc.record({ step: fc.constant('add' as const), message: fc.integer({ min: 0, max: 4 }), url: fc.boolean() }),
  fc.record({ step: fc.constant('send' as const) }),
  fc.record({ step: fc.constant('answer' as const), which: fc.nat(9) }),
);

test('per message: every event once, in order, one request of a message at a time', () => {
  const aBatch = fc.option(fc.record({ max: fc.integer({ min: 2, max: 5 }), waitMs: fc.constant(10) }));
  const property = fc.property(fc.array(aStep, { maxLength: 80 }), aBatch, (steps, batch) => {
    const queue = new EndpointQueue();
    const rules = { ordering: 'per_message', batch } as const;
    const out: Shipment[] = [];
    const [added, sent]: [Map<string, number[]>, Map<string, number[]>] = [new Map(), new Map()];
    let sequence = 0;
    const send = () => {
      const busy = () => new Set(out.flatMap(({ items }) => items.map(({ record }) => chainOf(record))));
      const shipment = queue.next(rules, busy, 1_000);
      if (shipment === null) return false;
      expect(shipment.isBatch).toBe(batch !== null);
      expect(shipment.items.length).toBeLessThanOrEqual(batch?.max ?? 1);
      expect(new Set(shipment.items.map(({ record }) => record.url)).size).toBe(1);
      for (const { record } of shipment.items) {
        expect(busy().has(chainOf(record))).toBe(false);
        sent.set(chainOf(record), [...(sent.get(chainOf(record)) ?? []), record.sequence]);
      }
      out.push(shipment);
      return true;
    };
    for (const each of steps) {
      if (each.step === 'add') {
        sequence += 1;
        const item = itemOf(sequence, each.message, each.url ? { url: 'https://example.com/own' } : {});
        added.set(chainOf(item.record), [...(added.get(chainOf(item.record)) ?? []), sequence]);
        queue.add(item);
      } else if (each.step === 'send') send();
      else out.splice(each.which % Math.max(1, out.length), 1);
    }
    for (let left = 500; queue.size > 0 && left > 0; left -= 1) if (!send()) out.length = 0;
    expect(queue.size).toBe(0);
    expect(sent).toEqual(added);
  });
  fc.assert(property);
});

test('a batch goes when it is full or its first event has waited, and not before', () => {
  const queue = new EndpointQueue();
  const rules = { ordering: 'none', batch: { max: 3, waitMs: 200 } } as const;
  const none = () => new Set<string>();
  expect(queue.dueInMs(rules, 0)).toBeNull();
  queue.add(itemOf(1, 1, { atMs: 1_000 }));
  queue.add(itemOf(2, 1, { atMs: 1_100 }));
  expect(queue.dueInMs(rules, 1_150)).toBe(50);
  expect(queue.next(rules, none, 1_199)).toBeNull();
  expect(queue.next(rules, none, 1_200)?.items).toHaveLength(2);
  for (let at = 3; at < 7; at += 1) queue.add(itemOf(at, 1, { atMs: 2_000 }));
  expect(queue.next(rules, none, 2_000)?.items.map(({ record }) => record.sequence)).toEqual([3, 4, 5]);
  expect(queue.next(rules, none, 2_000)).toBeNull();
});

test('a batch that was sent before is made of the same events, and has the same id', () => {
  const first = batchOf([itemOf(1, 1), itemOf(2, 2), itemOf(3, 3)]);
  const group = { id: first.webhookId, size: 3 };
  const queue = new EndpointQueue();
  const rules = { ordering: 'none', batch: { max: 5, waitMs: 0 } } as const;
  const add = (sequence: number, isOfGroup: boolean) =>
    queue.add(itemOf(sequence, sequence, isOfGroup ? { group, atMs: 1_000 } : { atMs: 1_000 }));
  add(3, true);
  add(1, true);
  add(4, false);
  // The third of them is still being read.
  expect(queue.next(rules, () => new Set(), 1_000)).toBeNull();
  add(2, true);
  expect(queue.next(rules, () => new Set(), 1_000)).toMatchObject({ webhookId: first.webhookId });
  expect(queue.next(rules, () => new Set(), 1_000)?.items).toHaveLength(1);
  // One that does not come in time was dropped: the others go without it.
  add(1, true);
  expect(queue.next(rules, () => new Set(), 1_000 + limits.delivery.groupWaitMs - 1)).toBeNull();
  expect(queue.next(rules, () => new Set(), 1_000 + limits.delivery.groupWaitMs)?.items).toHaveLength(1);
});
