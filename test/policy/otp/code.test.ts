// Codes: made of all digits with leading zeros, read from any script, compared whatever their lengths.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSameCode, newOtpCode, normalizedCode } from '../../../policy/otp/code.ts';

test('a code has its length, leading zeros, and every digit in every place', () => {
  for (const length of [4, 6, 10]) {
    const codes = Array.from({ length: 2_000 }, () => newOtpCode(length));
    expect(codes.every((code) => new RegExp(`^[0-9]{${length}}$`).test(code))).toBe(true);
    for (let at = 0; at < length; at += 1) expect(new Set(codes.map((code) => code[at])).size).toBe(10);
  }
});

/** The zeros of the scripts that people of our countries type, and of some others. */
const zeros = [0x30, 0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xbe6, 0xe50, 0x1040, 0xff10, 0x1d7ce, 0x1e950];

test('digits of every script, with spaces and dashes anywhere, are the code', () => {
  const separator = fc.constantFrom('', ' ', '-', '–', '\u2212', '\u2043', '\u02d7', '\u00a0', '\u200f');
  const script = fc.constantFrom(...zeros);
  const code = fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), script, separator), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(code, (parts) => {
      const typed = parts.map(([digit, zero, after]) => String.fromCodePoint(zero + digit) + after).join('');
      expect(normalizedCode(typed)).toBe(parts.map(([digit]) => digit).join(''));
    }),
  );
});

test('anything else is no code', () => {
  for (const text of ['', ' ', '-', '12a', '1.5', '½', '一二三', '12\u0000']) expect(normalizedCode(text)).toBeNull();
});

test('a code is the same as itself only', () => {
  expect(isSameCode('007007', '007007')).toBe(true);
  for (const other of ['7007', '0070070', '', '007008']) expect(isSameCode('007007', other)).toBe(false);
});
