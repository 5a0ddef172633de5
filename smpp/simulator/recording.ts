// The last recordMax accepted submits, for tests and for `GET /messages`: stored as octets, decoded and reassembled
// only on request.
import { limits } from '../../platform/limits.ts';
import type { ShortMessagePdu } from '../pdu.ts';
import { type AlphabetOptions, bodyOf, isPart, plainAlphabet, textOf } from './reading.ts';

export type RecordedMessage = {
  /** The id of the first part, as in its submit_sm_resp. */
  id: string;
  source: string;
  destination: string;
  text: string;
  /** Parts received, and their total. */
  parts: number;
  partsTotal: number;
  /** Wall time of the first part, milliseconds since the epoch. */
  at: number;
  /** The fields of the first part. */
  wire: ReturnType<typeof wireOf>;
};

type Kept = { id: string; pdu: ShortMessagePdu; at: number };

export class Recording {
  readonly #max: number;
  readonly #alphabet: AlphabetOptions;
  readonly #kept: Kept[] = [];
  #next = 0;
  /** Messages: single ones and those of which a part arrived. */
  messages = 0;
  overwritten = 0;
  readonly #partsMissing = new Map<string, number>();

  constructor(max: number, alphabet: AlphabetOptions = plainAlphabet) {
    this.#max = max;
    this.#alphabet = alphabet;
  }

  get kept(): number {
    return this.#kept.length;
  }

  add(id: string, pdu: ShortMessagePdu, at: number): void {
    this.#count(pdu);
    if (this.#max === 0) return;
    const kept = { id, pdu, at };
    if (this.#kept.length < this.#max) this.#kept.push(kept);
    else {
      this.#kept[this.#next] = kept;
      this.#next = (this.#next + 1) % this.#max;
      this.overwritten += 1;
    }
  }

  /** Whether a submit with this id is among those kept. */
  has(id: string): boolean {
    return this.#kept.some((kept) => kept.id === id);
  }

  /** The recorded messages, oldest first. */
  list(filter: { destination?: string } = {}): RecordedMessage[] {
    const messages: RecordedMessage[] = [];
    const open = new Map<string, { message: RecordedMessage; texts: (string | undefined)[] }>();
    for (let index = 0; index < this.#kept.length; index += 1) {
      const { id, pdu, at } = this.#kept[(this.#next + index) % this.#kept.length]!;
      const { source, destination } = pdu;
      if (filter.destination !== undefined && destination !== filter.destination) continue;
      const read = bodyOf(pdu);
      const { concatenation } = read;
      const text = textOf(pdu, read, this.#alphabet);
      const wire = wireOf(pdu);
      if (!concatenation || concatenation.total < 2) {
        messages.push({ id, source, destination, text, parts: 1, partsTotal: 1, at, wire });
        continue;
      }
      const key = keyOf(pdu, concatenation);
      let entry = open.get(key);
      // The same part again under this reference starts another copy.
      if (!entry || entry.texts[concatenation.part - 1] !== undefined) {
        const partsTotal = concatenation.total;
        entry = { message: { id, source, destination, text: '', parts: 0, partsTotal, at, wire }, texts: [] };
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
    const concatenation = isPart(pdu) ? bodyOf(pdu).concatenation : undefined;
    if (!concatenation || concatenation.total < 2) {
      this.messages += 1;
      return;
    }
    const key = keyOf(pdu, concatenation);
    const missing = this.#partsMissing.get(key);
    if (missing === undefined) {
      this.messages += 1;
      if (this.#partsMissing.size >= limits.simulator.partsMax) {
        this.#partsMissing.delete(this.#partsMissing.keys().next().value!);
      }
      this.#partsMissing.set(key, concatenation.total - 1);
    } else if (missing <= 1) this.#partsMissing.delete(key);
    else this.#partsMissing.set(key, missing - 1);
  }
}

/** The fields that a carrier's configuration changes. */
function wireOf(pdu: ShortMessagePdu) {
  return {
    serviceType: pdu.serviceType ?? '',
    sourceTon: pdu.sourceTon,
    sourceNpi: pdu.sourceNpi,
    destinationTon: pdu.destinationTon,
    destinationNpi: pdu.destinationNpi,
    esmClass: pdu.esmClass,
    priority: pdu.priority ?? 0,
    validity: pdu.validity ?? '',
    registeredDelivery: pdu.registeredDelivery,
    dataCoding: pdu.dataCoding,
    /** Length of short_message or message_payload, the header included. */
    octets: pdu.octets.length,
    /** Hexadecimal, by tag in hexadecimal. */
    tlvs: Object.fromEntries((pdu.tlvs ?? []).map(({ tag, value }) => [tag.toString(16), value.toString('hex')])),
  };
}

function keyOf(pdu: ShortMessagePdu, concatenation: { reference: number; total: number }): string {
  return `${pdu.source}>${pdu.destination}>${concatenation.reference}/${concatenation.total}`;
}
