// Packing of septets, by the examples of 3GPP TS 23.038 and by its own reverse.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeText } from '../../../model/text/octets.ts';
import { fillBitsAfter, packSeptets, unpackSeptets } from '../../../smpp/text/packed-septets.ts';

describe('packed septets', () => {
  test("are those of the standard's examples", () => {
    expect(packSeptets(encodeText('hellohello', 'gsm7')).toString('hex')).toBe('e8329bfd4697d9ec37');
    expect(packSeptets(Buffer.alloc(0)).toString('hex')).toBe('');
  });

  test('of 160 are 140 octets, of 159 too', () => {
    expect(packSeptets(encodeText('x'.repeat(160), 'gsm7'))).toHaveLength(140);
    expect(packSeptets(encodeText('x'.repeat(159), 'gsm7'))).toHaveLength(140);
  });

  test('that leave seven bits get a carriage return and no @', () => {
    const octets = packSeptets(encodeText('1234567', 'gsm7'));
    expect(octets[6]! >> 1).toBe(0x0d);
    expect(unpackSeptets(octets).toString()).toBe('1234567');
  });

  test.each([
    [6, 1],
    [7, 0],
    [0, 0],
    [4, 3],
  ])('behind a header of %i octets begin after %i fill bits', (headerOctets, fillBits) => {
    expect(fillBitsAfter(headerOctets)).toBe(fillBits);
  });

  test('decode unchanged, after any fill, unless they end in a carriage return', () => {
    const septets = fc
      .uint8Array({ max: 0x7f, maxLength: 200 })
      .filter((each) => each.length === 0 || each.at(-1) !== 0x0d);
    fc.assert(
      fc.property(septets, fc.integer({ min: 0, max: 6 }), (each, fillBits) => {
        const octets = packSeptets(each, fillBits);
        expect(octets).toHaveLength(Math.ceil((fillBits + each.length * 7) / 8));
        expect([...unpackSeptets(octets, fillBits)]).toEqual([...each]);
      }),
    );
  });
});
