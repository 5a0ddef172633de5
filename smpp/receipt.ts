// Reads delivery receipts (SMPP 3.4 §5.2.12 and appendix B). TLVs take precedence; the text form is vendor-specific, so
// it is read by its keys in any order and case, with missing and unknown keys. An unlisted state word is not final
// (docs/receipts.md has the table). Pure; actors/carrier matches a receipt to its message.
import { decodeText } from '../model/text/octets.ts';
import { boundedName, boundedWords } from './bounded-text.ts';
import { type ShortMessagePdu, tlvTag } from './pdu.ts';

export type ReceiptState =
  | 'delivered'
  | 'undelivered'
  | 'expired'
  | 'rejected'
  | 'deleted'
  | 'accepted'
  | 'enroute'
  | 'unknown';

export type Receipt = {
  /** As the carrier wrote it (bounded-text.ts); submit_sm_resp may have another form (model/carrier-message-id). */
  carrierMessageId: string;
  state: ReceiptState;
  /** The carrier's or the network's error code as text; '' when absent. */
  errorCode: string;
  /** Milliseconds since the epoch, when the text has a valid date. */
  submittedAt?: number;
  /** The message's recipient and sender: the receipt's source and destination. */
  recipient: string;
  sender: string;
};

type ReceiptReading =
  | { kind: 'receipt'; receipt: Receipt }
  | { kind: 'not_a_receipt' }
  /** A receipt by its esm_class that names no message. */
  | { kind: 'unreadable' };

/** True for a delivery receipt and an intermediate notification (esm_class bits 5–2, SMPP 3.4 §5.2.12). */
export function isReceipt(esmClass: number): boolean {
  return (esmClass & 0x3c) === 0x04 || isIntermediate(esmClass);
}

const isIntermediate = (esmClass: number): boolean => (esmClass & 0x3c) === 0x20;

/** Reads a receipt. Its submit date is taken for UTC; its done date is not read. */
export function parseReceipt(pdu: ShortMessagePdu): ReceiptReading {
  if (!isReceipt(pdu.esmClass)) return notAReceipt;
  let id = '';
  let state: ReceiptState | undefined;
  let errorCode: string | undefined;
  for (const { tag, value } of pdu.tlvs ?? []) {
    if (tag === tlvTag.receiptedMessageId) id = withoutZero(value);
    else if (tag === tlvTag.messageState && value.length > 0) state = stateNumbers[value[0]!];
    else if (tag === tlvTag.networkErrorCode && value.length >= 3) errorCode = String(value.readUInt16BE(1));
  }
  const fields = pdu.octets.length > 0 ? readFields(textOf(pdu)) : noFields;
  id ||= fields.id;
  if (id === '') return unreadable;
  errorCode ??= fields.err;
  state ??= stateNames.get(fields.stat.toUpperCase()) ?? stateByError(errorCode);
  const receipt: Receipt = {
    carrierMessageId: boundedName(id),
    // An intermediate notification without a final state ends nothing.
    state: state === 'unknown' && isIntermediate(pdu.esmClass) ? 'enroute' : state,
    errorCode: boundedWords(errorCode),
    recipient: pdu.source,
    sender: pdu.destination,
  };
  const submittedAt = readDate(fields.submitDate);
  if (submittedAt !== undefined) receipt.submittedAt = submittedAt;
  return { kind: 'receipt', receipt };
}

/** message_state of query_sm_resp; an undefined number is `unknown`. */
export function receiptStateOf(messageState: number): ReceiptState {
  return stateNumbers[messageState] ?? 'unknown';
}

/** The state of a receipt whose word is missing or unlisted: `unknown` with an error code, else `enroute`. */
function stateByError(errorCode: string): ReceiptState {
  return /^0*$/.test(errorCode) ? 'enroute' : 'unknown';
}

const notAReceipt: ReceiptReading = { kind: 'not_a_receipt' };
const unreadable: ReceiptReading = { kind: 'unreadable' };

type Fields = { id: string; submitDate: string; stat: string; err: string };
const noFields: Fields = { id: '', submitDate: '', stat: '', err: '' };

// One pass over `key: value` pairs. `text:` ends it: the client's text follows, which may look like fields. A date may
// be followed by its seconds without a blank, never by a blank.
const fieldPattern = /(?:^|[\s,;])(id|submit[ _-]?date|done[ _-]?date|stat|err|text)\s*[:=]\s*([^\s,;]*)/gi;

