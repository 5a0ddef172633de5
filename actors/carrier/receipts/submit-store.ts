// Submitted segments packed into octets: what the events of their receipts need, at a fifth of the memory of objects
// and without work for the garbage collector. They are written into chunks in sequence; a chunk without live entries is
// freed. When all chunks are used, the one with the fewest live octets is compacted; when each is nearly full of live
// entries, the oldest is dropped with its content.
import type { EventId } from '../../../model/ids.ts';
import { packEvent, unpackEvent } from '../../../model/records/event-record.ts';
import { assert } from '../../../platform/assert.ts';
import { limits } from '../../../platform/limits.ts';
import type { Submitted } from '../in-flight/facts.ts';

type Chunk = { readonly octets: Buffer; used: number; wanted: number; wantedBytes: number };

const lengthBytes = 2;
/** In the length of a dropped entry. */
const droppedBit = 0x8000;
/** Compacting must free this share of a chunk: it copies at most seven octets for each that it frees. */
const wonShareMin = 1 / 8;
/** Fields that the event of its receipt does not need, in their shortest form. */
const ofEverySubmit = { eventId: '' as EventId, kind: 'submitted', error: null, epoch: 0 } as const;

export class SubmitStore {
  readonly #chunkBytes: number;
  readonly #chunks: (Chunk | null)[];
  /** The chunks in use, oldest first; the last one is being written. */
  readonly #order: number[] = [];
  #spare: Buffer | null = null;
  readonly #onLost: (submitted: Submitted, place: number) => void;
  readonly #onMoved: (submitted: Submitted, from: number, to: number) => void;

  /** `onLost`: it was dropped to free memory. `onMoved`: it is at another position from now on. */
  constructor(
    onLost: (submitted: Submitted, place: number) => void,
    onMoved: (submitted: Submitted, from: number, to: number) => void,
    { chunkBytes, chunksMax }: { chunkBytes: number; chunksMax: number } = limits.carrier.outstandingMemory,
  ) {
    this.#onLost = onLost;
    this.#onMoved = onMoved;
    this.#chunkBytes = chunkBytes;
    this.#chunks = Array.from({ length: chunksMax }, () => null);
  }

  /** Octets allocated, used or not. */
  get bytes(): number {
    return (this.#order.length + (this.#spare === null ? 0 : 1)) * this.#chunkBytes;
  }

  /** Returns its position until it is moved: a small integer. */
  put(submitted: Submitted): number {
    const packed = packEvent({ ...submitted, ...ofEverySubmit });
    const size = lengthBytes + packed.length;
    assert(size <= this.#chunkBytes && packed.length < droppedBit, 'a submitted segment is larger than a chunk');
    let at = this.#order.at(-1) ?? -1;
    let chunk = this.#chunks[at] ?? null;
    if (chunk === null || chunk.used + size > this.#chunkBytes) {
      at = this.#open(size);
      chunk = this.#chunks[at] as Chunk;
    }
    const offset = chunk.used;
    chunk.octets.writeUInt16LE(packed.length, offset);
    chunk.octets.set(packed, offset + lengthBytes);
    chunk.used += size;
    chunk.wanted += 1;
    chunk.wantedBytes += size;
    return at * this.#chunkBytes + offset;
  }

  /** `place`: returned by `put`, and not dropped. */
  read(place: number): Submitted {
    const chunk = this.#chunks[Math.floor(place / this.#chunkBytes)];
    assert(chunk, 'a submitted segment was read that is not there any more');
    return readAt(chunk, place % this.#chunkBytes);
  }

  /** It is not needed any more. */
  drop(place: number): void {
    const at = Math.floor(place / this.#chunkBytes);
    const chunk = this.#chunks[at];
    const offset = place % this.#chunkBytes;
    const length = chunk?.octets.readUInt16LE(offset) ?? 0;
    assert(chunk && chunk.wanted > 0 && length < droppedBit, 'a submitted segment was dropped twice');
    chunk.octets.writeUInt16LE(length | droppedBit, offset);
    chunk.wanted -= 1;
    chunk.wantedBytes -= lengthBytes + length;
    this.#free(at);
  }

  /** The chunk to write to from now on, with room for `size`. */
  #open(size: number): number {
    let at = this.#chunks.indexOf(null);
    if (at < 0) {
      const compacted = this.#compact(size);
      if (compacted !== null) return compacted;
      at = this.#order[0] as number;
      this.#lose(at);
    }
    const octets = this.#spare ?? Buffer.allocUnsafeSlow(this.#chunkBytes);
    this.#chunks[at] = { octets, used: 0, wanted: 0, wantedBytes: 0 };
    this.#spare = null;
    this.#order.push(at);
    return at;
  }

  /** Moves the live entries to the beginning of their chunk, which becomes the newest. Null: none frees enough. */
  #compact(size: number): number | null {
    const least = this.#order.reduce((one, other) => (this.#wantedBytes(other) < this.#wantedBytes(one) ? other : one));
    const won = this.#chunkBytes - this.#wantedBytes(least);
    if (won < Math.max(size, this.#chunkBytes * wonShareMin)) return null;
    const chunk = this.#chunks[least] as Chunk;
    let used = 0;
    for (const { offset, end } of wantedIn(chunk)) {
      chunk.octets.copyWithin(used, offset, end);
      const base = least * this.#chunkBytes;
      if (used !== offset) this.#onMoved(readAt(chunk, used), base + offset, base + used);
      used += end - offset;
    }
    chunk.used = used;
    this.#order.splice(this.#order.indexOf(least), 1);
    this.#order.push(least);
    return least;
  }

  #wantedBytes(at: number): number {
    return this.#chunks[at]?.wantedBytes ?? 0;
  }

  #lose(at: number): void {
    const chunk = this.#chunks[at] as Chunk;
    this.#order.shift();
    this.#chunks[at] = null;
    this.#spare = chunk.octets;
    for (const { offset } of wantedIn(chunk)) this.#onLost(readAt(chunk, offset), at * this.#chunkBytes + offset);
  }

  #free(at: number): void {
    const chunk = this.#chunks[at];
    if (!chunk || chunk.wanted > 0) return;
    // The chunk being written starts over.
    if (at === this.#order.at(-1)) return void (chunk.used = 0);
    this.#spare ??= chunk.octets;
    this.#chunks[at] = null;
    this.#order.splice(this.#order.indexOf(at), 1);
  }
}

function readAt({ octets }: Chunk, offset: number): Submitted {
  const from = offset + lengthBytes;
  return unpackEvent(octets.subarray(from, from + octets.readUInt16LE(offset)));
}

/** The live entries in order; the caller may move one to a position before the next. */
function* wantedIn({ octets, used }: Chunk): Iterable<{ readonly offset: number; readonly end: number }> {
  for (let offset = 0; offset < used; ) {
    const length = octets.readUInt16LE(offset);
    const end = offset + lengthBytes + (length & ~droppedBit);
    if (length < droppedBit) yield { offset, end };
    offset = end;
  }
}
