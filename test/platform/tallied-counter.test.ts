// What is counted in numbers is what a reader of the metric sees: no less, and nothing twice.
import { expect, test } from 'vitest';
import { TalliedCounter } from '../../platform/tallied-counter.ts';

const newCounter = () => new TalliedCounter({ name: 'any', help: 'any', labelNames: ['carrier'], registers: [] });

test('tallies and increments of the same labels add up, however often the counter is read', async () => {
  const counter = newCounter();
  const [one, other] = [counter.tally({ carrier: 'alpha' }), counter.tally({ carrier: 'alpha' })];
  one.inc();
  other.inc(2);
  counter.inc({ carrier: 'alpha' }, 4);
  for (let read = 0; read < 2; read += 1) expect((await counter.get()).values[0]?.value).toBe(7);
  one.inc();
  expect((await counter.get()).values).toEqual([{ value: 8, labels: { carrier: 'alpha' } }]);
});

test('a tally shows at 0 when it was begun with 0, and not at all before it counts', async () => {
  const counter = newCounter();
  counter.tally({ carrier: 'alpha' });
  counter.tally({ carrier: 'beta' }).inc(0);
  expect((await counter.get()).values).toEqual([{ value: 0, labels: { carrier: 'beta' } }]);
});
