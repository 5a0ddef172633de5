// From text to the octets of submit_sm.short_message and back. GSM-7 goes unpacked, one septet per octet
// (SMPP data_coding 0: the SMSC packs), UCS-2 big-endian (data_coding 8). Long texts carry a concatenation
// header (TS 23.040 §9.2.3.24), which counts against the 140 octets the air has. Pure; it knows no PDU.
import { assert } from '../../platform/assert.ts';
import { withConcatenation } from './concatenation.ts';
import { basicCharacter, escapeSeptet, extensionCharacter, septetOf, septetsOf } from './gsm-alphabet.ts';
import { segmentText, segmentUnits, type TextEncoding } from './segments.ts';

/** `octets` is the header, when there is one, and the body: short_message as it goes on the wire. */
export type EncodedSegment = { octets: Buffer; dataCoding: number; hasUdh: boolean };

export const dataCodingOf = { gsm7: 0, ucs2: 8 } as const;

/**
 * The segments of a text as octets. `reference` (0..65535) ties the parts of one message together at the
 * handset. The encoding was decided at the door: a text that does not fit it here is a bug and asserts.
 */
export function encodeSegments(text: string, encoding: TextEncoding, reference: number): EncodedSegment[] {
  const segmented = segmentText(text, encoding);
  assert(segmented.ok, 'a text reached the encoder in an encoding that cannot hold it');
  const { segments, referenceBits } = segmented;
  const dataCoding = dataCodingOf[encoding];
  const total = segments.length;
  if (referenceBits === 0) return [{ octets: encodeText(text, encoding), dataCoding, hasUdh: false }];
  assert(total <= 255, 'a concatenation header counts at most 255 parts');
  return segments.map((segment, index) => {
    const concatenation = { reference, referenceBits, total, part: index + 1 };
    return { octets: withConcatenation(concatenation, encodeText(segment.text, encoding)), dataCoding, hasUdh: true };
  });
}

/** A text as octets without any header. */
export function encodeText(text: string, encoding: TextEncoding): Buffer {
  return encoding === 'gsm7' ? encodeGsm(text) : encodeUcs2(text);
}

/** Octets without their header as text. Codings we do not send (binary, JIS …) are read as Latin-1. */
export function decodeText(octets: Buffer, dataCoding: number): string {
  if (dataCoding === dataCodingOf.gsm7) return decodeGsm(octets);
  // The low nibble: 0x18 and the message classes of group 0001 are UCS-2 too.
  if ((dataCoding & 0xec) === 0x08) return decodeUcs2(octets);
  return octets.toString('latin1');
}

function encodeGsm(text: string): Buffer {
  const octets = Buffer.allocUnsafe(text.length * 2);
  let size = 0;
  for (let index = 0; index < text.length; index += 1) {
    const codeUnit = text.charCodeAt(index);
    const septets = septetsOf(codeUnit);
    assert(septets > 0, 'a character outside the GSM alphabet reached the encoder');
    if (septets === 2) octets[size++] = escapeSeptet;
    octets[size++] = septetOf(codeUnit);
  }
  return octets.subarray(0, size);
}

function decodeGsm(octets: Buffer): string {
  let text = '';
  for (let index = 0; index < octets.length; index += 1) {
    const septet = octets[index]!;
    if (septet === escapeSeptet && index + 1 < octets.length) {
      index += 1;
      text += extensionCharacter(octets[index]!);
    } else text += basicCharacter(septet);
  }
  return text;
}

function encodeUcs2(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16();
}

function decodeUcs2(octets: Buffer): string {
  // A copy, because swap16 works in place; an odd last octet cannot be a character.
  return Buffer.from(octets.subarray(0, octets.length & ~1))
    .swap16()
    .toString('utf16le');
}

for (const [headerOctets, form] of [
  [6, 'multi8'],
  [7, 'multi16'],
] as const) {
  const fits = headerOctets + Math.ceil((segmentUnits.gsm7[form] * 7) / 8) <= 140;
  assert(fits && headerOctets + segmentUnits.ucs2[form] * 2 <= 140, 'a full segment would not fit the air interface');
}
