// Suppressed numbers: blocks that contain what was put in, are found for any number of bits, and are refused when
// malformed.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  blockOfPlace,
  decodeNumbers,
  encodeNumbers,
  hasNumber,
  numberKeyOf,
  placesOfBlock,
  suppressionBitsFor,
  suppressionPlaceOf,
} from '../../model/suppression.ts';

const number = fc.integer({ min: 1_000_000, max: 999_999_999_999_999 });

test('a block holds exactly the numbers that were put in, each once', () => {
  fc.assert(
    fc.property(fc.array(number), number, (numbers, other) => {
      const block = decodeNumbers(encodeNumbers(numbers))!;
      expect([...block]).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      for (const each of numbers) expect(hasNumber(block, each)).toBe(true);
      expect(hasNumber(block, other)).toBe(numbers.includes(other));
    }),
  );
});

test('with every number of bits a place is in the block whose places include it', () => {
  fc.assert(
    fc.property(number, fc.constantFrom(0, 3, 6, 8), (each, bits) => {
      const place = suppressionPlaceOf(each);
      expect(place).toBeGreaterThanOrEqual(0);
      expect(place).toBeLessThan(256);
      const { from, to } = placesOfBlock(blockOfPlace(place, bits), bits);
      expect(place >= from && place <= to).toBe(true);
    }),
  );
});

test('neighbouring numbers spread over all places', () => {
  const counts = new Uint32Array(256);
  for (let n = 0; n < 25_600; n += 1) counts[suppressionPlaceOf(numberKeyOf(`+88017${10_000_000 + n}`))]! += 1;
  expect(Math.max(...counts)).toBeLessThan(200);
  expect(Math.min(...counts)).toBeGreaterThan(30);
});

test('a list gets more blocks at each bound', () => {
  expect([0, 2_000, 2_001, 16_000, 16_001, 128_000, 128_001, 1_000_000].map(suppressionBitsFor)).toEqual([
    0, 0, 3, 3, 6, 6, 8, 8,
  ]);
});

test('an unsorted, doubled or truncated one is no block', () => {
  const octets = (numbers: number[]) => Buffer.from(Float64Array.from(numbers).buffer).toString('base64');
  expect(decodeNumbers(octets([2, 1]))).toBeNull();
  expect(decodeNumbers(octets([1, 1]))).toBeNull();
  expect(decodeNumbers(octets([Number.NaN, 1]))).toBeNull();
  expect(decodeNumbers('AAAA')).toBeNull();
  expect(decodeNumbers('')).toEqual(new Float64Array(0));
});
