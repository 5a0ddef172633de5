// Spellings of one address: what may differ without leading anywhere else, and what may not.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainSpelling } from '../../model/link-spelling.ts';

test.each([
  ['https://example.org/k', 'https://example.org/k'],
  ['https://example.org./k', 'https://example.org/k'],
  ['https://example.org/%6b', 'https://example.org/k'],
  ['https://example.org/k#x', 'https://example.org/k'],
  ['https://example.org/k?a=%7e1#', 'https://example.org/k?a=~1'],
  // They mean something else than their characters, or have no other spelling.
  ['https://example.org/a%2Fb', 'https://example.org/a%2Fb'],
  ['https://example.org/a%2fb', 'https://example.org/a%2Fb'],
  ['https://example.org/%252e', 'https://example.org/%252e'],
  ['https://example.org/k?a=b%26c', 'https://example.org/k?a=b%26c'],
  ['https://example.org/k/', 'https://example.org/k/'],
  ['https://example.org/K', 'https://example.org/K'],
  ['http://example.org:8080/k', 'http://example.org:8080/k'],
])('%s is %s', (url, plain) => {
  expect(plainSpelling(url)).toBe(plain);
});

test('of a plain spelling is itself', () => {
  fc.assert(
    fc.property(fc.webUrl({ withFragments: true, withQueryParameters: true }), (url) => {
      const once = plainSpelling(new URL(url).href);
      expect(plainSpelling(once)).toBe(once);
    }),
    { numRuns: 30 },
  );
});
