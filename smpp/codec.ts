// Encodes and decodes PDUs. The hot commands use codec-hot.ts, the others the codec of the `smpp` package. A malformed
// PDU always throws CloseSession, so that it affects its own session only.
import { PDU } from 'smpp/lib/pdu.js';
import { commandsById } from 'smpp/lib/defs.js';
import { CloseSession } from '../platform/errors.ts';
import { decodeMessageId, decodeShortMessage, readUInt32 } from './codec-hot.ts';
import { type BindCommand, type BindFields, type CancelFields, commandId, type Pdu, type QueryFields } from './pdu.ts';

/** Reads the complete PDU in buffer[start, end). Throws CloseSession when it is malformed. */
export function decodePdu(buffer: Buffer, start: number, end: number): Pdu {
  const id = readUInt32(buffer, start + 4);
  switch (id) {
    case commandId.submit_sm:
      return decodeShortMessage(buffer, start, end, 'submit_sm');
    case commandId.submit_sm_resp:
      return decodeMessageId(buffer, start, end, 'submit_sm_resp');
    case commandId.deliver_sm:
      return decodeShortMessage(buffer, start, end, 'deliver_sm');
    case commandId.deliver_sm_resp:
      return decodeMessageId(buffer, start, end, 'deliver_sm_resp');
    case commandId.data_sm:
      return decodeShortMessage(buffer, start, end, 'data_sm');
    case commandId.data_sm_resp:
      return decodeMessageId(buffer, start, end, 'data_sm_resp');
  }
  const status = readUInt32(buffer, start + 8);
  const sequence = readUInt32(buffer, start + 12);
  const bare = bareCommands.find((command) => commandId[command] === id);
  if (bare !== undefined) return { command: bare, status, sequence };
  return decodeByPackage(buffer.subarray(start, end), id, status, sequence);
}

const bareCommands = [
  'enquire_link',
  'enquire_link_resp',
  'unbind',
  'unbind_resp',
  'cancel_sm_resp',
  'generic_nack',
] as const;

export function encodeBind(command: BindCommand, sequence: number, bind: BindFields): Buffer {
  return new PDU(command, {
    sequence_number: sequence,
    system_id: bind.systemId,
    password: bind.password,
    system_type: bind.systemType,
    interface_version: bind.interfaceVersion,
    addr_ton: bind.addressTon,
    addr_npi: bind.addressNpi,
    address_range: bind.addressRange,
  }).toBuffer();
}

/** `interfaceVersion` is the peer's: below 3.4 it supports no optional parameters (SMPP 3.4, 3.2.5.1). */
export function encodeBindResp(
  command: BindCommand,
  sequence: number,
  status: number,
  systemId: string,
  interfaceVersion = 0x34,
): Buffer {
  return new PDU(`${command}_resp`, {
    sequence_number: sequence,
    command_status: status,
    system_id: systemId,
    ...(interfaceVersion >= 0x34 && { sc_interface_version: 0x34 }),
  }).toBuffer();
}

export function encodeQueryResp(
  sequence: number,
  status: number,
  answer: { messageId: string; finalDate: string; messageState: number; errorCode: number },
): Buffer {
  return new PDU('query_sm_resp', {
    sequence_number: sequence,
    command_status: status,
    message_id: answer.messageId,
    final_date: answer.finalDate,
    message_state: answer.messageState,
    error_code: answer.errorCode,
  }).toBuffer();
}

export function encodeQuery(sequence: number, query: QueryFields): Buffer {
  return new PDU('query_sm', {
    sequence_number: sequence,
    message_id: query.messageId,
    source_addr_ton: query.sourceTon,
    source_addr_npi: query.sourceNpi,
    source_addr: query.source,
  }).toBuffer();
}

/** The service type stays NULL: it names a group of messages, and this is one by its id. */
export function encodeCancel(sequence: number, cancel: CancelFields): Buffer {
  return new PDU('cancel_sm', {
    sequence_number: sequence,
    message_id: cancel.messageId,
    source_addr_ton: cancel.sourceTon,
    source_addr_npi: cancel.sourceNpi,
    source_addr: cancel.source,
    dest_addr_ton: cancel.destinationTon,
    dest_addr_npi: cancel.destinationNpi,
    destination_addr: cancel.destination,
  }).toBuffer();
}

function decodeByPackage(frame: Buffer, id: number, status: number, sequence: number): Pdu {
  const known = commandsById[id];
  switch (known?.command) {
    case 'bind_transmitter':
    case 'bind_receiver':
    case 'bind_transceiver': {
      const fields = readFields(frame);
      return {
        command: known.command,
        status,
        sequence,
        systemId: text(fields['system_id']),
        password: text(fields['password']),
        systemType: text(fields['system_type']),
        interfaceVersion: number(fields['interface_version']),
        addressTon: number(fields['addr_ton']),
        addressNpi: number(fields['addr_npi']),
        addressRange: text(fields['address_range']),
      };
    }
    case 'bind_transmitter_resp':
    case 'bind_receiver_resp':
    case 'bind_transceiver_resp':
      return { command: known.command, status, sequence, systemId: text(readFields(frame)['system_id']) };
    case 'query_sm':
      return { command: 'query_sm', status, sequence, ...submitNamedIn(readFields(frame)) };
    case 'cancel_sm': {
      const fields = readFields(frame);
      return {
        command: 'cancel_sm',
        status,
        sequence,
        ...submitNamedIn(fields),
        destinationTon: number(fields['dest_addr_ton']),
        destinationNpi: number(fields['dest_addr_npi']),
        destination: text(fields['destination_addr']),
      };
    }
    case 'query_sm_resp': {
      const fields = readFields(frame);
      const [messageState, errorCode] = [number(fields['message_state']), number(fields['error_code'])];
      const [messageId, finalDate] = [text(fields['message_id']), text(fields['final_date'])];
      return { command: 'query_sm_resp', status, sequence, messageId, finalDate, messageState, errorCode };
    }
    default:
      return { command: 'other', commandId: id, status, sequence };
  }
}

const submitNamedIn = (fields: Record<string, unknown>): QueryFields => ({
  messageId: text(fields['message_id']),
  sourceTon: number(fields['source_addr_ton']),
  sourceNpi: number(fields['source_addr_npi']),
  source: text(fields['source_addr']),
});

function readFields(frame: Buffer): Record<string, unknown> {
  try {
    const pdu = PDU.fromBuffer(frame);
    if (pdu) return pdu;
  } catch (error) {
    throw new CloseSession('a PDU ends inside its body', error);
  }
  throw new CloseSession('a PDU is shorter than its header');
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
