// Encodes the submit_sm of one segment: octets and addresses as the carrier wants them, the remaining validity as
// validity_period, the optional parameters of its contract. Pure (SMPP 3.4, 4.4.1 and 7.1.1). It never changes the
// number of segments: a contract counts those, however few PDUs they travel in.
import type { CarrierConfig } from '../../../config/configuration.ts';
import type { AddressKind, TlvSource, WireTlvConfig } from '../../../config/wire.ts';
import { hash } from 'node:crypto';
import type { Message } from '../../../model/message.ts';
import { RejectMessage, messageOf } from '../../../platform/errors.ts';
import { destinationAddress, senderAddress, typeOfNumber } from '../../../smpp/numbers.ts';
import type { ShortMessage, Tlv } from '../../../smpp/pdu.ts';
import { wireOctets, type WireSegment, wireSegments } from '../../../smpp/text/wire-segments.ts';
import { tlvOf } from '../../../smpp/tlv-value.ts';
import { absoluteTime, relativeTime } from '../../../smpp/times.ts';
import type { SubmitHeader } from '../in-flight/facts.ts';

export type SubmitRules = Pick<CarrierConfig, 'addr' | 'wire'>;

const esmClassUdh = 0x40;

/**
 * The segments of a message as octets; throws RejectMessage when its encoding cannot hold its text. The concatenation
 * reference (3GPP TS 23.040, 9.2.3.24.1) is derived from the id: a retry repeats it.
 */
export function segmentsOf(message: Message, { wire }: SubmitRules): readonly WireSegment[] {
  const { body } = message;
  if (!('text' in body)) return [wireOctets(body, wire.text)];
  try {
    return wireSegments(body.text, message.encoding, referenceOf(message), wire.text, message.shift);
  } catch (error) {
    // An invalid record must end its own message, not the thread, again and again.
    throw new RejectMessage('encoding_mismatch', messageOf(error));
  }
}

/** How many segments of the contract each PDU of a message takes: all of them when one carries the whole text. */
export function segmentsPerPdu(message: Message, pdus: readonly unknown[]): number {
  return pdus.length === 1 ? message.segments : 1;
}

/** The segment number in an event about PDU `pdu`: 0, the whole message, when that PDU carries all of several. */
export function reportedSegmentOf(message: Message, pdus: readonly unknown[], pdu: number): number {
  return segmentsPerPdu(message, pdus) > 1 ? 0 : pdu;
}

/** Made once per message, before its intent is written. Throws RejectMessage when a PDU cannot hold an address. */
export function submitHeader(message: Message, { addr, wire }: SubmitRules): SubmitHeader {
  const source = senderAddress(message.sender);
  const destination = destinationAddress(message.recipient, wire.destination);
  if (source === null) throw new RejectMessage('sender_not_usable', 'the sender cannot be written in source_addr');
  if (destination === null) throw new RejectMessage('invalid_recipient', 'the recipient is no E.164 number');
  const byKind = wire.source[kindOf[source.ton] ?? 'international'];
  return {
    serviceType: wire.serviceType[message.category],
    sourceTon: message.senderTonNpi?.ton ?? byKind.ton ?? addr.sourceTon ?? source.ton,
    sourceNpi: message.senderTonNpi?.npi ?? byKind.npi ?? addr.sourceNpi ?? source.npi,
    source: source.address,
    destinationTon: message.recipientTonNpi?.ton ?? addr.destTon ?? destination.ton,
    destinationNpi: message.recipientTonNpi?.npi ?? addr.destNpi ?? destination.npi,
    destination: destination.address,
    priority: wire.priorityFlag[message.category],
    registeredDelivery: wire.registeredDelivery ?? message.registeredDelivery,
  };
}

/** The submit_sm of one segment, as of `nowMs`. Without `header` it makes one, and then throws as submitHeader does. */
export function submitPdu(
  message: Message,
  part: WireSegment,
  rules: SubmitRules,
  nowMs: number,
  header: SubmitHeader = submitHeader(message, rules),
): ShortMessage {
  const tlvs = tlvsOf(message, part, rules.wire.tlvs);
  return {
    serviceType: header.serviceType,
    sourceTon: header.sourceTon,
    sourceNpi: header.sourceNpi,
    source: header.source,
    destinationTon: header.destinationTon,
    destinationNpi: header.destinationNpi,
    destination: header.destination,
    esmClass: part.hasUdh ? esmClassUdh : 0,
    priority: header.priority,
    validity: validityOf(message, rules.wire.validityPeriod, nowMs),
    registeredDelivery: header.registeredDelivery,
    dataCoding: part.dataCoding,
    octets: part.octets,
    ...(tlvs && { tlvs }),
  };
}

const kindOf: Readonly<Record<number, AddressKind>> = {
  [typeOfNumber.alphanumeric]: 'alphanumeric',
  [typeOfNumber.networkSpecific]: 'short_code',
  [typeOfNumber.international]: 'international',
  [typeOfNumber.national]: 'national',
};

function validityOf(message: Message, form: SubmitRules['wire']['validityPeriod'], nowMs: number): string {
  if (form === 'none') return '';
  return form === 'absolute' ? absoluteTime(message.validUntilMs) : relativeTime(message.validUntilMs - nowMs);
}

function tlvsOf(message: Message, part: WireSegment, vendor: readonly WireTlvConfig[]): Tlv[] | undefined {
  if (vendor.length === 0) return part.tlvs;
  const tlvs = [...(part.tlvs ?? [])];
  for (const each of vendor) {
    const text = 'value' in each ? each.value : message[fieldOf[each.from]];
    const tlv = text === null ? undefined : tlvOf(each.tag, each.type, text);
    if (tlv) tlvs.push(tlv);
  }
  return tlvs;
}

const fieldOf = {
  sender: 'sender',
  message_id: 'messageId',
  account_id: 'accountId',
  client_reference: 'clientReference',
  template_id: 'templateId',
  campaign_id: 'campaignId',
  category: 'category',
} as const satisfies Record<TlvSource, keyof Message>;

function referenceOf(message: Message): number {
  return message.segments === 1 ? 0 : hash('sha1', message.messageId, 'buffer').readUInt16BE(0);
}
