// The text of a time is that of `toISOString`, whatever time was written before it.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isoTime } from '../../platform/iso-time.ts';

test('is what toISOString writes, for times in any order', () => {
  const near = fc.integer({ min: 1_799_999_940_000, max: 1_800_000_120_000 });
  const any = fc.integer({ min: -8.64e15, max: 8.64e15 });
  fc.assert(
    fc.property(fc.array(fc.oneof(near, any), { minLength: 1 }), (times) => {
      expect(times.map(isoTime)).toEqual(times.map((ms) => new Date(ms).toISOString()));
    }),
  );
});

test('what is no time is refused, and the next one is right', () => {
  expect(() => isoTime(Number.NaN)).toThrow(RangeError);
  expect(() => isoTime(8.64e15 + 60_000)).toThrow(RangeError);
  expect(isoTime(0)).toBe('1970-01-01T00:00:00.000Z');
});
