// Divisions between segments: before a grapheme cluster where that is free, through it where it is not.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countSegments } from '../../../model/text/segment-count.ts';
import { segmentText } from '../../../model/text/segments.ts';

const family = '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}';
const syllable = 'ক্ষ';
const pieces = (text: string, encoding: 'auto' | 'gsm7' | 'ucs2' = 'auto') => {
  const segmented = segmentText(text, encoding);
  if (!segmented.ok) throw new Error('the text was to fit');
  return segmented.segments.map((segment) => segment.text);
};

describe('a division', () => {
  test('goes before a family of emoji that would not fit whole', () => {
    expect(pieces('ব'.repeat(64) + family + 'ব'.repeat(20))).toEqual(['ব'.repeat(64), family + 'ব'.repeat(20)]);
  });

  test('goes before a syllable, not through it', () => {
    expect(pieces('ব'.repeat(65) + syllable + 'ব'.repeat(10))).toEqual(['ব'.repeat(65), syllable + 'ব'.repeat(10)]);
  });

  test('goes between clusters where one ends just there', () => {
    expect(pieces('ব'.repeat(63) + syllable + 'ব'.repeat(30))).toEqual([
      `${'ব'.repeat(63)}${syllable}`,
      'ব'.repeat(30),
    ]);
  });

  test('goes through a cluster when the client would pay another segment for it', () => {
    const text = 'ব'.repeat(64) + family + 'ব'.repeat(62);
    expect(pieces(text).map((piece) => piece.length)).toEqual([67, 67]);
  });

  test('goes through a cluster that is longer than a segment, but never through a pair', () => {
    const monster = `e${'\u0301'.repeat(200)}`;
    expect(pieces(monster).map((piece) => piece.length)).toEqual([67, 67, 67]);
    const flags = '\u{1F468}\u200D'.repeat(60);
    for (const piece of pieces(flags)) expect(piece.isWellFormed()).toBe(true);
  });

  test('keeps CR and LF together in GSM-7 too', () => {
    expect(pieces(`${'a'.repeat(151)}\r\n${'b'.repeat(20)}`)).toEqual(['a'.repeat(151), `\r\n${'b'.repeat(20)}`]);
  });
});

test('no division costs a segment, and no cluster is split where a whole one would have fitted', () => {
  const unit = fc.constantFrom('ব', ' ', 'a', syllable, family, '\u{1F600}', '漢', 'e\u0301', '\u{1F1E7}\u{1F1E9}');
  const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 250, size: 'max' }), (text) => {
      const segmented = segmentText(text, 'ucs2');
      const counted = countSegments(text, 'ucs2');
      if (!segmented.ok || !counted.ok) throw new Error('UCS-2 holds any text');
      expect(segmented.segments.length).toBe(counted.segmentCount);
      expect(segmented.segments.map((segment) => segment.text).join('')).toBe(text);
      if (segmented.referenceBits === 0) return;
      const unitsMax = segmented.referenceBits === 16 ? 66 : 67;
      const boundaries = new Set([...segmenter.segment(text)].map(({ index }) => index));
      let at = 0;
      const parted = segmented.segments.filter((segment) => {
        const isParted = !boundaries.has(at);
        at += segment.text.length;
        return isParted;
      });
      if (wholeCuts([...boundaries, text.length], unitsMax) === counted.segmentCount) expect(parted).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

/** Segments when only whole clusters are taken, each as many as fit. */
function wholeCuts(boundaries: readonly number[], unitsMax: number): number {
  let segments = 0;
  let start = 0;
  let last = 0;
  for (const boundary of boundaries) {
    if (boundary - start > unitsMax) {
      segments += 1;
      start = last;
    }
    last = boundary;
  }
  return last > start ? segments + 1 : segments;
}
