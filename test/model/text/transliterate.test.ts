// Look-alikes: what they may change, that twice equals once, and which character is named when they do not help.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { characterOf, escapedCharacterOf, septetsOf } from '../../../model/text/gsm-alphabet.ts';
import { lookAlikes } from '../../../model/text/look-alikes.ts';
import { countSegments } from '../../../model/text/segment-count.ts';
import { transliterate, writeInGsm } from '../../../model/text/transliterate.ts';

const gsmCharacters = Array.from({ length: 128 }, (_, septet) => septet)
  .filter((septet) => septet !== 0x1b)
  .flatMap((septet) => [characterOf(septet), escapedCharacterOf(septet)]);
const gsmText = fc.string({ unit: fc.constantFrom(...gsmCharacters) });
const mixed = fc.constantFrom(
  ...gsmCharacters,
  ...lookAlikes.keys(),
  '\u0301',
  '\u0327',
  'ő',
  'é',
  'Ж',
  'ক',
  '😀',
  'Ａ',
  '\u200d',
);
const mixedText = fc.string({ unit: mixed, maxLength: 60 });
const anyText = fc.oneof(mixedText, fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));

describe('transliterate', () => {
  test.each([
    ['“Hi” – it’s 5…', '"Hi" - it\'s 5...'],
    ['a\u00a0b\u202fc\u3000d\u200be', 'a b c de'],
    ['Ｈｅｌｌｏ，　１２３！', 'Hello, 123!'],
    ['Łódź, Ñandú, ção, İstanbul, œuvre', 'Lodz, Ñandu, cao, Istanbul, oeuvre'],
    ['МТС АВЕ', 'MTC ABE'],
    ['ΑΘΗΝΑ Ώ', 'AΘHNA Ω'],
    ['e\u0301 c\u0327 a\u030a x\u0301', 'é c å x'],
    ['\u{1D407}\u{1D422} ﬁ', 'Hi fi'],
    ['\u2126 \u212b \u212a', 'Ω Å K'],
    ['সমাপ্ত।', 'সমাপ্ত|'],
  ])('writes %s as %s', (text, expected) => expect(transliterate(text)).toBe(expected));

  test.each(['Привет', 'ЗЬЧ', 'νβα', 'নমস্কার', '😀', '½', '漢字', 'þ', '\u0301'])(
    'leaves alone what is unclear in %s',
    (text) => {
      expect(transliterate(text)).toBe([...text].map((each) => transliterate(each)).join(''));
      expect([...transliterate(text)].some((each) => septetsOf(each.charCodeAt(0)) === 0)).toBe(true);
    },
  );

  test('never changes a text within GSM-7', () => {
    fc.assert(fc.property(gsmText, (text) => void expect(transliterate(text)).toBe(text)));
  });

  test('applied twice equals once', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const once = transliterate(text);
        expect(transliterate(once)).toBe(once);
      }),
      { numRuns: 2_000 },
    );
  });

  test('of every single character is in GSM-7 as a whole or the character itself', () => {
    for (let code = 0; code < 0x1d800; code += 1) {
      if (code >= 0xd800 && code < 0xe000) continue;
      const character = String.fromCodePoint(code);
      const written = transliterate(character);
      if (written === character) continue;
      expect(countSegments(written), `U+${code.toString(16)} → ${written}`).toMatchObject({ encoding: 'gsm7' });
      expect(septetsOf(code), `U+${code.toString(16)}`).toBe(0);
    }
  });
});

describe('a text that may be transliterated', () => {
  test('is sent in GSM-7 when all of it can be', () => {
    expect(writeInGsm('“ok”', 'auto')).toMatchObject({ text: '"ok"', counted: { encoding: 'gsm7', forcedBy: null } });
    expect(writeInGsm('“ok”', 'gsm7')).toMatchObject({ text: '"ok"', counted: { ok: true } });
  });

  test('stays unchanged when some of it cannot, and names the character without a look-alike', () => {
    expect(writeInGsm('“…” ব', 'auto')).toMatchObject({
      text: '“…” ব',
      counted: { encoding: 'ucs2', forcedBy: { character: 'ব', index: 4 } },
    });
    expect(writeInGsm('…e\u0301\u200b😀', 'gsm7')).toMatchObject({
      text: '…e\u0301\u200b😀',
      counted: { ok: false, code: 'encoding_mismatch', character: '😀', index: 4 },
    });
  });

  test('stays unchanged when look-alikes would take more segments', () => {
    expect(writeInGsm('…'.repeat(53), 'auto')).toMatchObject({ text: '...'.repeat(53) });
    expect(writeInGsm('…'.repeat(54), 'auto')).toMatchObject({
      text: '…'.repeat(54),
      counted: { encoding: 'ucs2', segmentCount: 1, forcedBy: { character: '…', index: 0 } },
    });
    expect(writeInGsm('…'.repeat(54), 'gsm7')).toMatchObject({ counted: { encoding: 'gsm7', segmentCount: 2 } });
  });

  test('keeps its characters when UCS-2 was requested', () => {
    expect(writeInGsm('“ok”', 'ucs2')).toMatchObject({ text: '“ok”', counted: { encoding: 'ucs2', forcedBy: null } });
  });

  test('fits a national table when its look-alikes do', () => {
    const text = `${'নমুনা '.repeat(14)}।`;
    expect(writeInGsm(text, 'auto', ['bengali'])).toMatchObject({
      text: text.replace('।', '|'),
      counted: { encoding: 'gsm7', segmentCount: 1 },
    });
  });

  test('names a character of the text with its index, and none when it fits', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { text: written, counted } = writeInGsm(text, 'auto');
        if (!counted.ok) throw new Error('auto never refuses');
        expect(countSegments(written)).toMatchObject({
          encoding: counted.encoding,
          segmentCount: counted.segmentCount,
        });
        if (counted.encoding === 'gsm7') return void expect(counted.forcedBy).toBeNull();
        expect(written).toBe(text);
        const { character, index } = counted.forcedBy ?? { character: '', index: -1 };
        expect(text.startsWith(character, index)).toBe(true);
        const gsm = countSegments(transliterate(text));
        const isDearer = gsm.ok && gsm.segmentCount > counted.segmentCount;
        if (!isDearer) expect(transliterate(character)).toBe(character);
      }),
      { numRuns: 2_000 },
    );
  });
});
