// Which encoding a text takes and how it falls into SMS segments. A segment holds 140 octets: 160 septets or
// 70 UTF-16 units alone. A concatenation header takes 6 octets with an 8-bit reference (153 / 67 left) and 7
// with a 16-bit one (152 / 66 left). The 16-bit one is taken, because 256 references wrap within a campaign,
// except where that one unit would cost the client another segment: the count is always that of 153 / 67.
// An escape and its character, or the halves of a surrogate pair, are never parted. Pure.
import { septetsOf } from './gsm-alphabet.ts';

export type TextEncoding = 'gsm7' | 'ucs2';
export type TextEncodingChoice = 'auto' | TextEncoding;

/** One SMS part. `unitCount` is septets for GSM-7 (an extension character counts two), UTF-16 units for UCS-2. */
export type TextSegment = { text: string; unitCount: number };

export type EncodingMismatch = { ok: false; code: 'encoding_mismatch'; character: string; index: number };
export type SegmentCount = { ok: true; encoding: TextEncoding; segmentCount: number; unitCount: number };
export type SegmentedText = {
  ok: true;
  encoding: TextEncoding;
  segments: TextSegment[];
  unitCount: number;
  /** Which concatenation header leaves room for these segments; 0 when there is one segment and no header. */
  referenceBits: 0 | 8 | 16;
};

/** Units per segment: alone, beside a header with an 8-bit reference, beside one with a 16-bit reference. */
export const segmentUnits = {
  gsm7: { single: 160, multi8: 153, multi16: 152 },
  ucs2: { single: 70, multi8: 67, multi16: 66 },
} as const;

/**
 * Encoding and number of segments of a text, without building them: the ingress's hot path. An empty text is
 * one empty segment. `'gsm7'` refuses a text with a character outside the alphabet; `'auto'` then takes UCS-2.
 */
export function countSegments(text: string, encoding: TextEncodingChoice = 'auto'): SegmentCount | EncodingMismatch {
  if (encoding !== 'ucs2') {
    const counted = countGsm(text);
    if (counted.ok || encoding === 'gsm7') return counted;
  }
  return { ok: true, encoding: 'ucs2', segmentCount: countUcs2(text), unitCount: text.length };
}

/** The same decision as countSegments, with the text of every segment. Joined, they are the text again. */
export function segmentText(text: string, encoding: TextEncodingChoice = 'auto'): SegmentedText | EncodingMismatch {
  const counted = countSegments(text, encoding);
  if (!counted.ok) return counted;
  const { unitCount } = counted;
  if (counted.segmentCount === 1) {
    return { ok: true, encoding: counted.encoding, segments: [{ text, unitCount }], unitCount, referenceBits: 0 };
  }
  const wide = cut(text, counted.encoding, segmentUnits[counted.encoding].multi16);
  const fits = wide.length === counted.segmentCount;
  return {
    ok: true,
    encoding: counted.encoding,
    segments: fits ? wide : cut(text, counted.encoding, segmentUnits[counted.encoding].multi8),
    unitCount,
    referenceBits: fits ? 16 : 8,
  };
}

function cut(text: string, encoding: TextEncoding, unitsMax: number): TextSegment[] {
  const segments: TextSegment[] = [];
  for (let start = 0; start < text.length; ) {
    let end = start;
    let unitCount = 0;
    if (encoding === 'ucs2') {
      end = ucs2SegmentEnd(text, start, unitsMax);
      unitCount = end - start;
    } else {
      for (; end < text.length; end += 1) {
        const septets = septetsOf(text.charCodeAt(end));
        if (unitCount + septets > unitsMax) break;
        unitCount += septets;
      }
    }
    segments.push({ text: text.slice(start, end), unitCount });
    start = end;
  }
  return segments;
}

function countGsm(text: string): SegmentCount | EncodingMismatch {
  let unitCount = 0;
  let inSegment = 0;
  let segmentCount = 1;
  for (let index = 0; index < text.length; index += 1) {
    const septets = septetsOf(text.charCodeAt(index));
    if (septets === 0) return mismatchAt(text, index);
    unitCount += septets;
    inSegment += septets;
    if (inSegment > segmentUnits.gsm7.multi8) {
      segmentCount += 1;
      inSegment = septets;
    }
  }
  if (unitCount <= segmentUnits.gsm7.single) segmentCount = 1;
  return { ok: true, encoding: 'gsm7', segmentCount, unitCount };
}

function mismatchAt(text: string, index: number): EncodingMismatch {
  const character = String.fromCodePoint(text.codePointAt(index)!);
  return { ok: false, code: 'encoding_mismatch', character, index };
}

// Steps from segment end to segment end: ten steps at most for a text the gates let through.
function countUcs2(text: string): number {
  if (text.length <= segmentUnits.ucs2.single) return 1;
  let segmentCount = 0;
  for (let start = 0; start < text.length; segmentCount += 1) {
    start = ucs2SegmentEnd(text, start, segmentUnits.ucs2.multi8);
  }
  return segmentCount;
}

function ucs2SegmentEnd(text: string, start: number, unitsMax: number): number {
  const end = start + unitsMax;
  if (end >= text.length) return text.length;
  const partsAPair = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
  return partsAPair ? end - 1 : end;
}

const isHighSurrogate = (codeUnit: number) => (codeUnit & 0xfc00) === 0xd800;
const isLowSurrogate = (codeUnit: number) => (codeUnit & 0xfc00) === 0xdc00;
