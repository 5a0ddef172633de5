// Builds message ids and receipts as carriers do: ids in decimal or hex, receipts as text, TLVs or both. smsc.ts and
// deliveries.ts send them.
import { limits } from '../../platform/limits.ts';
import { type ShortMessage, type ShortMessagePdu, type Tlv, tlvTag } from '../pdu.ts';
import { type ReceiptState, receiptStateNumber } from '../receipt.ts';
import { buildReceiptText } from '../receipt-text.ts';
import type { Account, SimulatedSession } from './contract.ts';
import type { Fate } from './magic.ts';
import type { IdStyle, SimulatorOptions } from './options.ts';
import { type AlphabetOptions, bodyOf, textOf } from './reading.ts';

/** An accepted submit. */
export type Taken = {
  responseId: string;
  receiptId: string;
  pdu: ShortMessagePdu;
  account: Account;
  /** Undefined when it was submitted before this start. */
  session: SimulatedSession | undefined;
  submittedAtMs: number;
  /** The intended send time, epoch µs, if the text has one; else 0. */
  intendedUs: number;
};

/** A submit whose last receipt is to come; `dueAtMs` in milliseconds since the epoch. */
export type Undelivered = { taken: Taken; fate: Fate; dueAtMs: number };

export class MessageIds {
  readonly #style: IdStyle;
  readonly #from: bigint;
  /** Ids are numbers where they fit: a BigInt costs ten times as much. */
  readonly #fromNumber: number | undefined;
  #count = 0;
  readonly #settled = new Map<string, { state: ReceiptState; doneAtMs: number | undefined }>();

  constructor(style: IdStyle, from: bigint) {
    this.#style = style;
    this.#from = from;
    this.#fromNumber = from < 2n ** 52n ? Number(from) : undefined;
  }

  next(): { responseId: string; receiptId: string } {
    this.#count += 1;
    const id = this.#fromNumber === undefined ? this.#from + BigInt(this.#count) : this.#fromNumber + this.#count;
    const responseId = this.#style === 'decimal' ? id.toString() : id.toString(16);
    const receiptId = this.#style === 'resp-hex-receipt-decimal' ? id.toString() : responseId;
    return { responseId, receiptId };
  }

  /** The last id given out. */
  get last(): bigint {
    return this.#from + BigInt(this.#count);
  }

  /** Keeps the last outcomes for query_sm. */
  settle(taken: Taken, state: ReceiptState, doneAtMs: number): void {
    if (this.#settled.size >= limits.simulator.recordMax) this.#settled.delete(this.#settled.keys().next().value!);
    this.#settled.set(taken.responseId, { state, doneAtMs });
  }

  stateOf(messageId: string): { state: ReceiptState; doneAtMs: number | undefined } | undefined {
    return this.#settled.get(messageId);
  }
}

export function receiptFor(
  taken: Taken,
  state: ReceiptState,
  errorCode: string,
  doneAtMs: number,
  { receipts: form, alphabet }: Pick<SimulatorOptions, 'receipts' | 'alphabet'>,
  stat?: string,
): ShortMessage {
  const { pdu, receiptId: carrierMessageId, submittedAtMs } = taken;
  const fields = { carrierMessageId, state, stat, errorCode, submittedAtMs, doneAtMs };
  const text = form === 'tlv' ? '' : buildReceiptText({ ...fields, text: beginningOf(pdu, alphabet) });
  const messageState = stat === undefined ? receiptStateNumber[state] : ownState;
  return {
    sourceTon: pdu.destinationTon,
    sourceNpi: pdu.destinationNpi,
    source: pdu.destination,
    destinationTon: pdu.sourceTon,
    destinationNpi: pdu.sourceNpi,
    destination: pdu.source,
    esmClass: 0x04,
    registeredDelivery: 0,
    dataCoding: 0,
    octets: Buffer.from(text, 'latin1'),
    ...(form === 'text' ? {} : { tlvs: receiptTlvs(carrierMessageId, messageState, errorCode) }),
  };
}

/** An undefined message_state. */
const ownState = 200;

function receiptTlvs(receiptId: string, state: number, errorCode: string): Tlv[] {
  const tlvs: Tlv[] = [
    { tag: tlvTag.receiptedMessageId, value: Buffer.from(`${receiptId}\0`, 'latin1') },
    { tag: tlvTag.messageState, value: Buffer.from([state]) },
  ];
  const code = Number(errorCode);
  // Network type 3 is GSM.
  if (code > 0) tlvs.push({ tag: tlvTag.networkErrorCode, value: Buffer.from([3, code >>> 8, code & 0xff]) });
  return tlvs;
}

/** Octets of a text of which a receipt repeats up to 20 characters. */
export const receiptTextOctets = 40;

function beginningOf(pdu: ShortMessagePdu, alphabet: AlphabetOptions): string {
  const read = bodyOf(pdu);
  return textOf(pdu, { ...read, body: read.body.subarray(0, receiptTextOctets) }, alphabet)
    .slice(0, 20)
    .replace(/[^\x20-\x7e]/g, '?');
}
