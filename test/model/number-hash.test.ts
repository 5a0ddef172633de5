// The keyed hashes of numbers: the same for the same key and number, of numbers in full only, and never mistaken for
// one another in a list of suppressed numbers.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isE164 } from '../../model/e164.ts';
import { NumberHashes, erasedKeysFrom, noNumber } from '../../model/number-hash.ts';
import { numberKeyOf, suppressionPlaceOf } from '../../model/suppression.ts';

const key = (octet: number) => Buffer.alloc(32, octet);
const number = fc
  .tuple(fc.integer({ min: 1, max: 9 }), fc.stringMatching(/^[0-9]{6,14}$/))
  .map(([first, rest]) => `+${first}${rest}`);

test('a number has one hash under a key, and another one under another key', () => {
  const [here, again, elsewhere] = [new NumberHashes(key(1)), new NumberHashes(key(1)), new NumberHashes(key(2))];
  fc.assert(
    fc.property(number, (each) => {
      expect(isE164(each)).toBe(true);
      const hash = here.of(each);
      expect(hash).toMatch(/^[1-9][0-9]{0,19}$/);
      expect(BigInt(hash) < 2n ** 64n).toBe(true);
      // The second time from memory.
      expect([here.of(each), again.of(each), again.markOf(each).hash]).toEqual([hash, hash, hash]);
      expect(elsewhere.of(each)).not.toBe(hash);
    }),
  );
});

test('numbers that take the place of one another in memory keep their hashes', () => {
  const [crowded, roomy] = [new NumberHashes(key(1), 2), new NumberHashes(key(1))];
  fc.assert(
    fc.property(fc.array(number, { minLength: 3, maxLength: 6 }), (each) => {
      const wanted = each.map((one) => roomy.of(one));
      for (const _ of [1, 2]) expect(each.map((one) => crowded.of(one))).toEqual(wanted);
    }),
  );
});

test('what is no number in full has none', () => {
  const hashes = new NumberHashes(key(1));
  for (const each of ['', '16247', 'BRAND', '+88017******78', '**********5678', '8801712345678', '+0123456789']) {
    expect(hashes.of(each)).toBe(noNumber);
  }
});

test('the key of an erased number in a list is no number, is exact, and has the place of the number beside it', () => {
  const hashes = new NumberHashes(key(1));
  fc.assert(
    fc.property(number, (each) => {
      const { listKey, place } = hashes.markOf(each);
      expect(Number.isSafeInteger(listKey)).toBe(true);
      expect(listKey).toBeGreaterThanOrEqual(erasedKeysFrom);
      expect(numberKeyOf(each)).toBeLessThan(erasedKeysFrom);
      expect(hashes.erasedKeyOf(each)).toBe(listKey);
      expect(place).toBe(suppressionPlaceOf(numberKeyOf(each)));
    }),
  );
});
