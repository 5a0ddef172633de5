// The encoder and decoder of submit_sm, deliver_sm, data_sm and their responses, the PDUs of every message. The generic
// codec of the `smpp` package is ten times slower here and decodes texts that we need as octets; it remains the
// reference (property-tested byte for byte) and serves all other commands. Encoders write into the caller's buffer.
import { assert } from '../platform/assert.ts';
import { CloseSession } from '../platform/errors.ts';
import { boundedName } from './bounded-text.ts';
import { commandId, type MessageIdPdu, type ShortMessage, type ShortMessagePdu, type Tlv, tlvTag } from './pdu.ts';

const headerBytes = 16;
const shortMessageBytesMax = 254;

/** Upper bound of the octets encodeShortMessage writes for this message. */
export function shortMessageRoom(message: ShortMessage): number {
  let room = 96 + message.source.length + message.destination.length + message.octets.length;
  room += message.serviceType?.length ?? 0;
  for (const tlv of message.tlvs ?? []) room += 4 + tlv.value.length;
  return room;
}

/** Writes a submit_sm or deliver_sm at `at` and returns its end. `target` needs shortMessageRoom octets from `at`. */
export function encodeShortMessage(
  target: Buffer,
  at: number,
  command: 'submit_sm' | 'deliver_sm',
  sequence: number,
  message: ShortMessage,
): number {
  let end = at + headerBytes;
  end = writeCString(target, end, message.serviceType ?? '');
  target[end++] = message.sourceTon;
  target[end++] = message.sourceNpi;
  end = writeCString(target, end, message.source);
  target[end++] = message.destinationTon;
  target[end++] = message.destinationNpi;
  end = writeCString(target, end, message.destination);
  target[end++] = message.esmClass;
  target[end++] = message.protocolId ?? 0;
  target[end++] = message.priority ?? 0;
  end = writeCString(target, end, message.scheduleAt ?? '');
  end = writeCString(target, end, message.validity ?? '');
  target[end++] = message.registeredDelivery;
  target[end++] = message.replaceIfPresent ?? 0;
  target[end++] = message.dataCoding;
  target[end++] = message.defaultMessageId ?? 0;
  const { octets } = message;
  const isPayload = octets.length > shortMessageBytesMax;
  target[end++] = isPayload ? 0 : octets.length;
  if (isPayload) end = writeTlv(target, end, tlvTag.messagePayload, octets);
  else {
    target.set(octets, end);
    end += octets.length;
  }
  if (message.tlvs) for (const tlv of message.tlvs) end = writeTlv(target, end, tlv.tag, tlv.value);
  writeHeader(target, at, end - at, commandId[command], 0, sequence);
  return end;
}

/** Writes a response with a message id; with an error status only its header (SMPP 3.4, 4.4.2). */
export function encodeMessageId(
  target: Buffer,
  at: number,
  command: MessageIdPdu['command'],
  status: number,
  sequence: number,
  messageId: string,
): number {
  const end = status === 0 ? writeCString(target, at + headerBytes, messageId) : at + headerBytes;
  writeHeader(target, at, end - at, commandId[command], status, sequence);
  return end;
}

/** Writes a PDU that has no body. */
export function encodeBare(target: Buffer, at: number, command: number, status: number, sequence: number): number {
  writeHeader(target, at, headerBytes, command, status, sequence);
  return at + headerBytes;
}

