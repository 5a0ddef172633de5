// The permutation of codes is the FF1 of an audited library, digit for digit, under every key.
import { FF1 } from '@noble/ciphers/ff1.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codePermutation, halfMax } from '../../model/code-permutation.ts';

const key = fc.uint8Array({ minLength: 16, maxLength: 16 });
const half = fc.oneof(fc.nat(halfMax - 1), fc.constantFrom(0, 1, halfMax - 1));

test('every pair of halves is encrypted as FF1 does, and decrypted again', () => {
  fc.assert(
    fc.property(key, half, half, (secret, high, low) => {
      const own = codePermutation(secret);
      const [a, b] = own.encrypt(high, low);
      const expected = FF1(62, secret).encrypt([...digitsOf(high), ...digitsOf(low)]);
      expect([...digitsOf(a), ...digitsOf(b)]).toEqual(expected);
      expect(own.decrypt(a, b)).toEqual([high, low]);
    }),
    { numRuns: 2_000 },
  );
});

function digitsOf(number: number): number[] {
  const digits = new Array<number>(5);
  let rest = number;
  for (let at = 4; at >= 0; at -= 1) {
    digits[at] = rest % 62;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
