// A text cut into the segments that segment-count.ts counted. The 16-bit reference is taken wherever its one octet more
// costs no further segment, because 256 references wrap within a campaign (decision 7). Within that, a cut goes
// before a grapheme cluster (a Bengali syllable, a family of emoji) rather than through it, as long as the rest still
// fits into the segments that were counted: a client is never charged for it. An escape and its character, or the
// halves of a surrogate pair, are never parted. Pure.
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

/** One SMS part. `unitCount` is septets for GSM-7 (behind the escape a character counts two), UTF-16 units for UCS-2. */
export type TextSegment = { text: string; unitCount: number };

export type SegmentedText = {
  ok: true;
  encoding: TextEncoding;
  segments: TextSegment[];
  unitCount: number;
  shift: Shift;
  /** Which concatenation header leaves room for these segments; 0 when there is one segment and no such header. */
  referenceBits: 0 | 8 | 16;
};

/** The same decision as countSegments, with the text of every segment. Joined, they are the text again. */
export function segmentText(
  text: string,
  encoding: TextEncodingChoice = 'auto',
  languages?: readonly NationalLanguage[],
): SegmentedText | EncodingMismatch {
  const counted = countSegments(text, encoding, languages);
  return counted.ok ? segmentCounted(text, counted) : counted;
}

/** The segments of a text whose encoding was decided before, at the ingress: `shift` names the tables it chose. */
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

/** Measures one text in one encoding: where a segment that starts here must end, and the units in between. */
type Ruler = { readonly length: number; endOf(start: number): number; unitsOf(start: number, end: number): number };

function cut(text: string, ruler: Ruler, segmentCount: number, graphemes: Intl.Segments | null): TextSegment[] {
  const segments: TextSegment[] = [];
  for (let start = 0; start < text.length; ) {
    const latest = ruler.endOf(start);
    let end = latest;
    if (graphemes !== null && latest < text.length) {
      const boundary = graphemes.containing(latest)?.index ?? latest;
      const left = segmentCount - segments.length - 1;
      // A cluster that starts where the segment starts is longer than a segment: it has to be parted.
      if (boundary > start && segmentsFrom(boundary, ruler, left) <= left) end = boundary;
    }
    segments.push({ text: text.slice(start, end), unitCount: ruler.unitsOf(start, end) });
    start = end;
  }
  return segments;
}

/** How many segments the text from here takes; it stops counting one beyond `most`. */
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

/** Null where every code unit is a grapheme of its own: in the default alphabet all but a line end of CR and LF. */
function graphemesOf(text: string, { encoding, shift }: SegmentCount): Intl.Segments | null {
  const isPlain = encoding === 'gsm7' && shift.locking === 0 && shift.single === 0;
  if (isPlain && !text.includes('\r')) return null;
  return segmenter.segment(text);
}

// Grapheme clusters do not depend on the language; naming one keeps the machine's settings out of it.
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
