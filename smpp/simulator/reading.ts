// Reads the text of a submit: concatenation by header or SAR, packed or unpacked septets, the alphabet of its
// data_coding. What data_coding does not contain (packed or not) is an option, as it is part of a carrier's contract.
import { type Concatenation, readConcatenation } from '../../model/text/concatenation.ts';
import { decodeText } from '../../model/text/octets.ts';
import { type Shift } from '../../model/text/national-languages.ts';
import { type ShortMessagePdu, tlvTag } from '../pdu.ts';
import { fillBitsAfter, unpackSeptets } from '../text/packed-septets.ts';
import { readSar } from '../text/wire-segments.ts';

/** Which data_coding values are GSM-7 with this carrier, besides 0, and whether its septets are packed. */
export type AlphabetOptions = { gsm7DataCoding: number; gsm7Form: 'unpacked' | 'packed' };

export const plainAlphabet: AlphabetOptions = { gsm7DataCoding: 0, gsm7Form: 'unpacked' };

type Body = {
  concatenation: Concatenation | undefined;
  shift: Shift | undefined;
  body: Buffer;
  headerOctets: number;
};

/** The octets after the header, and which part of a long message they are. */
export function bodyOf(pdu: ShortMessagePdu): Body {
  const sar = pdu.tlvs !== undefined && pdu.tlvs.length > 0 ? sarOf(pdu) : undefined;
  if ((pdu.esmClass & udhIndicator) === 0) {
    return { concatenation: sar, shift: undefined, body: pdu.octets, headerOctets: 0 };
  }
  const { concatenation, shift, body } = readConcatenation(pdu.octets);
  return { concatenation: concatenation ?? sar, shift, body, headerOctets: pdu.octets.length - body.length };
}

/** The text's octets; GSM-7 with one septet per octet. */
export function plainOctets(pdu: ShortMessagePdu, read: Body, alphabet: AlphabetOptions): Buffer {
  const isPacked = alphabet.gsm7Form === 'packed' && isGsm7(pdu.dataCoding, alphabet);
  return isPacked ? unpackSeptets(read.body, fillBitsAfter(read.headerOctets)) : read.body;
}

export function textOf(pdu: ShortMessagePdu, read: Body, alphabet: AlphabetOptions): string {
  const octets = plainOctets(pdu, read, alphabet);
  return decodeText(octets, isGsm7(pdu.dataCoding, alphabet) ? 0 : pdu.dataCoding, read.shift);
}

/** Part number of a submit of a long message, or 0. */
export function partOf(pdu: ShortMessagePdu): number {
  return bodyOf(pdu).concatenation?.part ?? 0;
}

export function isPart(pdu: ShortMessagePdu): boolean {
  return (pdu.esmClass & udhIndicator) !== 0 || (pdu.tlvs !== undefined && pdu.tlvs.some(isSarPart));
}

function isGsm7(dataCoding: number, { gsm7DataCoding }: AlphabetOptions): boolean {
  return dataCoding === 0 || dataCoding === gsm7DataCoding;
}

function sarOf(pdu: ShortMessagePdu): Concatenation | undefined {
  const sar = readSar(pdu.tlvs ?? []);
  return sar && sar.part > 0 && sar.part <= sar.total ? { ...sar, referenceBits: 16 } : undefined;
}

const isSarPart = ({ tag }: { tag: number }) => tag === tlvTag.sarPart;
const udhIndicator = 0x40;
