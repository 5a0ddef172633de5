// Explains how a text is sent: encoding, segments, the characters that cost most, and which national tables were
// considered and why. Counted by the code that counts for sending. Pure.
import { gsmAlphabet } from '../../model/text/gsm-alphabet.ts';
import { type NationalLanguage, languagesOf } from '../../model/text/national-languages.ts';
import { type SegmentCount, countDecided, countSegments } from '../../model/text/segment-count.ts';
import { type SegmentedText, segmentDecided } from '../../model/text/segments.ts';
import type { SmsRequest } from '../contract.ts';

export type ExplainedText = {
  readonly encoding: 'gsm7' | 'ucs2';
  readonly segments: readonly { readonly text: string; readonly units: number }[];
  /** Characters that take two units of a segment. */
  readonly costlyCharacters: readonly string[];
  readonly ucs2Because: { readonly character: string; readonly index: number } | null;
  readonly nationalTables: ExplainedTables;
};

export type ExplainedTables = {
  /** Those that every carrier of the route supports, in the order they are tried. */
  readonly available: readonly NationalLanguage[];
  /** Empty: the text needs none. */
  readonly used: readonly string[];
  readonly why: string;
};

/** `whyNone`: why none are available. */
export function explainText(
  text: string,
  counted: SegmentCount,
  encoding: SmsRequest['encoding'],
  available: readonly NationalLanguage[],
  whyNone: string,
): ExplainedText {
  const cut = segmentDecided(text, counted.encoding, counted.shift);
  const used = languagesOf(counted.shift);
  return {
    encoding: counted.encoding,
    segments: cut.ok ? cut.segments.map((each) => ({ text: each.text, units: each.unitCount })) : [],
    costlyCharacters: cut.ok ? costlyIn(text, cut) : [],
    ucs2Because: counted.forcedBy,
    nationalTables: {
      available,
      used: used === '' ? [] : used.split(', '),
      why: whyTables(text, counted, encoding, available, whyNone),
    },
  };
}

function whyTables(
  text: string,
  counted: SegmentCount,
  encoding: SmsRequest['encoding'],
  available: readonly NationalLanguage[],
  whyNone: string,
): string {
  if (encoding === 'ucs2') return 'encoding ucs2 was asked for';
  const { locking, single } = counted.shift;
  if (counted.encoding === 'gsm7' && locking === 0 && single === 0) return 'the default alphabet holds the text';
  if (available.length === 0) return whyNone;
  const ucs2 = countDecided(text, 'ucs2');
  const inUcs2 = ucs2.ok ? ucs2.segmentCount : 0;
  if (counted.encoding === 'gsm7') {
    const where = [locking > 0 ? 'as the alphabet' : '', single > 0 ? 'behind the escape' : ''].filter(Boolean);
    const saved = `${segmentsOf(counted.segmentCount)}, ${inUcs2} in UCS-2`;
    return `taken ${where.join(' and ')}: ${saved}`;
  }
  const national = countSegments(text, 'gsm7', available);
  if (!national.ok) return `none of them has "${national.character}" (position ${national.index})`;
  return `they would save nothing: ${segmentsOf(national.segmentCount)}, ${inUcs2} in UCS-2, which every telephone reads`;
}

const segmentsOf = (count: number) => `${count} segment${count === 1 ? '' : 's'}`;

/** Behind the escape of GSM-7, or a surrogate pair of UCS-2. */
function costlyIn(text: string, { encoding, shift }: SegmentedText): readonly string[] {
  const characters = [...new Set(text)];
  if (encoding === 'ucs2') return characters.filter((character) => character.length === 2);
  const { counts } = gsmAlphabet(shift);
  return characters.filter((character) => counts[character.charCodeAt(0)] === 2);
}
