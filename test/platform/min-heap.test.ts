// The heap behind the lanes' turns: the first by its order comes first, after any additions, removals and changes.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MinHeap } from '../../platform/min-heap.ts';

type Item = { order: number };

test('items come in order, also when the first changes its own, and any other leaves', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.nat(100),
          fc.constant('take' as const),
          fc.record({ later: fc.nat(50) }),
          fc.record({ leaves: fc.nat() }),
        ),
        { maxLength: 200 },
      ),
      (steps) => {
        const heap = new MinHeap<Item>((one, other) => one.order < other.order);
        const model: Item[] = [];
        const least = () => Math.min(...model.map(({ order }) => order));
        for (const step of steps) {
          if (typeof step === 'number') {
            const item = { order: step };
            heap.add(item);
            model.push(item);
          } else if (heap.first !== undefined) {
            const { first } = heap;
            expect(first.order).toBe(least());
            if (step === 'take') {
              heap.removeFirst();
              model.splice(model.indexOf(first), 1);
            } else if ('leaves' in step) {
              const [left] = model.splice(step.leaves % model.length, 1);
              heap.remove(left!);
              heap.remove(left!);
            } else {
              first.order += step.later;
              heap.fixFirst();
            }
          }
          expect(heap.size).toBe(model.length);
          expect(heap.first?.order).toBe(model.length === 0 ? undefined : least());
        }
      },
    ),
  );
});

test('an empty one has no first, and nothing can be taken from it', () => {
  const heap = new MinHeap<Item>((one, other) => one.order < other.order);
  heap.removeFirst();
  heap.fixFirst();
  expect(heap.first).toBeUndefined();
  expect(heap.size).toBe(0);
});