/** Reads submit_sm, deliver_sm or data_sm in buffer[start, end). Throws CloseSession when the body is too short. */
export function decodeShortMessage(
  buffer: Buffer,
  start: number,
  end: number,
  command: ShortMessagePdu['command'],
): ShortMessagePdu {
  const status = readUInt32(buffer, start + 8);
  const sequence = readUInt32(buffer, start + 12);
  let at = start + headerBytes;
  const take = (): number => {
    if (at >= end) throw new CloseSession(`a ${command} ends inside its body`);
    return buffer[at++]!;
  };
  const takeText = (): string => {
    let stop = at;
    while (stop < end && buffer[stop] !== 0) stop += 1;
    if (stop >= end) throw new CloseSession(`a ${command} has a text without an end`);
    const text = stop === at ? '' : boundedName(buffer.toString('latin1', at, stop));
    at = stop + 1;
    return text;
  };
  const serviceType = takeText();
  const sourceTon = take();
  const sourceNpi = take();
  const source = takeText();
  const destinationTon = take();
  const destinationNpi = take();
  const destination = takeText();
  const esmClass = take();
  const isData = command === 'data_sm';
  const protocolId = isData ? 0 : take();
  const priority = isData ? 0 : take();
  const scheduleAt = isData ? '' : takeText();
  const validity = isData ? '' : takeText();
  const registeredDelivery = take();
  const replaceIfPresent = isData ? 0 : take();
  const dataCoding = take();
  const defaultMessageId = isData ? 0 : take();
  const size = isData ? 0 : take();
  if (at + size > end) throw new CloseSession(`a ${command} says its text is longer than itself`);
  let octets = buffer.subarray(at, at + size);
  const tlvs = at + size === end ? noTlvs : readTlvs(buffer, at + size, end);
  if (size === 0) octets = tlvs.find((tlv) => tlv.tag === tlvTag.messagePayload)?.value ?? octets;
  return {
    command,
    status,
    sequence,
    serviceType,
    sourceTon,
    sourceNpi,
    source,
    destinationTon,
    destinationNpi,
    destination,
    esmClass,
    protocolId,
    priority,
    scheduleAt,
    validity,
    registeredDelivery,
    replaceIfPresent,
    dataCoding,
    defaultMessageId,
    octets,
    tlvs,
  };
}

/** Reads a response in buffer[start, end). Carriers omit the id with an error, and some its final zero too. */
export function decodeMessageId(
  buffer: Buffer,
  start: number,
  end: number,
  command: MessageIdPdu['command'],
): MessageIdPdu {
  const at = start + headerBytes;
  let stop = at;
  while (stop < end && buffer[stop] !== 0) stop += 1;
  const messageId = stop === at ? '' : boundedName(buffer.toString('latin1', at, stop));
  return { command, status: readUInt32(buffer, start + 8), sequence: readUInt32(buffer, start + 12), messageId };
}

const noTlvs: Tlv[] = [];

// A TLV that exceeds the PDU ends the list: carriers pad PDUs, and nothing after it is reliable.
function readTlvs(buffer: Buffer, start: number, end: number): Tlv[] {
  const tlvs: Tlv[] = [];
  for (let at = start; at + 4 <= end; ) {
    const size = buffer.readUInt16BE(at + 2);
    if (at + 4 + size > end) break;
    tlvs.push({ tag: buffer.readUInt16BE(at), value: buffer.subarray(at + 4, at + 4 + size) });
    at += 4 + size;
  }
  return tlvs;
}

function writeTlv(target: Buffer, at: number, tag: number, value: Buffer): number {
  target[at] = tag >>> 8;
  target[at + 1] = tag & 0xff;
  target[at + 2] = value.length >>> 8;
  target[at + 3] = value.length & 0xff;
  target.set(value, at + 4);
  return at + 4 + value.length;
}

// A loop: up to some twenty characters it is faster than Buffer.write.
function writeCString(target: Buffer, at: number, text: string): number {
  for (let index = 0; index < text.length; index += 1) {
    const octet = text.charCodeAt(index);
    assert(octet !== 0, 'a zero inside a text would shift every field behind it');
    target[at + index] = octet;
  }
  target[at + text.length] = 0;
  return at + text.length + 1;
}

function writeHeader(target: Buffer, at: number, size: number, command: number, status: number, sequence: number) {
  writeUInt32(target, at, size);
  writeUInt32(target, at + 4, command);
  writeUInt32(target, at + 8, status);
  writeUInt32(target, at + 12, sequence);
}

function writeUInt32(target: Buffer, at: number, value: number): void {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
}

export function readUInt32(buffer: Buffer, at: number): number {
  return (buffer[at]! * 0x1000000 + (buffer[at + 1]! << 16) + (buffer[at + 2]! << 8) + buffer[at + 3]!) >>> 0;
}
