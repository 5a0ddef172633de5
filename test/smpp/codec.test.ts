// Our codec for the hot PDUs compared with the package's, byte for byte, and with damaged input.
import fc from 'fast-check';
import { commandsById, errors } from 'smpp/lib/defs.js';
import { PDU } from 'smpp/lib/pdu.js';
import { describe, expect, test } from 'vitest';
import { CloseSession } from '../../platform/errors.ts';
import {
  decodeMessageId,
  decodeShortMessage,
  encodeBare,
  encodeMessageId,
  encodeShortMessage,
  shortMessageRoom,
} from '../../smpp/codec-hot.ts';
import { decodePdu, encodeBind, encodeBindResp, encodeCancel, encodeQuery, encodeQueryResp } from '../../smpp/codec.ts';
import { commandStatus, nameOfStatus } from '../../model/command-status.ts';
import { commandId, type ShortMessage, tlvTag } from '../../smpp/pdu.ts';
import { bindFields } from './bind-fields.ts';

const octet = fc.nat(255);
const sequence = fc.integer({ min: 1, max: 0x7fffffff });
const ascii = (maxLength: number) =>
  fc.string({ unit: fc.integer({ min: 1, max: 127 }).map((code) => String.fromCharCode(code)), maxLength });
const bytes = (maxLength: number) => fc.uint8Array({ maxLength, size: 'max' }).map((array) => Buffer.from(array));
const tlvs = fc.uniqueArray(
  fc.oneof(
    fc.record({
      tag: fc.constant(tlvTag.receiptedMessageId as number),
      value: ascii(64).map((id) => Buffer.from(`${id}\0`)),
    }),
    fc.record({ tag: fc.constant(tlvTag.messageState as number), value: octet.map((state) => Buffer.from([state])) }),
    fc.record({
      tag: fc.constant(tlvTag.networkErrorCode as number),
      value: fc.uint8Array({ minLength: 3, maxLength: 3 }).map((array) => Buffer.from(array)),
    }),
  ),
  { selector: (tlv) => tlv.tag, maxLength: 3 },
);
const shortMessage: fc.Arbitrary<Required<ShortMessage>> = fc.record({
  serviceType: ascii(5),
  sourceTon: octet,
  sourceNpi: octet,
  source: ascii(20),
  destinationTon: octet,
  destinationNpi: octet,
  destination: ascii(20),
  esmClass: octet,
  protocolId: octet,
  priority: octet,
  // The package pads shorter times; ours are unchanged.
  scheduleAt: fc.constantFrom('', '261120051901000+'),
  validity: fc.constantFrom('', '000002000000000R'),
  registeredDelivery: octet,
  replaceIfPresent: octet,
  dataCoding: octet,
  defaultMessageId: octet,
  octets: bytes(254),
  tlvs,
});

const tlvNames: Record<number, string> = {
  [tlvTag.receiptedMessageId]: 'receipted_message_id',
  [tlvTag.messageState]: 'message_state',
  [tlvTag.networkErrorCode]: 'network_error_code',
};

function byPackage(command: string, sequenceNumber: number, message: Required<ShortMessage>): Buffer {
  const fields: Record<string, unknown> = {
    sequence_number: sequenceNumber,
    service_type: message.serviceType,
    source_addr_ton: message.sourceTon,
    source_addr_npi: message.sourceNpi,
    source_addr: message.source,
    dest_addr_ton: message.destinationTon,
    dest_addr_npi: message.destinationNpi,
    destination_addr: message.destination,
    esm_class: message.esmClass,
    protocol_id: message.protocolId,
    priority_flag: message.priority,
    schedule_delivery_time: message.scheduleAt,
    validity_period: message.validity,
    registered_delivery: message.registeredDelivery,
    replace_if_present_flag: message.replaceIfPresent,
    data_coding: message.dataCoding,
    sm_default_msg_id: message.defaultMessageId,
    short_message: message.octets,
  };
  for (const { tag, value } of message.tlvs) {
    fields[tlvNames[tag]!] =
      tag === tlvTag.receiptedMessageId
        ? value.toString('latin1', 0, value.length - 1)
        : tag === tlvTag.messageState
          ? value[0]
          : value;
  }
  return new PDU(command, fields).toBuffer();
}

