// Texts noted within the last span or two: the same as a map with the same turns, over random steps.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RecentTexts, numberOf } from '../../platform/recent-texts.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';
import { ManualClock } from '../support/manual-clock.ts';

const spanMs = 1_000;

test('it has what a rotating map has, whatever is noted and however time passes', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.integer({ min: 0, max: 50 }).map((n) => `sms_01ARZ3NDEKTSV4RRFFQ69G5FA${n}.1.${n % 3}`),
  );
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ set: text, value: fc.integer({ min: 1, max: 2 ** 32 - 1 }) }) },
    { weight: 1, arbitrary: fc.record({ passes: fc.integer({ min: 0, max: 2 * spanMs }) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 30 }), (steps, perHalfMax) => {
      const clock = new ManualClock();
      const texts = new RecentTexts(spanMs, perHalfMax, clock);
      const model = new RotatingMap<string, number>(spanMs, perHalfMax, clock);
      const noted = new Set<string>();
      for (const each of steps) {
        if ('passes' in each) clock.advance(each.passes);
        else {
          noted.add(each.set);
          texts.set(each.set, each.value);
          model.set(each.set, each.value);
        }
        for (const one of noted) expect(texts.get(one)).toBe(model.get(one) ?? 0);
      }
    }),
  );
});

test('of hundreds of thousands each keeps its number, and no other text has one', () => {
  const texts = new RecentTexts(spanMs, 1_000_000, new ManualClock());
  const count = 200_000;
  const idOf = (n: number) => `sms_01ARZ3NDEKTSV4RRFF${String(n).padStart(8, '0')}`;
  for (let n = 0; n < count; n += 1) texts.set(idOf(n), n + 1);
  let wrong = 0;
  for (let n = 0; n < count; n += 1) if (texts.get(idOf(n)) !== n + 1) wrong += 1;
  for (let n = count; n < 2 * count; n += 1) if (texts.get(idOf(n)) !== 0) wrong += 1;
  expect(wrong).toBe(0);
});

test('a number of a text is none that means "not noted", and differs from those of others', () => {
  const numbers = new Set(Array.from({ length: 10_000 }, (_, n) => numberOf(`+88017${String(n).padStart(8, '0')}`)));
  expect(numbers.has(0)).toBe(false);
  // Of 10,000 with 32 bits each, 0.01 pairs are alike on average.
  expect(numbers.size).toBeGreaterThan(9_990);
});
