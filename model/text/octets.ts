// Text to the octets of submit_sm.short_message and back. GSM-7 is unpacked, one septet per octet (SMPP data_coding 0:
// the SMSC packs), UCS-2 big-endian (data_coding 8). Long texts carry a concatenation header (TS 23.040 §9.2.3.24),
// which counts against the 140 octets of a short message. Pure; it knows no PDU.
import { assert } from '../../platform/assert.ts';
import { withHeader } from './concatenation.ts';
import { characterOf, escapeSeptet, escapedCharacterOf, gsmAlphabet } from './gsm-alphabet.ts';
import { type Shift, noShift, shiftOctets } from './national-languages.ts';
import { type TextEncoding, segmentCapacity } from './segment-capacity.ts';
import { segmentDecided } from './segments.ts';

/** `octets` is short_message as written: the header, if any, and the body. */
export type EncodedSegment = { octets: Buffer; dataCoding: number; hasUdh: boolean };

export const dataCodingOf = { gsm7: 0, ucs2: 8 } as const;

/**
 * The segments of a text as octets. `reference` (0..65535) identifies the parts of one message at the handset. The
 * ingress has decided encoding and national tables: a text that does not fit them is a bug and asserts.
 */
export function encodeSegments(
  text: string,
  encoding: TextEncoding,
  reference: number,
  nationalTables?: Shift,
): EncodedSegment[] {
  const segmented = segmentDecided(text, encoding, nationalTables);
  assert(segmented.ok, 'a text reached the encoder in an encoding that cannot hold it');
  const { segments, referenceBits, shift } = segmented;
  const dataCoding = dataCodingOf[encoding];
  const total = segments.length;
  assert(total <= 255, 'a concatenation header counts at most 255 parts');
  const hasUdh = referenceBits !== 0 || shiftOctets(shift) !== 0;
  return segments.map((segment, index) => {
    const concatenation = referenceBits === 0 ? null : { reference, referenceBits, total, part: index + 1 };
    return { octets: withHeader(concatenation, shift, encodeText(segment.text, encoding, shift)), dataCoding, hasUdh };
  });
}

/** A text as octets without header. */
export function encodeText(text: string, encoding: TextEncoding, shift = noShift): Buffer {
  return encoding === 'gsm7' ? encodeGsm(text, shift) : Buffer.from(text, 'utf16le').swap16();
}

/** The text of octets without header. Codings we do not send (binary, JIS …) are read as Latin-1. */
export function decodeText(octets: Buffer, dataCoding: number, shift: Shift = noShift): string {
  if (dataCoding === dataCodingOf.gsm7) return decodeGsm(octets, shift);
  // The low nibble: 0x18 and the message classes of group 0001 are UCS-2 too.
  if ((dataCoding & 0xec) === 0x08) return decodeUcs2(octets);
  return octets.toString('latin1');
}

function encodeGsm(text: string, shift: Shift): Buffer {
  const { counts, septets } = gsmAlphabet(shift);
  const octets = Buffer.allocUnsafe(text.length * 2);
  let size = 0;
  for (let index = 0; index < text.length; index += 1) {
    const codeUnit = text.charCodeAt(index);
    const count = codeUnit < counts.length ? counts[codeUnit]! : 0;
    assert(count > 0, 'a character outside the GSM alphabet reached the encoder');
    if (count === 2) octets[size++] = escapeSeptet;
    octets[size++] = septets[codeUnit]!;
  }
  return octets.subarray(0, size);
}

function decodeGsm(octets: Buffer, shift: Shift): string {
  const alphabet = gsmAlphabet(shift);
  let text = '';
  for (let index = 0; index < octets.length; index += 1) {
    const septet = octets[index]!;
    if (septet === escapeSeptet && index + 1 < octets.length) {
      index += 1;
      text += escapedCharacterOf(octets[index]!, alphabet);
    } else text += characterOf(septet, alphabet);
  }
  return text;
}

function decodeUcs2(octets: Buffer): string {
  // A copy, because swap16 works in place; an odd last octet cannot be a character.
  return Buffer.from(octets.subarray(0, octets.length & ~1))
    .swap16()
    .toString('utf16le');
}

// One octet of header length, five or six of concatenation, up to six that name tables.
for (const tables of [0, 1, 2]) {
  const room = segmentCapacity('gsm7', { locking: Math.min(tables, 1), single: tables === 2 ? 1 : 0 });
  for (const [headerOctets, septets] of [
    [6 + tables * 3, room.multi8],
    [7 + tables * 3, room.multi16],
  ] as const) {
    assert(headerOctets + Math.ceil((septets * 7) / 8) <= 140, 'a full segment would be longer than 140 octets');
  }
}
