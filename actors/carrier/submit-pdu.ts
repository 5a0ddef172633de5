// The submit_sm of one segment: addresses by the carrier's TON/NPI rules, octets as they were encoded, the
// rest of the message's life as validity_period. Pure (SMPP 3.4 sections 4.4.1 and 7.1.1).
import type { CarrierConfig } from '../../cluster/config/configuration.ts';
import { hash } from 'node:crypto';
import { type EncodedSegment, encodeSegments } from '../../model/text/octets.ts';
import type { Message } from '../../model/message.ts';
import { RejectMessage, messageOf } from '../../platform/errors.ts';
import { isRefusal, recipientAddress, senderAddress } from '../../smpp/numbers.ts';
import type { ShortMessage } from '../../smpp/pdu.ts';

const esmClassUdh = 0x40;

/** The segments of a message as octets; throws RejectMessage when its encoding cannot hold its text. The concatenation reference follows from the id: a retry repeats it. */
export function segmentsOf(message: Message): readonly EncodedSegment[] {
  const { body } = message;
  if ('text' in body) {
    try {
      return encodeSegments(body.text, message.encoding, referenceOf(message));
    } catch (error) {
      // A record nobody should have written must end its own message, not the thread, again and again.
      throw new RejectMessage('encoding_mismatch', messageOf(error));
    }
  }
  const octets = body.udh === null ? body.octets : Buffer.concat([body.udh, body.octets]);
  return [{ octets: Buffer.from(octets), dataCoding: body.dataCoding, hasUdh: body.udh !== null }];
}

/** Throws RejectMessage when an address cannot stand in a PDU. */
export function submitPdu(
  message: Message,
  part: EncodedSegment,
  addr: CarrierConfig['addr'],
  nowMs: number,
): ShortMessage {
  const source = senderAddress(message.sender);
  const destination = recipientAddress(message.recipient);
  if (isRefusal(source)) throw new RejectMessage('sender_not_usable', 'the sender cannot stand in source_addr');
  if (isRefusal(destination)) throw new RejectMessage('invalid_recipient', 'the recipient is no E.164 number');
  return {
    sourceTon: message.senderTonNpi?.ton ?? addr.sourceTon ?? source.ton,
    sourceNpi: message.senderTonNpi?.npi ?? addr.sourceNpi ?? source.npi,
    source: source.address,
    destinationTon: message.recipientTonNpi?.ton ?? addr.destTon ?? destination.ton,
    destinationNpi: message.recipientTonNpi?.npi ?? addr.destNpi ?? destination.npi,
    destination: destination.address,
    esmClass: part.hasUdh ? esmClassUdh : 0,
    validity: relativeTime(message.validUntilMs - nowMs),
    registeredDelivery: message.registeredDelivery,
    dataCoding: part.dataCoding,
    octets: part.octets,
  };
}

function referenceOf(message: Message): number {
  return message.segments === 1 ? 0 : hash('sha1', message.messageId, 'buffer').readUInt16BE(0);
}

/** SMPP relative time `YYMMDDhhmmss000R`, whole seconds, at least one. */
export function relativeTime(leftMs: number): string {
  const seconds = Math.max(1, Math.floor(leftMs / 1_000));
  const two = (value: number) => String(value).padStart(2, '0');
  const days = Math.floor(seconds / 86_400);
  const clock = `${two(Math.floor(seconds / 3_600) % 24)}${two(Math.floor(seconds / 60) % 60)}${two(seconds % 60)}`;
  return `0000${two(days)}${clock}000R`;
}
