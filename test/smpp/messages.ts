// Short messages for tests and benches of the wire format, one good one in each direction, to be varied.
import { encodeText } from '../../model/text/octets.ts';
import { encodeShortMessage, shortMessageRoom } from '../../smpp/codec-hot.ts';
import type { ShortMessage, ShortMessagePdu } from '../../smpp/pdu.ts';

export function message(text: string, overrides: Partial<ShortMessage> = {}): ShortMessage {
  return {
    sourceTon: 5,
    sourceNpi: 0,
    source: 'Heliograph',
    destinationTon: 1,
    destinationNpi: 1,
    destination: '8801712345678',
    esmClass: 0,
    registeredDelivery: 1,
    dataCoding: 0,
    octets: encodeText(text, 'gsm7'),
    ...overrides,
  };
}

/** The octets of its PDU. */
export function encoded(of: ShortMessage, command: 'submit_sm' | 'deliver_sm' = 'submit_sm', sequence = 1): Buffer {
  const room = Buffer.alloc(shortMessageRoom(of));
  return room.subarray(0, encodeShortMessage(room, 0, command, sequence, of));
}

/** What a subscriber wrote to a short code, as the carrier delivers it. */
export function deliverSm(overrides: Partial<ShortMessagePdu> = {}): ShortMessagePdu {
  return {
    command: 'deliver_sm',
    status: 0,
    sequence: 1,
    sourceTon: 1,
    sourceNpi: 1,
    source: '8801712345678',
    destinationTon: 3,
    destinationNpi: 0,
    destination: '16000',
    esmClass: 0,
    registeredDelivery: 0,
    dataCoding: 0,
    octets: Buffer.alloc(0),
    ...overrides,
  };
}
