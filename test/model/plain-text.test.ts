// Which texts are accepted, and how untrusted text is printed.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainTextProblem, printable, printableJson } from '../../model/plain-text.ts';

test.each([
  ['escape', '\u001b[2K'],
  ['carriage return', 'a\rb'],
  ['NUL', 'a\u0000'],
  ['DEL', 'a\u007f'],
  ['C1 control sequence introducer', '\u009b2K'],
  ['right-to-left override', 'a\u202eb'],
  ['isolate', '\u2066a'],
  ['Arabic letter mark', '\u061c'],
  ['line separator', 'a\u2028b'],
  ['half a surrogate pair', '\ud800'],
])('%s is refused in names and in bodies', (_name, text) => {
  expect(plainTextProblem(text)).toContain('expected a text without');
  expect(plainTextProblem(text, { lines: true })).toContain('expected a text without');
});

test('a line feed is refused in names and accepted in bodies; natural text is accepted', () => {
  expect(plainTextProblem('a\nb')).not.toBeNull();
  expect(plainTextProblem('a\nb', { lines: true })).toBeNull();
  // Joiners shape Bengali and emoji: they are part of the text.
  for (const text of ['আপনার কোড ৪৮২৯১৩', 'র\u200d্যাব', '👩‍👩‍👧', 'naïve “quoted” — é', ''])
    expect(plainTextProblem(text)).toBeNull();
});

const any = fc.string({ unit: 'binary', maxLength: 60 });

test('printed text has no character that a terminal obeys, and visible characters are unchanged', () => {
  fc.assert(
    fc.property(any, (text) => {
      const shown = printable(text);
      expect(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(shown)).toBe(false);
      expect(printable(shown)).toBe(shown);
    }),
    { numRuns: 1_000 },
  );
  expect(printable('Your code is ৪৯৩৮১৭ “€”')).toBe('Your code is ৪৯৩৮১৭ “€”');
  expect(printable('EVIL \u001b[2K\rtpl_1\n\u202ex')).toBe('EVIL \\u001b[2K\\rtpl_1\\n\\u202ex');
});

test('JSON that is printed is the same JSON', () => {
  fc.assert(
    fc.property(any, (text) => {
      const json = printableJson(JSON.stringify({ text }));
      expect(JSON.parse(json)).toEqual({ text });
      expect(/[\p{Cc}\p{Cf}]/u.test(json)).toBe(false);
    }),
    { numRuns: 1_000 },
  );
});