function readFields(text: string): Fields {
  const fields = { ...noFields };
  fieldPattern.lastIndex = 0;
  for (let match = fieldPattern.exec(text); match; match = fieldPattern.exec(text)) {
    const value = match[2]!;
    switch (match[1]!.charCodeAt(0) | 0x20) {
      case 0x69: // id
        fields.id ||= value;
        break;
      case 0x64: // done date
        break;
      case 0x65: // err
        fields.err ||= value;
        break;
      case 0x74: // text
        return fields;
      default: // stat, submit date
        if (match[1]!.length === 4) fields.stat ||= value;
        else fields.submitDate ||= value;
    }
    // The blank after this value may be the separator before the next key.
    fieldPattern.lastIndex = match.index + match[0].length;
  }
  return fields;
}

// Every carrier writes receipts in ASCII, whatever data_coding is, except with UCS-2: in the GSM alphabet an underscore
// of an id would become a section sign.
function textOf(pdu: ShortMessagePdu): string {
  const hasHeader = (pdu.esmClass & 0x40) !== 0 && pdu.octets.length > pdu.octets[0]!;
  const octets = hasHeader ? pdu.octets.subarray(pdu.octets[0]! + 1) : pdu.octets;
  return pdu.dataCoding === 8 ? decodeText(octets, 8) : octets.toString('latin1');
}

/** YYMMDDhhmm or YYMMDDhhmmss, also with a four-digit year. Twelve digits are read in the first way that is a date. */
function readDate(text: string): number | undefined {
  if (!/^\d+$/.test(text)) return undefined;
  switch (text.length) {
    case 10:
      return dateOf(`20${text}`);
    case 12:
      return dateOf(`20${text}`) ?? dateOf(text);
    case 14:
      return dateOf(text);
    default:
      return undefined;
  }
}

/** YYYYMMDDhhmm, perhaps with seconds. */
function dateOf(digits: string): number | undefined {
  const part = (from: number, to: number) => Number(digits.slice(from, to));
  const [month, day, hour, minute] = [part(4, 6), part(6, 8), part(8, 10), part(10, 12)];
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59) return undefined;
  return Date.UTC(part(0, 4), month - 1, day, hour, minute, part(12, 14));
}

function withoutZero(value: Buffer): string {
  const end = value.indexOf(0);
  return value.toString('latin1', 0, end < 0 ? value.length : end).trim();
}

/** message_state (SMPP 3.4 §5.2.28 and §5.3.2.35). */
export const receiptStateNumber: Readonly<Record<ReceiptState, number>> = {
  enroute: 1,
  delivered: 2,
  expired: 3,
  deleted: 4,
  undelivered: 5,
  accepted: 6,
  unknown: 7,
  rejected: 8,
};

/** 0 and 9 are from SMPP 5.0. */
const stateNumbers: Readonly<Record<number, ReceiptState>> = {
  ...Object.fromEntries(Object.entries(receiptStateNumber).map(([state, number]) => [number, state as ReceiptState])),
  0: 'enroute',
  9: 'rejected',
};

/** How receipts spell each state: as in appendix B first, then as other carriers do. */
export const receiptWords: Readonly<Record<ReceiptState, readonly [string, ...string[]]>> = {
  delivered: ['DELIVRD', 'DELIVERED'],
  undelivered: ['UNDELIV', 'UNDELIVERABLE', 'UNDELIVRD', 'UNDELIVERED', 'FAILED'],
  expired: ['EXPIRED'],
  rejected: ['REJECTD', 'REJECTED', 'SKIPPED'],
  deleted: ['DELETED'],
  accepted: ['ACCEPTD', 'ACCEPTED'],
  enroute: [
    ...(['ENROUTE', 'BUFFRED', 'BUFFERED', 'SCHEDULED', 'SENT', 'SUBMITD', 'SUBMITTED', 'PENDING'] as const),
    ...(['QUEUED', 'RETRY', 'DELAYED'] as const),
  ],
  unknown: ['UNKNOWN'],
};
const stateNames: ReadonlyMap<string, ReceiptState> = new Map(
  Object.entries(receiptWords).flatMap(([state, words]) => words.map((word) => [word, state as ReceiptState] as const)),
);
