// Codes of short links: every place has one code and every code at most one place, codes that follow one another look
// unrelated, and guessing finds nothing.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codePlaceholder, linkCodeChars, linkCodes } from '../../model/link-code.ts';
import { seededRandom } from '../../platform/random.ts';

const codes = linkCodes(Buffer.alloc(16, 7));
const place = fc.record({ series: fc.nat(2 ** 24 - 1), index: fc.nat(2 ** 20 - 1) });

test('a code gives its place back, and has ten characters that need no escape', () => {
  fc.assert(
    fc.property(place, (at) => {
      const code = codes.codeOf(at);
      expect(code).toMatch(/^[0-9A-Za-z]{10}$/);
      expect(codes.placeOf(code)).toEqual(at);
    }),
  );
  expect(codes.placeOf(codes.codeOf({ series: 2 ** 24 - 1, index: 2 ** 20 - 1 }))).toEqual({
    series: 2 ** 24 - 1,
    index: 2 ** 20 - 1,
  });
});

test('places that a code cannot hold are bugs', () => {
  for (const bad of [
    { series: 2 ** 24, index: 0 },
    { series: 0, index: 2 ** 20 },
    { series: -1, index: 0 },
  ]) {
    expect(() => codes.codeOf(bad)).toThrow();
  }
});

test('neighbours share nothing: of each place of a code, all characters appear', () => {
  const neighbours = Array.from({ length: 2_000 }, (_, index) => codes.codeOf({ series: 5, index }));
  expect(new Set(neighbours).size).toBe(2_000);
  for (let at = 0; at < linkCodeChars; at += 1) expect(new Set(neighbours.map((code) => code[at])).size).toBe(62);
});

test('of random texts of ten characters one in some 50,000 is a place at all', () => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const random = seededRandom(1);
  const guess = () =>
    Array.from({ length: linkCodeChars }, () => alphabet[Math.floor(random.unit() * alphabet.length)]).join('');
  const hits = Array.from({ length: 20_000 }, guess).filter((code) => codes.placeOf(code) !== null);
  expect(hits.length).toBeLessThan(5);
});

test('another secret has other codes, and what is no code has no place', () => {
  const others = linkCodes(Buffer.alloc(16, 8));
  const at = { series: 1, index: 1 };
  expect(others.codeOf(at)).not.toBe(codes.codeOf(at));
  expect(others.placeOf(codes.codeOf(at))).not.toEqual(at);
  for (const text of ['', '0', `${codePlaceholder}0`, '../../etc/', 'abcdefghi ', 'äöüäöüäöüä', '-_-_-_-_-_']) {
    expect(codes.placeOf(text)).toBeNull();
  }
});

test('changing codes that exist finds no others: none of 1,000 live series is met', () => {
  const random = seededRandom(2);
  const live = new Set(Array.from({ length: 1_000 }, () => Math.floor(random.unit() * 2 ** 24)));
  const isLive = (code: string) => live.has(codes.placeOf(code)?.series ?? -1);
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const known = fc.record({ series: fc.constantFrom(...live), index: fc.nat(2 ** 16 - 1) });
  const change = fc.record({ at: fc.nat(linkCodeChars - 1), by: fc.integer({ min: 1, max: 61 }), swap: fc.boolean() });
  fc.assert(
    fc.property(known, change, (place, { at, by, swap }) => {
      const code = codes.codeOf(place);
      expect(isLive(code)).toBe(true);
      const other = (at + by) % linkCodeChars;
      const characters = [...code];
      if (swap) [characters[at], characters[other]] = [characters[other]!, characters[at]!];
      else characters[at] = alphabet[(alphabet.indexOf(code[at]!) + by) % 62]!;
      const guess = characters.join('');
      if (guess !== code) expect(isLive(guess)).toBe(false);
    }),
    { seed: 1, numRuns: 500 },
  );
});
