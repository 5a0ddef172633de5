// What the simulator was sent, for tests and for `GET /messages`: the last recordMax accepted submits, kept as
// octets and only read as text, with long messages put together again, when somebody asks.
import { readConcatenation } from '../../model/text/concatenation.ts';
import { decodeText } from '../../model/text/octets.ts';
import { limits } from '../../platform/limits.ts';
import type { ShortMessagePdu } from '../pdu.ts';

export type RecordedMessage = {
  /** The id of the first part, as in its submit_sm_resp. */
  id: string;
  source: string;
  destination: string;
  text: string;
  /** How many parts have come, and how many there are. */
  parts: number;
  partsTotal: number;
  /** Wall time of the first part, milliseconds since the epoch. */
  at: number;
};

type Kept = { id: string; pdu: ShortMessagePdu; at: number };

export class Recording {
  readonly #max: number;
  readonly #kept: Kept[] = [];
  #next = 0;
  #overwritten = 0;
  #messages = 0;
  readonly #partsMissing = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Messages begun: single ones and first-seen parts of long ones. */
  get messages(): number {
    return this.#messages;
  }

  get kept(): number {
    return this.#kept.length;
  }

  get overwritten(): number {
    return this.#overwritten;
  }

  add(id: string, pdu: ShortMessagePdu, at: number): void {
    this.#count(pdu);
    if (this.#max === 0) return;
    const kept = { id, pdu, at };
    if (this.#kept.length < this.#max) this.#kept.push(kept);
    else {
      this.#kept[this.#next] = kept;
      this.#next = (this.#next + 1) % this.#max;
      this.#overwritten += 1;
    }
  }

  /** The recorded messages, oldest first. */
  list(filter: { destination?: string } = {}): RecordedMessage[] {
    const messages: RecordedMessage[] = [];
    const open = new Map<string, { message: RecordedMessage; texts: (string | undefined)[] }>();
    for (let index = 0; index < this.#kept.length; index += 1) {
      const { id, pdu, at } = this.#kept[(this.#next + index) % this.#kept.length]!;
      const { source, destination, dataCoding } = pdu;
      if (filter.destination !== undefined && destination !== filter.destination) continue;
      const { concatenation, body } = bodyOf(pdu);
      const text = decodeText(body, dataCoding);
      if (!concatenation || concatenation.total < 2) {
        messages.push({ id, source, destination, text, parts: 1, partsTotal: 1, at });
        continue;
      }
      const key = keyOf(pdu, concatenation);
      let entry = open.get(key);
      // A part that was there already: the same reference again is another copy.
      if (!entry || entry.texts[concatenation.part - 1] !== undefined) {
        const partsTotal = concatenation.total;
        entry = { message: { id, source, destination, text: '', parts: 0, partsTotal, at }, texts: [] };
        open.set(key, entry);
        messages.push(entry.message);
      }
      entry.texts[concatenation.part - 1] = text;
      entry.message.parts += 1;
      entry.message.text = Array.from(entry.texts, (part) => part ?? '').join('');
    }
    return messages;
  }

  #count(pdu: ShortMessagePdu): void {
    const concatenation = (pdu.esmClass & udhIndicator) === 0 ? undefined : bodyOf(pdu).concatenation;
    if (!concatenation || concatenation.total < 2) {
      this.#messages += 1;
      return;
    }
    const key = keyOf(pdu, concatenation);
    const missing = this.#partsMissing.get(key);
    if (missing === undefined) {
      this.#messages += 1;
      if (this.#partsMissing.size >= limits.simulator.partsMax) {
        this.#partsMissing.delete(this.#partsMissing.keys().next().value!);
      }
      this.#partsMissing.set(key, concatenation.total - 1);
    } else if (missing <= 1) this.#partsMissing.delete(key);
    else this.#partsMissing.set(key, missing - 1);
  }
}

/** The part number of a submit of a long message, or 0. */
export function partOf(pdu: ShortMessagePdu): number {
  return (pdu.esmClass & udhIndicator) === 0 ? 0 : (bodyOf(pdu).concatenation?.part ?? 0);
}

export function bodyOf(pdu: ShortMessagePdu): ReturnType<typeof readConcatenation> {
  if ((pdu.esmClass & udhIndicator) === 0) return { concatenation: undefined, body: pdu.octets };
  return readConcatenation(pdu.octets);
}

function keyOf(pdu: ShortMessagePdu, concatenation: { reference: number; total: number }): string {
  return `${pdu.source}>${pdu.destination}>${concatenation.reference}/${concatenation.total}`;
}

const udhIndicator = 0x40;
