// Masks in a PDU what must not be kept, in place, without changing its length or structure: passwords, texts, most
// digits of each number, and everything unknown. It works on the recorder's own copy. It keeps only listed fields, so
// that a vendor-specific field or a malformed PDU reveals nothing.
import { readUInt32 } from '../codec-hot.ts';
import { commandId, tlvTag } from '../pdu.ts';
import { hide, maskAddress, redactText } from './redact-text.ts';

const headerBytes = 16;
const responseBit = 0x80000000;

/** Masks the PDU in pdu[start, end). Accepts any octets and never throws. */
export function redactPdu(pdu: Buffer, start: number, end: number): void {
  const at = start + headerBytes;
  if (at >= end) return;
  const command = readUInt32(pdu, start + 4);
  switch (command) {
    case commandId.submit_sm:
    case commandId.deliver_sm:
      return redactMessage(pdu, at, end);
    case commandId.data_sm:
      return redactData(pdu, at, end);
    case commandId.submit_sm_resp:
    case commandId.deliver_sm_resp:
    case commandId.data_sm_resp:
      return redactTlvs(pdu, lastText(pdu, at, end, messageIdMax), end, 0, 0);
  }
  const fields = bodies.get(command);
  if (fields !== undefined) return redactFields(pdu, at, end, fields);
  // A response that is not listed has no fields (unbind_resp, enquire_link_resp); a request may contain anything.
  if (command >= responseBit) return redactTlvs(pdu, at, end, 0, 0);
  pdu.fill(0, at, end);
}

// The lengths SMPP 3.4 allows, without the final zero; anything longer is not this field.
const [serviceTypeMax, messageIdMax, timeMax, systemIdMax, systemTypeMax, rangeMax] = [5, 64, 16, 15, 12, 40];

function redactMessage(pdu: Buffer, from: number, end: number): void {
  let at = keepText(pdu, from, end, serviceTypeMax);
  at = address(pdu, at + 2, end);
  at = address(pdu, at + 2, end);
  if (at + 3 > end) return void cutOff(pdu, at, end);
  const esmClass = pdu[at]!;
  at = keepText(pdu, at + 3, end, timeMax);
  at = keepText(pdu, at, end, timeMax);
  if (at + 5 > end) return void cutOff(pdu, at, end);
  const dataCoding = pdu[at + 2]!;
  const textEnd = at + 5 + pdu[at + 4]!;
  if (textEnd > end) return void cutOff(pdu, at + 5, end);
  redactText(pdu, at + 5, textEnd, esmClass, dataCoding);
  redactTlvs(pdu, textEnd, end, esmClass, dataCoding);
}

function redactData(pdu: Buffer, from: number, end: number): void {
  let at = keepText(pdu, from, end, serviceTypeMax);
  at = address(pdu, at + 2, end);
  at = address(pdu, at + 2, end);
  if (at + 3 > end) return void cutOff(pdu, at, end);
  redactTlvs(pdu, at + 3, end, pdu[at]!, pdu[at + 2]!);
}

type Field = { readonly what: 'text' | 'secret' | 'address' | 'octets'; readonly size: number };
const text = (size: number): Field => ({ what: 'text', size });
const octets = (size: number): Field => ({ what: 'octets', size });
const secret: Field = { what: 'secret', size: 0 };
const number: Field = { what: 'address', size: 0 };

const bind = [text(systemIdMax), secret, text(systemTypeMax), octets(3), text(rangeMax)];
const bindResponse = [text(systemIdMax)];
/** The fields of the rare PDUs in order; TLVs follow. */
const bodies: ReadonlyMap<number, readonly Field[]> = new Map([
  [commandId.bind_transmitter, bind],
  [commandId.bind_receiver, bind],
  [commandId.bind_transceiver, bind],
  [commandId.bind_transmitter_resp, bindResponse],
  [commandId.bind_receiver_resp, bindResponse],
  [commandId.bind_transceiver_resp, bindResponse],
  [0x0b, [text(systemIdMax), secret]], // outbind
  [commandId.query_sm, [text(messageIdMax), octets(2), number]],
  [commandId.query_sm_resp, [text(messageIdMax), text(timeMax), octets(2)]],
  [commandId.cancel_sm, [text(serviceTypeMax), text(messageIdMax), octets(2), number, octets(2), number]],
  [0x102, [octets(2), number, octets(2), number]], // alert_notification
]);

