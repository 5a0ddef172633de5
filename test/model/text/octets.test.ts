// The octets of a text on the wire, and that they decode to the same text.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readConcatenation, withHeader } from '../../../model/text/concatenation.ts';
import { characterOf, escapedCharacterOf } from '../../../model/text/gsm-alphabet.ts';
import { noShift } from '../../../model/text/national-languages.ts';
import { decodeText, encodeSegments, encodeText } from '../../../model/text/octets.ts';

const characters = Array.from({ length: 128 }, (_, septet) => septet)
  .filter((septet) => septet !== 0x1b)
  .flatMap((septet) => [characterOf(septet), escapedCharacterOf(septet)]);
const gsmText = fc.string({ unit: fc.constantFrom(...characters), maxLength: 1600, size: 'max' });
const anyText = fc.string({ unit: 'binary', maxLength: 700, size: 'max' });

function joined(segments: ReturnType<typeof encodeSegments>): string {
  return segments
    .map((segment) => {
      const body = segment.hasUdh ? readConcatenation(segment.octets).body : segment.octets;
      return decodeText(body, segment.dataCoding);
    })
    .join('');
}

describe('octets', () => {
  test('of known texts are those of the standard', () => {
    expect(encodeText('@£$¥èéùìòÇ\nØø\rÅå', 'gsm7')).toEqual(Buffer.from(Array.from({ length: 16 }, (_, i) => i)));
    expect(encodeText('a{€}', 'gsm7').toString('hex')).toBe('611b281b651b29');
    expect(encodeText('à', 'gsm7').toString('hex')).toBe('7f');
    expect(encodeText('বA', 'ucs2').toString('hex')).toBe('09ac0041');
    expect(encodeText('\u{1F600}', 'ucs2').toString('hex')).toBe('d83dde00');
  });

  test('of a long text carry the header 06 08 04 with reference, total and part', () => {
    const segments = encodeSegments('a'.repeat(200), 'gsm7', 0x1234);
    expect(segments.map((segment) => segment.octets.subarray(0, 7).toString('hex'))).toEqual([
      '06080412340201',
      '06080412340202',
    ]);
    expect(segments.map((segment) => segment.octets.length)).toEqual([7 + 152, 7 + 48]);
  });

  test('of a text that fills its segments carry the shorter header 05 00 03', () => {
    const segments = encodeSegments('a'.repeat(306), 'gsm7', 0x1234);
    expect(segments.map((segment) => segment.octets.subarray(0, 6).toString('hex'))).toEqual([
      '050003340201',
      '050003340202',
    ]);
  });

  test('never need more than the 140 octets of the air interface', () => {
    fc.assert(
      fc.property(fc.oneof(gsmText, anyText), fc.boolean(), (text, asUcs2) => {
        const encoding = asUcs2 || !gsmOnly(text) ? 'ucs2' : 'gsm7';
        for (const { octets, hasUdh } of encodeSegments(text, encoding, 7)) {
          const header = hasUdh ? octets[0]! + 1 : 0;
          const body = octets.length - header;
          expect(header + (encoding === 'gsm7' ? Math.ceil((body * 7) / 8) : body)).toBeLessThanOrEqual(140);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('decode to the text they were made of', () => {
    fc.assert(
      fc.property(gsmText, (text) => {
        expect(joined(encodeSegments(text, 'gsm7', 1))).toBe(text);
      }),
      { numRuns: 200 },
    );
    fc.assert(
      fc.property(anyText, (text) => {
        expect(joined(encodeSegments(text, 'ucs2', 65_535))).toBe(text);
      }),
      { numRuns: 200 },
    );
  });

  test('of a text the encoding cannot hold are a bug, not a guess', () => {
    expect(() => encodeSegments('✓', 'gsm7', 1)).toThrow('cannot hold it');
  });

  test('that are damaged are still read', () => {
    expect(decodeText(Buffer.from([0x61, 0x1b]), 0)).toBe('a ');
    expect(decodeText(Buffer.from([0x1b, 0x61]), 0)).toBe('a');
    expect(decodeText(Buffer.from([0x09, 0xac, 0x00]), 8)).toBe('ব');
    expect(decodeText(Buffer.from([0xe9]), 3)).toBe('é');
  });
});

describe('a concatenation header', () => {
  test('decodes to what was encoded', () => {
    const octet = fc.integer({ min: 1, max: 255 });
    fc.assert(
      fc.property(
        fc.constantFrom(8 as const, 16 as const),
        fc.nat(65_535),
        octet,
        octet,
        (bits, reference, total, part) => {
          const expected = { reference: bits === 8 ? reference & 0xff : reference, referenceBits: bits, total, part };
          const read = readConcatenation(withHeader({ ...expected, reference }, noShift, Buffer.from('body')));
          expect(read.concatenation).toEqual(expected);
          expect(read.body.toString()).toBe('body');
        },
      ),
    );
  });

  test('with a wrong length is ignored', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (octets) => {
        expect(readConcatenation(Buffer.from(octets)).body.length).toBeLessThanOrEqual(octets.length);
      }),
    );
    expect(readConcatenation(Buffer.from([200, 1, 2])).body).toEqual(Buffer.from([200, 1, 2]));
    expect(readConcatenation(Buffer.alloc(0)).concatenation).toBeUndefined();
  });

  test('is found after an unknown element', () => {
    const read = readConcatenation(Buffer.concat([Buffer.from('0a24030102030003aa0201', 'hex'), Buffer.from('x')]));
    expect(read).toEqual({
      concatenation: { reference: 0xaa, referenceBits: 8, total: 2, part: 1 },
      body: Buffer.from('x'),
    });
  });
});

function gsmOnly(text: string): boolean {
  return [...text].every((character) => characters.includes(character) && character.length === 1);
}
