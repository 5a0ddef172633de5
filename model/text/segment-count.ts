// Which encoding a text gets and how many segments that makes; entry points, carriers and calculators share this
// result. The default GSM-7 alphabet if it holds the text; else national shift tables that the carrier supports, if
// they need fewer segments than UCS-2, which every handset can show; else UCS-2. The count is for an 8-bit reference
// (153 / 67), and segments.ts never needs more. Pure.
import { type GsmAlphabet, defaultAlphabet, gsmAlphabet } from './gsm-alphabet.ts';
import { type NationalLanguage, type Shift, nationalLanguages, noShift } from './national-languages.ts';
import { type TextEncoding, segmentCapacity, segmentUnits } from './segment-capacity.ts';

export type TextEncodingChoice = 'auto' | TextEncoding;

/** A character that no allowed GSM-7 alphabet has, and its UTF-16 position in the text. */
export type ForeignCharacter = { readonly character: string; readonly index: number };

export type EncodingMismatch = { ok: false; code: 'encoding_mismatch' } & ForeignCharacter;
export type SegmentCount = {
  ok: true;
  encoding: TextEncoding;
  segmentCount: number;
  /** Septets for GSM-7 (a character of the extension table counts two), UTF-16 units for UCS-2. */
  unitCount: number;
  shift: Shift;
  /** The character because of which `'auto'` chose UCS-2; null when it did not, or when UCS-2 was requested. */
  forcedBy: ForeignCharacter | null;
};

/**
 * Encoding and number of segments of a text, without building them: on the ingress's hot path. An empty text is one
 * empty segment. A character outside the alphabets: `'gsm7'` refuses the text, `'auto'` chooses UCS-2. `languages` are
 * the national tables the carrier supports, in its order of preference.
 */
export function countSegments(
  text: string,
  encoding: TextEncodingChoice = 'auto',
  languages: readonly NationalLanguage[] = noLanguages,
): SegmentCount | EncodingMismatch {
  if (encoding === 'ucs2') return countUcs2(text, null);
  const plain = countSeptets(text, defaultAlphabet, noShift);
  if (plain.ok) return plain;
  if (languages.length === 0) return encoding === 'gsm7' ? plain : countUcs2(text, foreign(plain));
  const national = countNational(text, languages, plain);
  if (encoding === 'gsm7') return national;
  // Where the tables hold the text but save no segment, the character outside the default alphabet is the reason.
  const ucs2 = countUcs2(text, foreign(national.ok ? plain : national));
  return national.ok && national.segmentCount < ucs2.segmentCount ? national : ucs2;
}

/** The count of a text whose encoding was decided before; nothing is chosen again. */
export function countDecided(text: string, encoding: TextEncoding, shift = noShift): SegmentCount | EncodingMismatch {
  return encoding === 'ucs2' ? countUcs2(text, null) : countSeptets(text, gsmAlphabet(shift), shift);
}

const noLanguages: readonly NationalLanguage[] = [];

/** The fewest segments over all tables; of equal results the first: the earlier language, and one table before two. */
function countNational(
  text: string,
  languages: readonly NationalLanguage[],
  plain: EncodingMismatch,
): SegmentCount | EncodingMismatch {
  let best: SegmentCount | null = null;
  let furthest = plain;
  for (const language of languages) {
    for (const shift of shiftsOf.get(language) ?? []) {
      const counted = countSeptets(text, gsmAlphabet(shift), shift);
      if (!counted.ok) furthest = counted.index > furthest.index ? counted : furthest;
      else if (best === null || counted.segmentCount < best.segmentCount) best = counted;
    }
  }
  return best ?? furthest;
}

/** The single shift table, the locking shift table, and both. Spanish has no locking shift table. */
function shiftsFor(language: NationalLanguage): readonly Shift[] {
  const id = nationalLanguages[language];
  const single = { locking: 0, single: id };
  return language === 'spanish' ? [single] : [single, { locking: id, single: 0 }, { locking: id, single: id }];
}
// Built once, because countSegments is on the ingress's hot path.
const languageNames = Object.keys(nationalLanguages) as NationalLanguage[];
const shiftsOf = new Map(languageNames.map((language) => [language, shiftsFor(language)]));

function countSeptets(text: string, alphabet: GsmAlphabet, shift: Shift): SegmentCount | EncodingMismatch {
  const { counts } = alphabet;
  const { single, multi8 } = segmentCapacity('gsm7', shift);
  let unitCount = 0;
  let inSegment = 0;
  let segmentCount = 1;
  for (let index = 0; index < text.length; index += 1) {
    const codeUnit = text.charCodeAt(index);
    const septets = codeUnit < counts.length ? counts[codeUnit]! : 0;
    if (septets === 0) return mismatchAt(text, index);
    unitCount += septets;
    inSegment += septets;
    if (inSegment > multi8) {
      segmentCount += 1;
      inSegment = septets;
    }
  }
  if (unitCount <= single) segmentCount = 1;
  return { ok: true, encoding: 'gsm7', segmentCount, unitCount, shift, forcedBy: null };
}

function mismatchAt(text: string, index: number): EncodingMismatch {
  const character = String.fromCodePoint(text.codePointAt(index)!);
  return { ok: false, code: 'encoding_mismatch', character, index };
}

const foreign = ({ character, index }: EncodingMismatch): ForeignCharacter => ({ character, index });

// Advances by segment ends: at most ten steps for a text that the gates allow.
function countUcs2(text: string, forcedBy: ForeignCharacter | null): SegmentCount {
  let segmentCount = text.length <= segmentUnits.ucs2.single ? 1 : 0;
  if (segmentCount === 0) {
    for (let start = 0; start < text.length; segmentCount += 1) {
      start = ucs2SegmentEnd(text, start, segmentUnits.ucs2.multi8);
    }
  }
  return { ok: true, encoding: 'ucs2', segmentCount, unitCount: text.length, shift: noShift, forcedBy };
}

/** Where a segment of at most `unitsMax` units ends, never between the halves of a surrogate pair. */
export function ucs2SegmentEnd(text: string, start: number, unitsMax: number): number {
  const end = start + unitsMax;
  if (end >= text.length) return text.length;
  const partsAPair = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
  return partsAPair ? end - 1 : end;
}

const isHighSurrogate = (codeUnit: number) => (codeUnit & 0xfc00) === 0xd800;
const isLowSurrogate = (codeUnit: number) => (codeUnit & 0xfc00) === 0xdc00;
