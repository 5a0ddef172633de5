// Cuts a text into the segments that segment-count.ts counted. The 16-bit reference is used wherever its additional
// octet costs no further segment, because 256 references wrap within a campaign (decision 7). A cut moves before a
// grapheme cluster (a Bengali syllable, a family of emoji) as long as the rest still fits into the counted segments: a
// client is never charged for it. An escape and its character, or the halves of a surrogate pair, are never separated.
// Pure.
import { gsmAlphabet } from './gsm-alphabet.ts';
import type { NationalLanguage, Shift } from './national-languages.ts';
import { type TextEncoding, segmentCapacity } from './segment-capacity.ts';
import {
  type EncodingMismatch,
  type SegmentCount,
  type TextEncodingChoice,
  countDecided,
  countSegments,
  ucs2SegmentEnd,
} from './segment-count.ts';

export type { TextEncoding } from './segment-capacity.ts';

/** One SMS part. `unitCount` is septets for GSM-7 (two for the extension table), UTF-16 units for UCS-2. */
export type TextSegment = { text: string; unitCount: number };

export type SegmentedText = {
  ok: true;
  encoding: TextEncoding;
  segments: TextSegment[];
  unitCount: number;
  shift: Shift;
  /** Bits of the concatenation reference these segments leave space for; 0: one segment without concatenation. */
  referenceBits: 0 | 8 | 16;
};

/** The decision of countSegments, with the text of every segment. Joined, the segments are the text. */
export function segmentText(
  text: string,
  encoding: TextEncodingChoice = 'auto',
  languages?: readonly NationalLanguage[],
): SegmentedText | EncodingMismatch {
  const counted = countSegments(text, encoding, languages);
  return counted.ok ? segmentCounted(text, counted) : counted;
}

/** The segments of a text whose encoding the ingress decided; `shift` names the tables it chose. */
export function segmentDecided(text: string, encoding: TextEncoding, shift?: Shift): SegmentedText | EncodingMismatch {
  const counted = countDecided(text, encoding, shift);
  return counted.ok ? segmentCounted(text, counted) : counted;
}

function segmentCounted(text: string, counted: SegmentCount): SegmentedText {
  const { encoding, unitCount, shift, segmentCount } = counted;
  if (segmentCount === 1) {
    return { ok: true, encoding, segments: [{ text, unitCount }], unitCount, shift, referenceBits: 0 };
  }
  const room = segmentCapacity(encoding, shift);
  const wide = rulerOf(text, counted, room.multi16);
  const fitsWide = segmentsFrom(0, wide, segmentCount) <= segmentCount;
  const ruler = fitsWide ? wide : rulerOf(text, counted, room.multi8);
  const segments = cut(text, ruler, segmentCount, graphemesOf(text, counted));
  return { ok: true, encoding, segments, unitCount, shift, referenceBits: fitsWide ? 16 : 8 };
}

/** Measures a text in an encoding: the latest end of a segment from a start, and the units between two positions. */
type Ruler = { readonly length: number; endOf(start: number): number; unitsOf(start: number, end: number): number };

function cut(text: string, ruler: Ruler, segmentCount: number, graphemes: Intl.Segments | null): TextSegment[] {
  const segments: TextSegment[] = [];
  for (let start = 0; start < text.length; ) {
    const latest = ruler.endOf(start);
    let end = latest;
    if (graphemes !== null && latest < text.length) {
      const boundary = graphemes.containing(latest)?.index ?? latest;
      const left = segmentCount - segments.length - 1;
      // A cluster that starts at the segment's start is longer than a segment and must be split.
      if (boundary > start && segmentsFrom(boundary, ruler, left) <= left) end = boundary;
    }
    segments.push({ text: text.slice(start, end), unitCount: ruler.unitsOf(start, end) });
    start = end;
  }
  return segments;
}

/** Number of segments of the text from `start`; stops counting at `most` + 1. */
function segmentsFrom(start: number, ruler: Ruler, most: number): number {
  let segments = 0;
  for (let at = start; at < ruler.length && segments <= most; segments += 1) at = ruler.endOf(at);
  return segments;
}

function rulerOf(text: string, { encoding, shift }: SegmentCount, unitsMax: number): Ruler {
  const { length } = text;
  if (encoding === 'ucs2') {
    return { length, endOf: (start) => ucs2SegmentEnd(text, start, unitsMax), unitsOf: (start, end) => end - start };
  }
  const { counts } = gsmAlphabet(shift);
  return {
    length,
    endOf(start) {
      let units = 0;
      for (let end = start; end < length; end += 1) {
        units += counts[text.charCodeAt(end)]!;
        if (units > unitsMax) return end;
      }
      return length;
    },
    unitsOf(start, end) {
      let units = 0;
      for (let index = start; index < end; index += 1) units += counts[text.charCodeAt(index)]!;
      return units;
    },
  };
}

/** Null where every code unit is a grapheme cluster: in the default alphabet everything but CR LF. */
function graphemesOf(text: string, { encoding, shift }: SegmentCount): Intl.Segments | null {
  const isPlain = encoding === 'gsm7' && shift.locking === 0 && shift.single === 0;
  if (isPlain && !text.includes('\r')) return null;
  return segmenter.segment(text);
}

// Grapheme clusters do not depend on the language; a fixed one excludes the machine's locale.
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
