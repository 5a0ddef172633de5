// Builds subscribers' messages as a carrier delivers them: in one PDU where they fit, else in parts or in one
// message_payload. deliveries.ts sends them.
import { withHeader } from '../../model/text/concatenation.ts';
import { encodeText } from '../../model/text/octets.ts';
import { segmentText } from '../../model/text/segments.ts';
import { assert } from '../../platform/assert.ts';
import type { ShortMessage } from '../pdu.ts';
import { sarTlvs } from '../text/wire-segments.ts';

/** How a text longer than one segment is sent; udh has a 16-bit reference, udh8 an 8-bit one. */
export const inboundForms = ['message_payload', 'udh', 'udh8', 'sar'] as const;
export type InboundForm = (typeof inboundForms)[number];

export type Inbound = {
  from: string;
  to: string;
  text: string;
  systemId?: string;
  /** Default: message_payload. */
  as?: InboundForm;
  /** The concatenation reference. */
  reference?: number;
  /** Which parts to send, in which order; omitted ones are lost. Default: all, in order. */
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
  // The encoder sends more than 254 octets as message_payload by itself.
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
