// The first event of each endpoint that was handed over and not taken, in whatever order events come and are taken.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Outstanding } from '../../../../actors/webhook/fan-out/outstanding.ts';
import type { WebhookEndpointId } from '../../../../model/ids.ts';

const endpoints = ['whe_a', 'whe_b', 'whe_c'] as WebhookEndpointId[];
const steps = fc.array(
  fc.record({
    endpoint: fc.constantFrom(...endpoints),
    sequence: fc.integer({ min: 1, max: 30 }),
    isDone: fc.boolean(),
  }),
  { maxLength: 80 },
);

test('is the least of those that are left, for each endpoint that has any', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const outstanding = new Outstanding();
      const left = new Map<WebhookEndpointId, Set<number>>(endpoints.map((each) => [each, new Set()]));
      for (const { endpoint, sequence, isDone } of all) {
        if (isDone) {
          outstanding.remove(endpoint, sequence);
          left.get(endpoint)?.delete(sequence);
        } else {
          outstanding.add(endpoint, sequence);
          left.get(endpoint)?.add(sequence);
        }
        const expected = [...left].flatMap(([each, of]) => (of.size === 0 ? [] : [[each, Math.min(...of)] as const]));
        expect(outstanding.first()).toEqual(new Map(expected));
      }
    }),
  );
});