function byUs(command: 'submit_sm' | 'deliver_sm', sequenceNumber: number, message: ShortMessage): Buffer {
  const target = Buffer.alloc(shortMessageRoom(message) + 5, 0xee);
  const end = encodeShortMessage(target, 5, command, sequenceNumber, message);
  return target.subarray(5, end);
}

describe('submit_sm and deliver_sm', () => {
  test("are the same bytes as the package's", () => {
    fc.assert(
      fc.property(fc.constantFrom('submit_sm', 'deliver_sm'), sequence, shortMessage, (command, number, message) => {
        expect(byUs(command, number, message)).toEqual(byPackage(command, number, message));
      }),
      { numRuns: 300 },
    );
  });

  test('are decoded as they were encoded, at any offset', () => {
    fc.assert(
      fc.property(fc.constantFrom('submit_sm', 'deliver_sm'), sequence, shortMessage, (command, number, message) => {
        const written = Buffer.concat([Buffer.alloc(7, 1), byUs(command, number, message), Buffer.alloc(3, 1)]);
        const read = decodePdu(written, 7, written.length - 3);
        expect(read).toEqual({ command, status: 0, sequence: number, ...message });
      }),
      { numRuns: 300 },
    );
  });

  test('carry a text of 254 octets as short_message and one of 255 as message_payload', () => {
    for (const [size, offset] of [
      [254, 0],
      [255, 4],
    ] as const) {
      const octets = Buffer.alloc(size, 0x61);
      const message: ShortMessage = {
        ...{ sourceTon: 1, sourceNpi: 1, source: '1', destinationTon: 1, destinationNpi: 1, destination: '2' },
        ...{ esmClass: 0, registeredDelivery: 1, dataCoding: 0, octets },
      };
      const written = byUs('submit_sm', 1, message);
      expect(written.length).toBe(16 + 17 + 4 + size + offset - 2);
      const read = decodeShortMessage(written, 0, written.length, 'submit_sm');
      expect(read.octets).toEqual(octets);
    }
  });

  test('truncated anywhere end in CloseSession or in a shorter PDU, never in another error', () => {
    fc.assert(
      fc.property(shortMessage, fc.nat(400), (message, cut) => {
        const written = byUs('deliver_sm', 1, message);
        const end = Math.min(written.length, 16 + cut);
        try {
          decodePdu(written, 0, end);
        } catch (error) {
          expect(error).toBeInstanceOf(CloseSession);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('responses', () => {
  test.each(['submit_sm_resp', 'deliver_sm_resp'] as const)('%s are the bytes the package makes', (command) => {
    fc.assert(
      fc.property(sequence, ascii(64), fc.constantFrom(0, 0x58, 0x14), (number, id, status) => {
        const target = Buffer.alloc(100);
        const end = encodeMessageId(target, 0, command, status, number, id);
        const expected = new PDU(command, { sequence_number: number, command_status: status, message_id: id });
        expect(target.subarray(0, end)).toEqual(expected.toBuffer());
        const read = decodeMessageId(target, 0, end, command);
        expect(read).toEqual({ command, status, sequence: number, messageId: status === 0 ? id : '' });
      }),
    );
  });

  test('without an id, or with one that lacks its last zero, are read', () => {
    const target = Buffer.alloc(100);
    const end = encodeMessageId(target, 0, 'submit_sm_resp', 0, 1, '42');
    expect(decodeMessageId(target, 0, end - 1, 'submit_sm_resp').messageId).toBe('42');
    expect(decodeMessageId(target, 0, 16, 'submit_sm_resp').messageId).toBe('');
  });
});

describe('the other commands', () => {
  test('bind and its response are encoded and decoded', () => {
    const bind = bindFields('me', 'secret', 'VMS');
    for (const command of ['bind_transmitter', 'bind_receiver', 'bind_transceiver'] as const) {
      const written = encodeBind(command, 7, bind);
      expect(decodePdu(written, 0, written.length)).toEqual({ command, status: 0, sequence: 7, ...bind });
      const answer = encodeBindResp(command, 7, 0, 'smsc');
      expect(decodePdu(answer, 0, answer.length)).toMatchObject({ command: `${command}_resp`, systemId: 'smsc' });
      const refused = encodeBindResp(command, 7, commandStatus.ESME_RINVPASWD, 'smsc');
      expect(decodePdu(refused, 0, refused.length)).toMatchObject({ status: 0x0e, systemId: '' });
    }
  });

  test('query_sm is encoded and decoded', () => {
    const fields = { messageId: '77', sourceTon: 5, sourceNpi: 0, source: 'me' };
    const query = encodeQuery(3, fields);
    expect(decodePdu(query, 0, query.length)).toMatchObject({ command: 'query_sm', ...fields });
    const state = { messageId: '77', finalDate: '', messageState: 2, errorCode: 0 };
    const answer = encodeQueryResp(3, 0, state);
    expect(decodePdu(answer, 0, answer.length)).toMatchObject({ command: 'query_sm_resp', ...state });
  });

  test('cancel_sm is encoded and decoded', () => {
    const source = { sourceTon: 5, sourceNpi: 0, source: 'me' };
    const fields = { messageId: '77', ...source, destinationTon: 1, destinationNpi: 1, destination: '8801712345678' };
    const cancel = encodeCancel(3, fields);
    expect(decodePdu(cancel, 0, cancel.length)).toEqual({ command: 'cancel_sm', status: 0, sequence: 3, ...fields });
    expect(cancel.toString('latin1', 16)).toBe('\x0077\0\x05\0me\0\x01\x018801712345678\0');
  });

  test("that are only a header are read and written like the package's", () => {
    const commands = ['enquire_link', 'enquire_link_resp', 'unbind', 'unbind_resp', 'cancel_sm_resp'] as const;
    for (const command of [...commands, 'generic_nack'] as const) {
      const target = Buffer.alloc(16);
      encodeBare(target, 0, commandId[command], 0, 9);
      expect(target).toEqual(new PDU(command, { sequence_number: 9 }).toBuffer());
      expect(decodePdu(target, 0, 16)).toEqual({ command, status: 0, sequence: 9 });
    }
  });

  test('that are not supported keep their command id', () => {
    for (const id of [0x21, 0x102, 0xabc, 0x80000abc]) {
      const target = Buffer.alloc(16);
      encodeBare(target, 0, id, 0, 9);
      expect(decodePdu(target, 0, 16)).toEqual({ command: 'other', commandId: id, status: 0, sequence: 9 });
    }
  });

  test('of random bytes end in a PDU or in CloseSession', () => {
    const ids = [...Object.values(commandId), ...Object.keys(commandsById).map(Number)];
    fc.assert(
      fc.property(fc.constantFrom(...ids), bytes(200), (id, body) => {
        const target = Buffer.concat([Buffer.alloc(16), body]);
        encodeBare(target, 0, id, 0, 1);
        try {
          decodePdu(target, 0, target.length);
        } catch (error) {
          expect(error).toBeInstanceOf(CloseSession);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('command_status', () => {
  test('has the numbers the package has', () => {
    for (const [name, status] of Object.entries(commandStatus)) expect(errors[name], name).toBe(status);
  });

  test('is named, and a carrier’s own is shown in hex', () => {
    expect(nameOfStatus(0x58)).toBe('ESME_RTHROTTLED');
    expect(nameOfStatus(0x400)).toBe('0x00000400');
  });
});
