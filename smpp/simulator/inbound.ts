// Messages from subscribers as a carrier delivers them: in one PDU where they fit, else in the parts a handset made of
// them or in one message_payload. It builds values; sending is for deliveries.ts.
import { withHeader } from '../../model/text/concatenation.ts';
import { encodeText } from '../../model/text/octets.ts';
import { segmentText } from '../../model/text/segments.ts';
import { assert } from '../../platform/assert.ts';
import { type ShortMessage, type Tlv, tlvTag } from '../pdu.ts';

/** How a text longer than one segment travels; udh has the reference in 16 bits, udh8 in 8. */
export const inboundForms = ['message_payload', 'udh', 'udh8', 'sar'] as const;
export type InboundForm = (typeof inboundForms)[number];

export type Inbound = {
  from: string;
  to: string;
  text: string;
  systemId?: string;
  /** message_payload where nothing is said. */
  as?: InboundForm;
  /** Ties the parts together. */
  reference?: number;
  /** Which parts, in which order: those left out are lost on the way. All of them, in order, without it. */
  parts?: readonly number[];
};

export function inboundPdus(inbound: Inbound): ShortMessage[] {
  const { text, as = 'message_payload', reference = 1, parts } = inbound;
  const segmented = segmentText(text);
  assert(segmented.ok, 'a text that may have any encoding has one');
  const { encoding, segments, shift } = segmented;
  const total = segments.length;
  const pdu = (octets: Buffer, more: Partial<ShortMessage> = {}): ShortMessage => ({
    sourceTon: 1,
    sourceNpi: 1,
    source: inbound.from.replace(/^\+/, ''),
    destinationTon: 3,
    destinationNpi: 0,
    destination: inbound.to,
    esmClass: 0,
    registeredDelivery: 0,
    dataCoding: encoding === 'gsm7' ? 0 : 8,
    octets,
    ...more,
  });
  // Longer than 254 octets travels as message_payload by itself.
  if (total === 1 || as === 'message_payload') return [pdu(encodeText(text, encoding, shift))];
  const all = segments.map(({ text: words }, index) => {
    const body = encodeText(words, encoding, shift);
    const part = index + 1;
    if (as === 'sar') return pdu(body, { tlvs: sarTlvs(reference & 0xffff, total, part) });
    const referenceBits = as === 'udh' ? 16 : 8;
    const tie = {
      reference: as === 'udh' ? reference & 0xffff : reference & 0xff,
      referenceBits,
      total,
      part,
    } as const;
    return pdu(withHeader(tie, shift, body), { esmClass: 0x40 });
  });
  return parts === undefined ? all : parts.flatMap((part) => all[part - 1] ?? []);
}

function sarTlvs(reference: number, total: number, part: number): Tlv[] {
  return [
    { tag: tlvTag.sarReference, value: Buffer.from([reference >>> 8, reference & 0xff]) },
    { tag: tlvTag.sarTotal, value: Buffer.from([total]) },
    { tag: tlvTag.sarPart, value: Buffer.from([part]) },
  ];
}
