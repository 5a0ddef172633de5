// National shift tables (3GPP TS 23.038, annex A): that they are those of the standard, when they are used, and that
// what the ingress counts is what the carrier encodes and a handset reads.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readConcatenation, withHeader } from '../../../model/text/concatenation.ts';
import { characterOf, defaultAlphabet, escapedCharacterOf, gsmAlphabet } from '../../../model/text/gsm-alphabet.ts';
import { type NationalLanguage, nationalLanguages, noShift } from '../../../model/text/national-languages.ts';
import { lockingShiftTable, singleShiftTable } from '../../../model/text/national-tables.ts';
import { decodeText, encodeSegments, encodeText } from '../../../model/text/octets.ts';
import { segmentCapacity } from '../../../model/text/segment-capacity.ts';
import { countSegments } from '../../../model/text/segment-count.ts';
import { segmentDecided, segmentText } from '../../../model/text/segments.ts';

const languages = Object.keys(nationalLanguages) as NationalLanguage[];
const identifiers = Object.values(nationalLanguages);

/** A text of characters that a language's tables and the default alphabet have. */
function textOf(language: NationalLanguage, maxLength: number) {
  const id = nationalLanguages[language];
  const both = gsmAlphabet({ locking: id, single: id });
  const characters = [...both.basic.values(), ...both.extension.values()];
  return fc.string({ unit: fc.constantFrom(...characters), maxLength, size: 'max' });
}
const anyNational = fc
  .constantFrom(...languages)
  .chain((language) => fc.tuple(fc.constant(language), textOf(language, 500)));

describe('the tables', () => {
  // The sum was taken when all 25 tables had been compared, place by place, with those of Android phones (equal)
  // and with a transcription of release 18 of the standard. That one has another letter at 0x24 of Kannada, a second
  // ಪ where ಡ would be missing: taken for a misprint, because phones show ಡ.
  test('are unchanged since they were compared with other implementations', () => {
    const rows = identifiers.flatMap((id) => [
      [...(lockingShiftTable(id)?.characters ?? [])].sort(([a], [b]) => a - b),
      [...(singleShiftTable(id) ?? [])].sort(([a], [b]) => a - b),
    ]);
    expect(createHash('sha256').update(JSON.stringify(rows)).digest('hex')).toBe(
      'c2e40386660f521d57de6665993263a81846609bec83ebcc3d4dda56a271208b',
    );
  });

  test.each([
    ['turkish', 0x0b, 'Ğ', 0x69, 'ı'],
    ['portuguese', 0x15, '∞', 0x7f, 'â'],
    ['bengali', 0x26, 'ণ', 0x19, '০'],
    ['hindi', 0x3c, 'ऩ', 0x30, 'ज़'],
    ['kannada', 0x24, 'ಡ', 0x26, 'ೞ'],
    ['tamil', 0x7f, '௹', 0x2e, '௺'],
    ['telugu', 0x0e, 'ఎ', 0x1c, '౦'],
    ['urdu', 0x00, 'ا', 0x3f, '۔'],
  ] as const)('of %s have their letters in their places', (language, basic, letter, escaped, behind) => {
    const id = nationalLanguages[language];
    const alphabet = gsmAlphabet({ locking: id, single: id });
    expect(characterOf(basic, alphabet)).toBe(letter.normalize('NFC'));
    expect(escapedCharacterOf(escaped, alphabet).normalize('NFD')).toBe(behind.normalize('NFD'));
  });

  test('that do not exist are read as the default ones', () => {
    expect(gsmAlphabet({ locking: 2, single: 0 })).toBe(defaultAlphabet);
    expect(gsmAlphabet({ locking: 200, single: 14 })).toBe(defaultAlphabet);
    expect(gsmAlphabet({ locking: 99, single: 1 }).basic).toBe(defaultAlphabet.basic);
  });

  test('leave the escape, the line ends and the space where they are', () => {
    for (const id of identifiers) {
      const { basic, extension } = gsmAlphabet({ locking: id, single: id });
      expect([basic.get(0x0a), basic.get(0x0d), basic.get(0x20), basic.get(0x1b)]).toEqual([
        '\n',
        '\r',
        ' ',
        undefined,
      ]);
      expect([extension.get(0x0a), extension.get(0x0d), extension.get(0x1b)]).toEqual(['\f', undefined, undefined]);
    }
  });
});

describe('the capacity of a segment', () => {
  test.each([
    [0, 0, { single: 160, multi8: 153, multi16: 152 }],
    [0, 4, { single: 155, multi8: 149, multi16: 148 }],
    [4, 0, { single: 155, multi8: 149, multi16: 148 }],
    [4, 4, { single: 152, multi8: 146, multi16: 145 }],
  ])('beside tables %i and %i is what 140 octets leave', (locking, single, room) => {
    expect(segmentCapacity('gsm7', { locking, single })).toEqual(room);
  });
});

