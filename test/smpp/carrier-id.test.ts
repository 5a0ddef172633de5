// Ids of one carrier in whatever form they come: hex and decimal, padded, cased, beyond 2^53.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { learnIdForm, normaliseCarrierId, otherReadings } from '../../smpp/carrier-id.ts';

const id = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

describe('a carrier id', () => {
  test('is the same in hex and in decimal, however padded and cased', () => {
    fc.assert(
      fc.property(id, fc.nat(6), fc.boolean(), (value, zeros, upper) => {
        const hex = '0'.repeat(zeros) + value.toString(16);
        const expected = value.toString();
        expect(normaliseCarrierId(upper ? hex.toUpperCase() : hex, 'hex')).toBe(expected);
        expect(normaliseCarrierId('0'.repeat(zeros) + expected, 'decimal')).toBe(expected);
        expect(normaliseCarrierId(` ${expected} `, 'auto')).toBe(expected);
      }),
    );
  });

  test('with a hex letter is read as hex by auto', () => {
    expect(normaliseCarrierId('00000000000000fF', 'auto')).toBe('255');
    expect(normaliseCarrierId('0xff', 'auto')).toBe('255');
    expect(normaliseCarrierId('ffffffffffffffff', 'auto')).toBe('18446744073709551615');
  });

  test('both sides of 2^53 stay exact', () => {
    for (const value of [2n ** 52n - 1n, 2n ** 52n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n]) {
      expect(normaliseCarrierId(value.toString(16), 'hex')).toBe(value.toString());
    }
  });

  test('that is no number stays a name', () => {
    expect(normaliseCarrierId('A1B2-C3', 'auto')).toBe('a1b2-c3');
    expect(normaliseCarrierId('A1B2-C3', 'raw')).toBe('A1B2-C3');
    expect(normaliseCarrierId('0123456789abcdef0123456789abcdef', 'auto')).toBe('0123456789abcdef0123456789abcdef');
    expect(normaliseCarrierId('0', 'decimal')).toBe('0');
    expect(normaliseCarrierId('', 'auto')).toBe('');
  });

  test('of digits alone, answered in hex, is found by its other readings', () => {
    fc.assert(
      fc.property(id, (value) => {
        const stored = normaliseCarrierId(value.toString(16), 'auto');
        const receipt = value.toString();
        expect([normaliseCarrierId(receipt, 'auto'), ...otherReadings(receipt)]).toContain(stored);
      }),
    );
  });

  test('shows its form with the first hex letter', () => {
    expect(learnIdForm('decimal', '1234')).toBe('decimal');
    expect(learnIdForm('decimal', '12f4')).toBe('hex');
    expect(learnIdForm('hex', '1234')).toBe('hex');
    expect(learnIdForm('hex', 'msg-1')).toBe('raw');
  });
});
