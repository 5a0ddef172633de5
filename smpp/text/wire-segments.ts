// The segments of a text as a carrier wants them: alphabet, packed or not, concatenated by a user data header, by SAR
// TLVs or in one message_payload. The cuts are the same for every carrier, so that each takes as many segments as the
// API reported. Pure.
import { assert } from '../../platform/assert.ts';
import { type Concatenation, readConcatenation, withHeader } from '../../model/text/concatenation.ts';
import { noShift, type Shift } from '../../model/text/national-languages.ts';
import { dataCodingOf, type EncodedSegment, encodeSegments, encodeText } from '../../model/text/octets.ts';
import { segmentDecided, type TextEncoding } from '../../model/text/segments.ts';
import type { TextRules } from '../../model/wire-rules.ts';
import { type Tlv, tlvTag } from '../pdu.ts';
import { fillBitsAfter, packSeptets } from './packed-septets.ts';

/** `octets` is short_message; `tlvs` are sent instead or in addition. */
export type WireSegment = EncodedSegment & { tlvs?: Tlv[] };

type Alphabet = TextEncoding | 'latin1';

/**
 * The parts of a text, one submit_sm each. `reference` identifies the message. The ingress decided encoding and tables:
 * a text that does not fit them asserts.
 */
export function wireSegments(
  text: string,
  encoding: TextEncoding,
  reference: number,
  rules: TextRules,
  nationalTables?: Shift,
): WireSegment[] {
  const alphabet = alphabetOf(text, encoding, rules);
  if (isPlain(rules, alphabet)) return encodeSegments(text, encoding, reference, nationalTables);
  const segmented = segmentDecided(text, encoding, nationalTables);
  assert(segmented.ok, 'a text reached the encoder in an encoding that cannot hold it');
  const { segments, referenceBits } = segmented;
  const shift = alphabet === 'gsm7' ? segmented.shift : noShift;
  const total = segments.length;
  assert(total <= 255, 'a message has at most 255 parts');
  const write = (part: string, concatenation: Concatenation | null): WireSegment => {
    const header = withHeader(concatenation, shift, noOctets);
    const body = bodyOf(part, alphabet, shift, rules, header.length);
    const octets = header.length === 0 ? body : Buffer.concat([header, body]);
    return { octets, dataCoding: codingOf(alphabet, rules), hasUdh: header.length > 0 };
  };
  if (referenceBits === 0) return [write(text, null)];
  switch (rules.concatenation) {
    case 'message_payload': {
      const whole = write(text, null);
      return [{ ...whole, octets: noOctets, tlvs: [{ tag: tlvTag.messagePayload, value: whole.octets }] }];
    }
    case 'sar':
      return segments.map((segment, index) => {
        return { ...write(segment.text, null), tlvs: sarTlvs(reference, total, index + 1) };
      });
    case 'udh':
      return segments.map((segment, index) => {
        return write(segment.text, { reference, referenceBits, total, part: index + 1 });
      });
  }
}

/** One segment from a client's own submit_sm, already cut; its GSM-7 is unpacked with data_coding 0. */
export function wireOctets(
  body: { octets: Uint8Array; dataCoding: number; udh: Uint8Array | null },
  rules: TextRules,
): WireSegment {
  const udh = body.udh === null ? noOctets : Buffer.from(body.udh);
  const concatenation = rules.concatenation === 'sar' ? onlyConcatenation(udh) : undefined;
  const header = concatenation ? noOctets : udh;
  let octets: Uint8Array = body.octets;
  let { dataCoding } = body;
  if (dataCoding === dataCodingOf.gsm7) {
    if (rules.gsm7Form === 'packed') octets = packSeptets(octets, fillBitsAfter(header.length));
    dataCoding = rules.gsm7DataCoding;
  } else if (dataCoding === dataCodingOf.ucs2) dataCoding = rules.ucs2DataCoding;
  const segment = { octets: Buffer.concat([header, octets]), dataCoding, hasUdh: header.length > 0 };
  if (!concatenation) return segment;
  return { ...segment, tlvs: sarTlvs(concatenation.reference, concatenation.total, concatenation.part) };
}

function alphabetOf(text: string, encoding: TextEncoding, rules: TextRules): Alphabet {
  if (rules.latin1 === 'never' || (rules.latin1 === 'instead_of_ucs2' && encoding === 'gsm7')) return encoding;
  return isLatin1(text) ? 'latin1' : encoding;
}

// The C1 controls have no agreed meaning: a text with one keeps its encoding.
function isLatin1(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const codeUnit = text.charCodeAt(index);
    if (codeUnit > 0xff || (codeUnit > 0x7e && codeUnit < 0xa0)) return false;
  }
  return true;
}

function isPlain(rules: TextRules, alphabet: Alphabet): boolean {
  if (alphabet === 'latin1' || rules.concatenation !== 'udh') return false;
  if (alphabet === 'ucs2') return rules.ucs2DataCoding === dataCodingOf.ucs2;
  return rules.gsm7Form === 'unpacked' && rules.gsm7DataCoding === dataCodingOf.gsm7;
}

function codingOf(alphabet: Alphabet, rules: TextRules): number {
  if (alphabet === 'latin1') return rules.latin1DataCoding;
  return alphabet === 'ucs2' ? rules.ucs2DataCoding : rules.gsm7DataCoding;
}

function bodyOf(text: string, alphabet: Alphabet, shift: Shift, rules: TextRules, headerOctets: number): Buffer {
  if (alphabet === 'latin1') return Buffer.from(text, 'latin1');
  const octets = encodeText(text, alphabet, shift);
  const isPacked = alphabet === 'gsm7' && rules.gsm7Form === 'packed';
  return isPacked ? packSeptets(octets, fillBitsAfter(headerOctets)) : octets;
}

/** The TLVs of one part (SMPP 3.4, 5.3.2.22–24). */
export function sarTlvs(reference: number, total: number, part: number): Tlv[] {
  return [
    { tag: tlvTag.sarReference, value: Buffer.from([reference >>> 8, reference & 0xff]) },
    { tag: tlvTag.sarTotal, value: Buffer.from([total]) },
    { tag: tlvTag.sarPart, value: Buffer.from([part]) },
  ];
}

/** The part that SAR TLVs name; undefined without a reference. The caller checks that the numbers are consistent. */
export function readSar(tlvs: readonly Tlv[]): { reference: number; total: number; part: number } | undefined {
  let [reference, total, part] = [-1, 0, 0];
  for (const { tag, value } of tlvs) {
    if (tag === tlvTag.sarReference && value.length === 2) reference = value.readUInt16BE(0);
    else if (tag === tlvTag.sarTotal) total = value[0] ?? 0;
    else if (tag === tlvTag.sarPart) part = value[0] ?? 0;
  }
  return reference < 0 ? undefined : { reference, total, part };
}

/** The concatenation of a header without other elements: only that can be expressed by SAR. */
function onlyConcatenation(udh: Buffer) {
  if (udh.length !== 6 && udh.length !== 7) return undefined;
  const { concatenation } = readConcatenation(udh);
  return concatenation && udh.length === (concatenation.referenceBits === 16 ? 7 : 6) ? concatenation : undefined;
}

const noOctets = Buffer.alloc(0);