describe('national tables are used', () => {
  const word = 'নিশ্চিত ';

  test('never without the carrier’s support, and then UCS-2 is', () => {
    expect(countSegments(word.repeat(20))).toMatchObject({ encoding: 'ucs2', segmentCount: 3, shift: noShift });
  });

  test('when they save a segment', () => {
    expect(countSegments(word.repeat(20), 'auto', ['bengali'])).toMatchObject({
      encoding: 'gsm7',
      segmentCount: 2,
      shift: { locking: 4, single: 0 },
      forcedBy: null,
    });
  });

  test('not when UCS-2 needs no more, because every handset shows it', () => {
    expect(countSegments('ন'.repeat(70), 'auto', ['bengali'])).toMatchObject({ encoding: 'ucs2', segmentCount: 1 });
    expect(countSegments('ন'.repeat(71), 'auto', ['bengali'])).toMatchObject({ encoding: 'gsm7', segmentCount: 1 });
  });

  test('not for a text of the default alphabet', () => {
    expect(countSegments('€'.repeat(160), 'auto', ['turkish'])).toMatchObject({ shift: noShift, segmentCount: 3 });
  });

  test('on both sides of a full segment', () => {
    const shift = { locking: 4, single: 0 };
    expect(countSegments('ন'.repeat(155), 'auto', ['bengali'])).toMatchObject({ segmentCount: 1, shift });
    expect(countSegments('ন'.repeat(156), 'auto', ['bengali'])).toMatchObject({ segmentCount: 2, shift });
    expect(countSegments('ন'.repeat(298), 'auto', ['bengali'])).toMatchObject({ segmentCount: 2 });
    expect(countSegments('ন'.repeat(299), 'auto', ['bengali'])).toMatchObject({ segmentCount: 3 });
  });

  test('one table where one is enough, of the earlier language where two would do', () => {
    expect(countSegments(`ş${'a'.repeat(99)}`, 'auto', ['turkish'])).toMatchObject({
      shift: { locking: 0, single: 1 },
    });
    expect(countSegments(`ç${'a'.repeat(99)}`, 'auto', ['spanish', 'turkish'])).toMatchObject({ shift: { single: 2 } });
    expect(countSegments(`ç${'a'.repeat(99)}`, 'auto', ['turkish', 'spanish'])).toMatchObject({ shift: { single: 1 } });
  });

  test('for gsm7 too, and the character named is one that no table has', () => {
    expect(countSegments('ş', 'gsm7', ['turkish'])).toMatchObject({ ok: true, encoding: 'gsm7' });
    expect(countSegments('ন্ত😀', 'gsm7', ['turkish', 'bengali'])).toMatchObject({ character: '😀', index: 3 });
    expect(countSegments('নন😀', 'auto', ['bengali'])).toMatchObject({ forcedBy: { character: '😀', index: 2 } });
    expect(countSegments('নন', 'auto', ['bengali'])).toMatchObject({ forcedBy: { character: 'ন', index: 0 } });
  });
});

describe('what the ingress counted', () => {
  test('is what the carrier encodes, within the air interface, and what a handset reads', () => {
    fc.assert(
      fc.property(anyNational, ([language, text]) => {
        const counted = countSegments(text, 'auto', [language]);
        if (!counted.ok) throw new Error('auto never refuses');
        expect(counted.segmentCount).toBeLessThanOrEqual(Math.max(countOf(text), counted.segmentCount));
        const segments = encodeSegments(text, counted.encoding, 0xbeef, counted.shift);
        expect(segments.length).toBe(counted.segmentCount);
        let read = '';
        for (const { octets, dataCoding, hasUdh } of segments) {
          const header = hasUdh ? octets[0]! + 1 : 0;
          const body = octets.length - header;
          const onAir = counted.encoding === 'gsm7' ? Math.ceil((body * 7) / 8) : body;
          expect(header + onAir).toBeLessThanOrEqual(140);
          const data = hasUdh ? readConcatenation(octets) : { body: octets, shift: noShift };
          read += decodeText(data.body, dataCoding, data.shift);
        }
        expect(read).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  test('never needs more segments than without national tables', () => {
    fc.assert(
      fc.property(anyNational, fc.shuffledSubarray(languages), ([, text], allowed) => {
        const counted = countSegments(text, 'auto', allowed);
        expect(counted.ok && counted.segmentCount).toBeLessThanOrEqual(countOf(text));
        const segmented = segmentText(text, 'auto', allowed);
        if (!counted.ok || !segmented.ok) throw new Error('auto never refuses');
        expect(segmentDecided(text, counted.encoding, counted.shift)).toEqual(segmented);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the header of national tables', () => {
  test('is 24 01 for the escape and 25 01 for the alphabet, after the concatenation', () => {
    const body = Buffer.from('x');
    expect(withHeader(null, { locking: 0, single: 4 }, body).toString('hex')).toBe('0324010478');
    expect(withHeader(null, { locking: 13, single: 0 }, body).toString('hex')).toBe('0325010d78');
    const tie = { reference: 0x1234, referenceBits: 16, total: 2, part: 1 } as const;
    expect(withHeader(tie, { locking: 4, single: 4 }, body).toString('hex')).toBe('0c08041234020124010425010478');
    expect(withHeader(null, noShift, body)).toBe(body);
  });

  test('is read in any order', () => {
    expect(readConcatenation(Buffer.from('0625010424010578', 'hex'))).toMatchObject({
      shift: { locking: 4, single: 5 },
    });
  });

  test('is alone before a text of one segment', () => {
    const shift = { locking: 0, single: 1 };
    const [segment] = encodeSegments('şa', 'gsm7', 7, shift);
    expect(segment).toEqual({ octets: Buffer.from('032401011b7361', 'hex'), dataCoding: 0, hasUdh: true });
    expect(encodeText('şa', 'gsm7', shift).toString('hex')).toBe('1b7361');
  });
});

function countOf(text: string): number {
  const counted = countSegments(text);
  return counted.ok ? counted.segmentCount : 0;
}