function redactFields(pdu: Buffer, from: number, end: number, fields: readonly Field[]): void {
  let at = from;
  for (const { what, size } of fields) {
    if (what === 'text') at = keepText(pdu, at, end, size);
    else if (what === 'address') at = address(pdu, at, end);
    else if (what === 'secret') at = keepText(pdu, at, end, -1);
    else at += size;
  }
  redactTlvs(pdu, at, end, 0, 0);
}

/** Keeps a text of at most `max` octets, hides a longer one; returns the start of the next field. */
function keepText(pdu: Buffer, from: number, end: number, max: number): number {
  const stop = zeroAt(pdu, from, end);
  if (stop < 0) return cutOff(pdu, from, end);
  if (stop - from > max) hide(pdu, from, stop, 0);
  return stop + 1;
}

/** As keepText, for the last field: some carriers omit its zero. */
function lastText(pdu: Buffer, from: number, end: number, max: number): number {
  const zero = zeroAt(pdu, from, end);
  const stop = zero < 0 ? end : zero;
  if (stop - from > max) hide(pdu, from, stop, 0);
  return zero < 0 ? end : zero + 1;
}

function address(pdu: Buffer, from: number, end: number): number {
  const stop = zeroAt(pdu, from, end);
  if (stop < 0) return cutOff(pdu, from, end);
  maskAddress(pdu, from, stop);
  return stop + 1;
}

function zeroAt(pdu: Buffer, from: number, end: number): number {
  for (let at = from; at < end; at += 1) if (pdu[at] === 0) return at;
  return -1;
}

/** The PDU is malformed from here on: overwrites it with octets that are no TLV and no string terminator. */
function cutOff(pdu: Buffer, from: number, end: number): number {
  if (from < end) pdu.fill(0xff, from, end);
  return end;
}

function redactTlvs(pdu: Buffer, from: number, end: number, esmClass: number, dataCoding: number): void {
  let at = from;
  while (at + 4 <= end) {
    const tag = (pdu[at]! << 8) | pdu[at + 1]!;
    const size = (pdu[at + 2]! << 8) | pdu[at + 3]!;
    const value = at + 4;
    if (value + size > end) break;
    if (tag === tlvTag.messagePayload) redactText(pdu, value, value + size, esmClass, dataCoding);
    else if (size > (keptTlvs[tag] ?? 0)) hide(pdu, value, value + size, 0);
    at = value + size;
  }
  cutOff(pdu, at, end);
}

/** The most octets of a kept TLV, by tag: flags, counters, times and the ids of receipts. */
const keptTlvs = new Uint8Array(0x1400);
for (const tag of [
  ...[0x05, 0x06, 0x07, 0x08, 0x0d, 0x0e, 0x0f, 0x10, 0x19, 0x30, 0x0201, 0x0204, 0x0205, 0x020a, 0x020b, 0x020c],
  ...[0x020d, 0x020e, 0x020f, 0x0210, 0x0304, 0x0420, 0x0421, 0x0422, 0x0425, 0x0426, 0x0427],
  ...[0x0501, 0x1201, 0x1203, 0x1204, 0x130c, 0x1380, 0x1383],
]) {
  keptTlvs[tag] = 2;
}
keptTlvs[0x17] = 4; // qos_time_to_live
keptTlvs[tlvTag.networkErrorCode] = 3;
keptTlvs[tlvTag.receiptedMessageId] = messageIdMax + 1;
