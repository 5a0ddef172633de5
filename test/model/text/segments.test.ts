// Segmentation against two independent calculators, and both sides of every limit.
import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, test } from 'vitest';
import { characterOf, escapedCharacterOf, septetsOf } from '../../../model/text/gsm-alphabet.ts';
import { countSegments } from '../../../model/text/segment-count.ts';
import { segmentUnits } from '../../../model/text/segment-capacity.ts';
import { segmentText } from '../../../model/text/segments.ts';
// @ts-expect-error the oracle ships no types
import splitSms from 'split-sms';

const basic = Array.from({ length: 128 }, (_, septet) => septet)
  .filter((septet) => septet !== 0x1b)
  .map((septet) => characterOf(septet));
const extension = [0x0a, 0x14, 0x28, 0x29, 0x2f, 0x3c, 0x3d, 0x3e, 0x40, 0x65].map((septet) =>
  escapedCharacterOf(septet),
);
const gsmText = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...basic, ...extension, ...extension), maxLength, size: 'max' });
// Code points that never join into one grapheme: the calculator keeps graphemes together (see below).
const plainUnicode = fc.constantFrom('a', ' ', 'ব', 'ক', '漢', '中', '€', 'ж', '\u{1F600}', '\u{20000}', '\u{1F680}');
const unicodeText = (maxLength: number) => fc.string({ unit: plainUnicode, maxLength, size: 'max' });

describe('the number of segments', () => {
  test.each([
    ['gsm7', 'a', 160, 1],
    ['gsm7', 'a', 161, 2],
    ['gsm7', 'a', 304, 2],
    ['gsm7', 'a', 306, 2],
    ['gsm7', 'a', 307, 3],
    ['gsm7', 'a', 1530, 10],
    ['gsm7', 'a', 1531, 11],
    ['gsm7', '€', 80, 1],
    ['gsm7', '€', 81, 2],
    // 76 escapes fill 152 of 153: the odd septet stays empty.
    ['gsm7', '€', 152, 2],
    ['gsm7', '€', 153, 3],
    ['ucs2', 'ব', 70, 1],
    ['ucs2', 'ব', 71, 2],
    ['ucs2', 'ব', 134, 2],
    ['ucs2', 'ব', 135, 3],
    ['ucs2', 'ব', 670, 10],
    ['ucs2', 'ব', 671, 11],
    ['ucs2', '\u{1F600}', 35, 1],
    ['ucs2', '\u{1F600}', 36, 2],
    ['ucs2', '\u{1F600}', 66, 2],
    ['ucs2', '\u{1F600}', 67, 3],
  ] as const)('of %s %s × %i is %i', (encoding, character, times, segmentCount) => {
    expect(countSegments(character.repeat(times))).toMatchObject({ ok: true, encoding, segmentCount });
  });

  test('of an empty text is one', () => {
    expect(countSegments('')).toMatchObject({ ok: true, encoding: 'gsm7', segmentCount: 1, unitCount: 0 });
  });

  test('equals that of both calculators for any GSM text', () => {
    fc.assert(
      fc.property(gsmText(700), (text) => {
        const counted = countSegments(text);
        expect(counted).toMatchObject({ ok: true, encoding: 'gsm7' });
        if (!counted.ok) return;
        expect(counted.segmentCount).toBe(new SegmentedMessage(text).segmentsCount);
        expect(counted.segmentCount).toBe(splitSms.split(text).parts.length);
        expect(counted.unitCount).toBe(splitSms.split(text).bytes);
      }),
      { numRuns: 300 },
    );
  });

  test('equals that of both calculators for any text with characters outside the alphabet', () => {
    fc.assert(
      fc.property(unicodeText(400), (text) => {
        const counted = countSegments(text, 'ucs2');
        expect(counted.ok && counted.segmentCount).toBe(new SegmentedMessage(text, 'UCS-2').segmentsCount);
        expect(counted.ok && counted.segmentCount).toBe(splitSms.split(text, { characterset: 'Unicode' }).parts.length);
      }),
      { numRuns: 300 },
    );
  });

  // Known difference: the calculator keeps a grapheme of several code points (a family emoji, a Bengali
  // syllable) in one segment and may need one segment more. The handset joins the parts before it draws, so
  // we keep them whole only where that is free (graphemes.test.ts), and split-sms counts as we do.
  test('does not grow because a grapheme meets a segment end', () => {
    const family = '\u{1F468}‍\u{1F469}‍\u{1F467}';
    const text = 'ব'.repeat(64) + family + 'ব'.repeat(62);
    expect(countSegments(text)).toMatchObject({ segmentCount: 2 });
    expect(splitSms.split(text).parts.length).toBe(2);
    expect(new SegmentedMessage(text).segmentsCount).toBe(3);
  });
});

describe('the encoding', () => {
  test('is GSM-7 for exactly the characters both calculators accept', () => {
    for (let code = 0; code < 0xd800; code += 1) {
      const character = String.fromCharCode(code);
      expect(countSegments(character).ok && septetsOf(code) > 0, `U+${code.toString(16)}`).toBe(
        splitSms.split(character).characterSet === 'GSM',
      );
    }
  });

  test('gsm7, when requested, refuses the first character outside the alphabet with its index', () => {
    expect(countSegments('ok ✓', 'gsm7')).toEqual({
      ok: false,
      code: 'encoding_mismatch',
      character: '✓',
      index: 3,
    });
    expect(segmentText('\u{1F600}', 'gsm7')).toMatchObject({ ok: false, character: '\u{1F600}', index: 0 });
  });

  test('ucs2, when requested, is used for a GSM text too', () => {
    expect(countSegments('a'.repeat(71), 'ucs2')).toMatchObject({ encoding: 'ucs2', segmentCount: 2 });
  });

  test('an escape in the text is no GSM character', () => {
    expect(countSegments('\u001b')).toMatchObject({ encoding: 'ucs2' });
  });
});

describe('the segments', () => {
  test('joined are the text, none is too large, none splits a pair', () => {
    fc.assert(
      fc.property(fc.oneof(gsmText(1600), unicodeText(700)), (text) => {
        const segmented = segmentText(text);
        const counted = countSegments(text);
        if (!segmented.ok || !counted.ok) throw new Error('auto never refuses');
        expect(segmented.segments.map((segment) => segment.text).join('')).toBe(text);
        expect(segmented.segments.length).toBe(counted.segmentCount);
        expect(segmented.unitCount).toBe(counted.unitCount);
        expect(segmented.segments.reduce((sum, segment) => sum + segment.unitCount, 0)).toBe(counted.unitCount);
        const room = segmentUnits[segmented.encoding];
        const most = { 0: room.single, 8: room.multi8, 16: room.multi16 }[segmented.referenceBits];
        for (const segment of segmented.segments) {
          expect(segment.unitCount).toBeLessThanOrEqual(most);
          expect(segment.text.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('carry a 16-bit reference unless its one octet would cost another segment', () => {
    const bits = (text: string) => {
      const segmented = segmentText(text);
      return segmented.ok && [segmented.referenceBits, segmented.segments.length];
    };
    expect(bits('a'.repeat(160))).toEqual([0, 1]);
    expect(bits('a'.repeat(304))).toEqual([16, 2]);
    expect(bits('a'.repeat(305))).toEqual([8, 2]);
    expect(bits('a'.repeat(306))).toEqual([8, 2]);
    expect(bits('a'.repeat(307))).toEqual([16, 3]);
    expect(bits('ব'.repeat(132))).toEqual([16, 2]);
    expect(bits('ব'.repeat(133))).toEqual([8, 2]);
  });
});
