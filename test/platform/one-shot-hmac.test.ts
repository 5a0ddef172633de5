// HMAC-SHA-256 as node:crypto has it, for keys and texts of any length, and the published values of RFC 4231.
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hmacSha256 } from '../../platform/one-shot-hmac.ts';

test('is the HMAC of node:crypto, also of keys longer than a block and of texts longer than its buffer', () => {
  const key = fc.oneof(fc.uint8Array({ maxLength: 130 }), fc.string({ unit: 'binary', maxLength: 80 }));
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ minLength: 2_020, maxLength: 2_060 }),
  );
  fc.assert(
    fc.property(key, text, (each, what) => {
      for (const encoding of ['hex', 'base64'] as const)
        expect(hmacSha256(each, what, encoding)).toBe(createHmac('sha256', each).update(what).digest(encoding));
    }),
    { numRuns: 1_000 },
  );
});

test('test cases 1 and 2 of RFC 4231', () => {
  expect(hmacSha256(Buffer.alloc(20, 0x0b), 'Hi There')).toBe(
    'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
  );
  expect(hmacSha256('Jefe', 'what do ya want for nothing?')).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  );
});
