// What is counted in numbers is what a reader of the metric sees: no less, and nothing twice.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TalliedCounter, TalliedGauge, TalliedHistogram } from '../../platform/tallied-metrics.ts';

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

test('a gauge reads the last value, whether it was set through a tally or not, and shows nothing before', async () => {
  const gauge = new TalliedGauge({ name: 'any', help: 'any', labelNames: ['bound'], registers: [] });
  const tally = gauge.tally({ bound: 'held' });
  expect((await gauge.get()).values).toEqual([]);
  tally.set(3);
  tally.set(2);
  for (let read = 0; read < 2; read += 1)
    expect((await gauge.get()).values).toEqual([{ value: 2, labels: { bound: 'held' } }]);
  gauge.set({ bound: 'held' }, 5);
  expect((await gauge.get()).values[0]?.value).toBe(5);
  tally.set(0);
  expect((await gauge.get()).values[0]?.value).toBe(0);
});

const buckets = [0.01, 0.1, 1];
const newHistogram = () =>
  new TalliedHistogram({ name: 'any', help: 'any', labelNames: ['carrier'], buckets, registers: [] });

test('a histogram reads the same whether values were observed through tallies or one by one', async () => {
  const observation = fc.record({
    carrier: fc.constantFrom('alpha', 'beta'),
    value: fc.oneof(fc.constantFrom(0, ...buckets), fc.double({ min: 0, max: 5, noNaN: true })),
    through: fc.constantFrom('one tally', 'another tally', 'observe'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(observation), async (observations) => {
      const [tallied, plain] = [newHistogram(), newHistogram()];
      const tallies = new Map<string, { observe(value: number): void }>();
      for (const { carrier, value, through } of observations) {
        plain.observe({ carrier }, value);
        if (through === 'observe') {
          tallied.observe({ carrier }, value);
          continue;
        }
        const name = `${carrier} ${through}`;
        if (!tallies.has(name)) tallies.set(name, tallied.tally({ carrier }));
        tallies.get(name)?.observe(value);
      }
      expect(await tallied.get()).toEqual(await plain.get());
    }),
  );
});

test('a tally that has observed nothing shows no series', async () => {
  const histogram = newHistogram();
  histogram.tally({ carrier: 'alpha' });
  expect((await histogram.get()).values).toEqual([]);
});
