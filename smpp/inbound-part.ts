// Reads a deliver_sm that is no receipt: its addresses, its alphabet, and which part of a longer text it is. The parts
// of one text may arrive over any bind of a carrier, so a part contains all that reassembly needs. Septets are
// unpacked; other alphabets stay octets, because a character may be split over two parts. Pure.
import type { InboundAlphabet } from '../model/inbound-body.ts';
import type { InboundPart, Tie } from '../model/inbound-part.ts';
import { type Concatenation, readConcatenation } from '../model/text/concatenation.ts';
import type { TextRules } from '../model/wire-rules.ts';
import type { ShortMessagePdu } from './pdu.ts';
import { fillBitsAfter, unpackSeptets } from './text/packed-septets.ts';
import { readSar } from './text/wire-segments.ts';

export type AlphabetRules = Pick<TextRules, 'gsm7Form' | 'gsm7DataCoding' | 'ucs2DataCoding' | 'latin1DataCoding'>;

/** The part as a value; its octets are a copy, so that the PDU's buffer is not kept alive. */
export function inboundPartOf(pdu: ShortMessagePdu, rules: AlphabetRules): InboundPart {
  const hasHeader = (pdu.esmClass & udhIndicator) !== 0;
  const read = hasHeader ? readConcatenation(pdu.octets) : { concatenation: undefined, body: pdu.octets };
  const headerOctets = pdu.octets.length - read.body.length;
  const alphabet = alphabetOf(pdu.dataCoding, rules);
  const isPacked = alphabet === 'gsm7' && rules.gsm7Form === 'packed';
  return {
    source: pdu.source,
    sourceTon: pdu.sourceTon,
    destination: pdu.destination,
    destinationTon: pdu.destinationTon,
    alphabet,
    dataCoding: pdu.dataCoding,
    shift: ('shift' in read ? read.shift : undefined) ?? null,
    octets: isPacked ? unpackSeptets(read.body, fillBitsAfter(headerOctets)) : Buffer.from(read.body),
    tie: tieOfHeader(read.concatenation) ?? tieOfTlvs(pdu),
  };
}

/** The alphabet of a data_coding (SMPP 3.4 §5.2.19; groups F and 1 with a message class: 3GPP TS 23.038 §4). */
export function alphabetOf(dataCoding: number, rules: AlphabetRules): InboundAlphabet {
  if (dataCoding === 0 || dataCoding === rules.gsm7DataCoding) return 'gsm7';
  if (dataCoding === rules.ucs2DataCoding || (dataCoding & 0xec) === 0x08) return 'ucs2';
  if (dataCoding === rules.latin1DataCoding) return 'latin1';
  const hasClass = (dataCoding & 0xf0) === 0xf0 || (dataCoding & 0xfc) === 0x10;
  return hasClass && (dataCoding & 0x0c) === 0 ? 'gsm7' : (otherAlphabets[dataCoding] ?? 'binary');
}

function tieOfHeader(concatenation: Concatenation | undefined): Tie | null {
  if (concatenation === undefined) return null;
  const { reference, referenceBits, total, part } = concatenation;
  return soundTie({ form: referenceBits === 16 ? 'udh16' : 'udh8', reference, total, part });
}

function tieOfTlvs({ tlvs = [] }: ShortMessagePdu): Tie | null {
  const sar = readSar(tlvs);
  return sar === undefined ? null : soundTie({ form: 'sar', ...sar });
}

/** Null for an invalid concatenation, or one of a single part (TS 23.040 §9.2.3.24.1: ignore it). */
function soundTie(tie: Tie): Tie | null {
  return tie.total > 1 && tie.part >= 1 && tie.part <= tie.total ? tie : null;
}

const udhIndicator = 0x40;
/** 1 is IA5: ASCII, a subset of Latin-1. */
const otherAlphabets: Readonly<Record<number, InboundAlphabet>> = {
  1: 'latin1',
  3: 'latin1',
  6: 'cyrillic',
  7: 'hebrew',
};
