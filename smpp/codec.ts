// Encodes and decodes PDUs. The hot commands use codec-hot.ts, the others the codec of the `smpp` package. A malformed
// PDU always throws CloseSession, so that it affects its own session only.
import { PDU } from 'smpp/lib/pdu.js';
import { commandsById } from 'smpp/lib/defs.js';
import { CloseSession } from '../platform/errors.ts';
import { decodeMessageId, decodeShortMessage, readUInt32 } from './codec-hot.ts';
import {
  type BindCommand,
  type BindFields,
  type CancelFields,
  type Pdu,
  type QueryFields,
  type QueryRespFields,
  bareCommands,
  commandId,
} from './pdu.ts';

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

/** By our names of fields: the package's name of each, and its value where a PDU has none. */
type PackageNames<Fields> = { readonly [Name in keyof Fields]: readonly [name: string, missing: Fields[Name]] };

const bindNames: PackageNames<BindFields> = {
  systemId: ['system_id', ''],
  password: ['password', ''],
  systemType: ['system_type', ''],
  interfaceVersion: ['interface_version', 0],
  addressTon: ['addr_ton', 0],
  addressNpi: ['addr_npi', 0],
  addressRange: ['address_range', ''],
};
const bindRespNames: PackageNames<Pick<BindFields, 'systemId'>> = { systemId: bindNames.systemId };
const queryNames: PackageNames<QueryFields> = {
  messageId: ['message_id', ''],
  sourceTon: ['source_addr_ton', 0],
  sourceNpi: ['source_addr_npi', 0],
  source: ['source_addr', ''],
};
const queryRespNames: PackageNames<QueryRespFields> = {
  messageId: ['message_id', ''],
  finalDate: ['final_date', ''],
  messageState: ['message_state', 0],
  errorCode: ['error_code', 0],
};
const cancelNames: PackageNames<CancelFields> = {
  ...queryNames,
  destinationTon: ['dest_addr_ton', 0],
  destinationNpi: ['dest_addr_npi', 0],
  destination: ['destination_addr', ''],
};

export function encodeBind(command: BindCommand, sequence: number, bind: BindFields): Buffer {
  return new PDU(command, { sequence_number: sequence, ...named(bind, bindNames) }).toBuffer();
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

export function encodeQueryResp(sequence: number, status: number, answer: QueryRespFields): Buffer {
  const header = { sequence_number: sequence, command_status: status };
  return new PDU('query_sm_resp', { ...header, ...named(answer, queryRespNames) }).toBuffer();
}

export function encodeQuery(sequence: number, query: QueryFields): Buffer {
  return new PDU('query_sm', { sequence_number: sequence, ...named(query, queryNames) }).toBuffer();
}

/** The service type stays NULL: it names a group of messages, and this is one by its id. */
export function encodeCancel(sequence: number, cancel: CancelFields): Buffer {
  return new PDU('cancel_sm', { sequence_number: sequence, ...named(cancel, cancelNames) }).toBuffer();
}

function decodeByPackage(frame: Buffer, id: number, status: number, sequence: number): Pdu {
  const known = commandsById[id];
  switch (known?.command) {
    case 'bind_transmitter':
    case 'bind_receiver':
    case 'bind_transceiver':
      return { command: known.command, status, sequence, ...fieldsOf(frame, bindNames) };
    case 'bind_transmitter_resp':
    case 'bind_receiver_resp':
    case 'bind_transceiver_resp':
      return { command: known.command, status, sequence, ...fieldsOf(frame, bindRespNames) };
    case 'query_sm':
      return { command: 'query_sm', status, sequence, ...fieldsOf(frame, queryNames) };
    case 'cancel_sm':
      return { command: 'cancel_sm', status, sequence, ...fieldsOf(frame, cancelNames) };
    case 'query_sm_resp':
      return { command: 'query_sm_resp', status, sequence, ...fieldsOf(frame, queryRespNames) };
    default:
      return { command: 'other', commandId: id, status, sequence };
  }
}

const entriesOf = <Fields>(names: PackageNames<Fields>) =>
  Object.entries(names) as [ours: keyof Fields, readonly [theirs: string, missing: unknown]][];

function named<Fields>(fields: Fields, names: PackageNames<Fields>): Record<string, unknown> {
  return Object.fromEntries(entriesOf(names).map(([ours, [theirs]]) => [theirs, fields[ours]]));
}

function fieldsOf<Fields>(frame: Buffer, names: PackageNames<Fields>): Fields {
  const pdu = readByPackage(frame);
  const read = entriesOf(names).map(([ours, [theirs, missing]]) => {
    return [ours, typeof pdu[theirs] === typeof missing ? pdu[theirs] : missing] as const;
  });
  return Object.fromEntries(read) as Fields;
}

function readByPackage(frame: Buffer): Record<string, unknown> {
  try {
    const pdu = PDU.fromBuffer(frame);
    if (pdu) return pdu;
  } catch (error) {
    throw new CloseSession('a PDU ends inside its body', error);
  }
  throw new CloseSession('a PDU is shorter than its header');
}
