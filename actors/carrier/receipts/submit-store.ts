// Submitted segments packed into octets: what their receipts' events will need, at a fifth of the memory that objects
// take, and nothing of it for the garbage collector to walk. They are written into chunks one after the other; a chunk
// is given back when nothing in it is wanted any more, and the oldest one is taken when there is no room, with
// whatever is in it. It never holds more than its chunks.
import { Packr } from 'msgpackr';
import type { DeliveryEvent, EventContext } from '../../../model/delivery-event.ts';
import { type Category, categories } from '../../../model/message.ts';
import { assert } from '../../../platform/assert.ts';
import { limits } from '../../../platform/limits.ts';

/** What is known of a submitted segment: enough to write the event that its receipt becomes. */
/** `atMs`: when it was answered, or given up as unknown. */
export type Submitted = EventContext & Pick<DeliveryEvent, 'attempt' | 'segment' | 'carrierMessageId' | 'atMs'>;

type Chunk = { readonly octets: Buffer; used: number; wanted: number };

const packr = new Packr({ useRecords: false });
const lengthBytes = 2;

export class SubmitStore {
  readonly #chunkBytes: number;
  readonly #chunks: (Chunk | null)[];
  /** Places of the chunks in use, oldest first; the last one is being written. */
  readonly #order: number[] = [];
  #spare: Buffer | null = null;
  readonly #onLost: (submitted: Submitted, place: number) => void;

  /** `onLost`: a chunk had to make room. Called for everything that was ever put into it, wanted or not. */
  constructor(
    onLost: (submitted: Submitted, place: number) => void,
    { chunkBytes, chunksMax }: { chunkBytes: number; chunksMax: number } = limits.carrier.outstandingMemory,
  ) {
    this.#onLost = onLost;
    this.#chunkBytes = chunkBytes;
    this.#chunks = Array.from({ length: chunksMax }, () => null);
  }

  /** Octets held in memory, used or not. */
  get bytes(): number {
    return (this.#order.length + (this.#spare === null ? 0 : 1)) * this.#chunkBytes;
  }

  /** Where it is from now on: a small integer. */
  put(submitted: Submitted): number {
    const packed = packr.pack(positionsOf(submitted));
    const size = lengthBytes + packed.length;
    assert(size <= this.#chunkBytes, 'a submitted segment is larger than a chunk');
    let at = this.#order.at(-1) ?? -1;
    let chunk = this.#chunks[at] ?? null;
    if (chunk === null || chunk.used + size > this.#chunkBytes) {
      at = this.#open();
      chunk = this.#chunks[at] as Chunk;
    }
    const offset = chunk.used;
    chunk.octets.writeUInt16LE(packed.length, offset);
    chunk.octets.set(packed, offset + lengthBytes);
    chunk.used += size;
    chunk.wanted += 1;
    return at * this.#chunkBytes + offset;
  }

  /** `place` is one that `put` gave and nobody dropped. */
  read(place: number): Submitted {
    const chunk = this.#chunks[Math.floor(place / this.#chunkBytes)];
    assert(chunk, 'a submitted segment was read that is not there any more');
    return readAt(chunk, place % this.#chunkBytes).submitted;
  }

  /** It is not wanted any more. */
  drop(place: number): void {
    const at = Math.floor(place / this.#chunkBytes);
    const chunk = this.#chunks[at];
    assert(chunk && chunk.wanted > 0, 'a submitted segment was dropped twice');
    chunk.wanted -= 1;
    this.#free(at);
  }

  #open(): number {
    let at = this.#chunks.indexOf(null);
    if (at < 0) {
      at = this.#order[0] as number;
      this.#lose(at);
    }
    this.#chunks[at] = { octets: this.#spare ?? Buffer.allocUnsafeSlow(this.#chunkBytes), used: 0, wanted: 0 };
    this.#spare = null;
    this.#order.push(at);
    return at;
  }

  #lose(at: number): void {
    const chunk = this.#chunks[at] as Chunk;
    this.#order.shift();
    this.#chunks[at] = null;
    this.#spare = chunk.octets;
    for (let offset = 0; offset < chunk.used; ) {
      const { submitted, next } = readAt(chunk, offset);
      this.#onLost(submitted, at * this.#chunkBytes + offset);
      offset = next;
    }
  }

  #free(at: number | undefined): void {
    const chunk = at === undefined ? null : this.#chunks[at];
    if (at === undefined || !chunk || chunk.wanted > 0) return;
    // The one that is being written begins anew.
    if (at === this.#order.at(-1)) return void (chunk.used = 0);
    this.#spare ??= chunk.octets;
    this.#chunks[at] = null;
    this.#order.splice(this.#order.indexOf(at), 1);
  }
}

function readAt({ octets }: Chunk, offset: number): { submitted: Submitted; next: number } {
  const from = offset + lengthBytes;
  const next = from + octets.readUInt16LE(offset);
  return { submitted: submittedOf(packr.unpack(octets.subarray(from, next)) as unknown[]), next };
}

/** In memory only: positions may change with every version. */
function positionsOf(submitted: Submitted): unknown[] {
  return [
    submitted.messageId,
    submitted.accountId,
    submitted.keyId,
    submitted.carrier,
    submitted.hop,
    submitted.attempt,
    submitted.segment,
    submitted.segments,
    submitted.carrierMessageId,
    categories.indexOf(submitted.category),
    submitted.sender,
    submitted.recipient,
    submitted.encoding === 'ucs2',
    submitted.livemode,
    submitted.clientReference,
    submitted.campaignId,
    submitted.variantId,
    submitted.templateId,
    submitted.acceptedAtMs,
    submitted.validUntilMs,
    submitted.scheduledAtMs,
    // Shorter than a time.
    submitted.atMs - submitted.acceptedAtMs,
  ];
}

function submittedOf(at: readonly unknown[]): Submitted {
  return {
    messageId: at[0] as string,
    accountId: at[1] as string,
    keyId: at[2] as string,
    carrier: at[3] as string,
    hop: at[4] as number,
    attempt: at[5] as number,
    segment: at[6] as number,
    segments: at[7] as number,
    carrierMessageId: at[8] as string | null,
    category: categories[at[9] as number] as Category,
    sender: at[10] as string,
    recipient: at[11] as string,
    encoding: at[12] === true ? 'ucs2' : 'gsm7',
    livemode: at[13] as boolean,
    clientReference: at[14] as string | null,
    campaignId: at[15] as string | null,
    variantId: at[16] as string | null,
    templateId: at[17] as string | null,
    acceptedAtMs: at[18] as number,
    validUntilMs: at[19] as number,
    scheduledAtMs: at[20] as number | null,
    atMs: (at[18] as number) + (at[21] as number),
  };
}
