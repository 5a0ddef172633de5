// Writes a text in GSM-7 characters as far as look-alikes and base letters allow (`transliterate` of the API). It keeps
// every character of GSM-7 and every one without a faithful replacement, and is idempotent. Pure.
import { septetsOf } from './gsm-alphabet.ts';
import { lookAlikes } from './look-alikes.ts';
import type { NationalLanguage } from './national-languages.ts';
import { type EncodingMismatch, type SegmentCount, type TextEncodingChoice, countSegments } from './segment-count.ts';

/** The text with every character replaced that has a GSM-7 look-alike or base letter. */
export function transliterate(text: string): string {
  return written(text, null);
}

export type WrittenText = { readonly text: string; readonly counted: SegmentCount | EncodingMismatch };

/**
 * The text to send when the client allows transliteration, and its count. All or nothing: the text stays unchanged when
 * some character would still need UCS-2, or when the look-alikes would take more segments. The character then reported
 * is the one without a look-alike, at its index in the client's text.
 */
export function writeInGsm(
  text: string,
  encoding: TextEncodingChoice,
  languages?: readonly NationalLanguage[],
): WrittenText {
  const counted = countSegments(text, encoding, languages);
  // A text in the default alphabet needs no change; one to be sent as UCS-2 keeps its characters.
  if (encoding === 'ucs2' || isPlain(counted)) return { text, counted };
  const sources: number[] = [];
  const gsmText = written(text, sources);
  const gsm = countSegments(gsmText, encoding, languages);
  if (gsm.ok && gsm.encoding === 'gsm7') {
    // Sixty ellipses are one segment of UCS-2 and, as dots, two of GSM-7: the version with fewer segments is sent.
    if (counted.ok && counted.segmentCount < gsm.segmentCount) return { text, counted };
    return { text: gsmText, counted: gsm };
  }
  if (counted.ok && counted.encoding === 'gsm7') return { text, counted };
  const blamed = gsm.ok ? gsm.forcedBy : gsm;
  const index = blamed === null ? undefined : sources[blamed.index];
  if (blamed === null || index === undefined) return { text, counted };
  const { character } = blamed;
  return {
    text,
    counted: counted.ok ? { ...counted, forcedBy: { character, index } } : { ...counted, character, index },
  };
}

function isPlain(counted: SegmentCount | EncodingMismatch): boolean {
  return counted.ok && counted.encoding === 'gsm7' && counted.shift.locking === 0 && counted.shift.single === 0;
}

/** Fills `sources` with the index in `text` of the origin of each UTF-16 unit of the result. */
function written(text: string, sources: number[] | null): string {
  let result = '';
  for (let index = 0; index < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(index)!);
    if (isCombiningMark(character) && isGsmLetter(result.at(-1))) {
      // The letter before the mark becomes the composed character if GSM-7 has it; else the mark is dropped.
      const letter = result.at(-1)!;
      const composed = (letter + character).normalize('NFC');
      result = result.slice(0, -1) + (isGsm(composed) ? composed : letter);
    } else result += isGsm(character) ? character : (replacementOf(character) ?? character);
    if (sources !== null) {
      sources.length = Math.min(sources.length, result.length);
      while (sources.length < result.length) sources.push(index);
    }
    index += character.length;
  }
  return result;
}

/** Undefined when GSM-7 has no replacement. */
function replacementOf(character: string): string | undefined {
  const known = lookAlikes.get(character);
  if (known !== undefined) return known;
  const code = character.codePointAt(0)!;
  // Full-width and small forms, ligatures, styled letters (bold, script …): Unicode defines their compatibility form.
  if (isCompatibilityForm(code)) return gsmOf(character.normalize('NFKC'));
  if (isLetterWithMarks(code)) return gsmOf(character.normalize('NFD').replace(combiningMarks, ''));
  return undefined;
}

/** The characters in GSM-7, by look-alikes where necessary; undefined when one of them has none. */
function gsmOf(characters: string): string | undefined {
  let result = '';
  for (const character of characters) {
    const gsm = isGsm(character) ? character : lookAlikes.get(character);
    if (gsm === undefined) return undefined;
    result += gsm;
  }
  return result;
}

// Latin-1 to Latin Extended-B, Latin Extended Additional; Greek and Cyrillic capitals with marks (Ά, Ё) by their base.
function isLetterWithMarks(code: number): boolean {
  return (code >= 0xc0 && code <= 0x24f) || (code >= 0x1e00 && code <= 0x1eff) || (code >= 0x386 && code <= 0x3ab);
}

function isCompatibilityForm(code: number): boolean {
  return (
    (code >= 0xff01 && code <= 0xff5e) ||
    (code >= 0xffe0 && code <= 0xffe6) ||
    (code >= 0xfb00 && code <= 0xfb06) ||
    (code >= 0xfe50 && code <= 0xfe6b) ||
    (code >= 0x132 && code <= 0x133) ||
    code === 0x2126 ||
    (code >= 0x212a && code <= 0x212b) ||
    (code >= 0x1d400 && code <= 0x1d7ff)
  );
}

const combiningMarks = /[\u0300-\u036f]/g;
const gsmLetter = /^[A-Za-zÄÅÆÇÉÑÖØÜßàäåæèéìñòöøùü]$/;

function isCombiningMark(character: string): boolean {
  return character >= '\u0300' && character <= '\u036f';
}
function isGsmLetter(character: string | undefined): boolean {
  return character !== undefined && gsmLetter.test(character);
}
/** One code unit of the default alphabet or its extension. */
function isGsm(character: string): boolean {
  return character.length === 1 && septetsOf(character.charCodeAt(0)) > 0;
}
