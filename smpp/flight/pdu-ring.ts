// A ring buffer of records in fixed memory: records are contiguous and in order, new ones overwrite the oldest. A
// position is the number of octets ever written before it, so that a reader who returns knows what it missed. It knows
// no PDU: redact.ts masks.
import { assert } from '../../platform/assert.ts';
import type { FlightPiece } from './contract.ts';

export const recordKind = { skip: 0, opened: 1, sent: 2, received: 3, closed: 4 } as const;
export type RecordKind = (typeof recordKind)[keyof typeof recordKind];

/** u32 size of the record with padding · u8 kind, u24 octets · f64 time in milliseconds; little endian. */
export const recordHeadBytes = 16;

export class PduRing {
  readonly memory: Buffer;
  readonly #onDropped: (kind: RecordKind, from: number, to: number) => void;
  #head = 0;
  #tail = 0;

  /** `onDropped` gets each record, its octets in memory[from, to), before it is overwritten. */
  constructor(bytes: number, onDropped: (kind: RecordKind, from: number, to: number) => void = () => {}) {
    assert(bytes % 8 === 0 && bytes >= 64, 'a ring is cut into pieces of eight octets');
    // The kernel allocates pages only when they are written.
    this.memory = Buffer.allocUnsafeSlow(bytes);
    this.#onDropped = onDropped;
  }

  /** Octets ever written: the position of the next record. */
  get head(): number {
    return this.#head;
  }

  /** The position of the oldest record. */
  get tail(): number {
    return this.#tail;
  }

  /** Copies source[start, end) into a new record and returns its index in `memory`; -1 when it does not fit. */
  put(kind: RecordKind, atMs: number, source: Buffer, start: number, end: number): number {
    const { memory } = this;
    const octets = end - start;
    const size = sizeOf(octets);
    if (size > memory.length) return -1;
    let index = this.#head % memory.length;
    const toEnd = memory.length - index;
    if (toEnd < size) {
      this.#makeRoom(toEnd);
      memory.writeUInt32LE(toEnd, index);
      memory.writeUInt32LE(recordKind.skip, index + 4);
      this.#head += toEnd;
      index = 0;
    }
    this.#makeRoom(size);
    // The padding is sent to readers with the record, and this memory may have held other data.
    memory.writeDoubleLE(0, index + size - 8);
    memory.writeUInt32LE(size, index);
    memory.writeUInt32LE((kind | (octets << 8)) >>> 0, index + 4);
    memory.writeDoubleLE(atMs, index + 8);
    this.#head += size;
    const at = index + recordHeadBytes;
    source.copy(memory, at, start, end);
    return at;
  }

  /** The records from `from` on, at most `bytesMax` octets. Any number is a valid position: the next record follows. */
  read(from: number, bytesMax: number): Pick<FlightPiece, 'records' | 'from' | 'next'> {
    const { memory } = this;
    let at = this.#tail;
    while (at < from && at < this.#head) at += memory.readUInt32LE(at % memory.length);
    const first = at;
    // Adjacent records are copied together: at most two runs, whatever their number.
    const runs: Buffer[] = [];
    let [runFrom, runTo, bytes] = [0, 0, 0];
    while (at < this.#head) {
      const index = at % memory.length;
      const size = memory.readUInt32LE(index);
      if (memory[index + 4] !== recordKind.skip) {
        if (bytes + size > bytesMax) break;
        bytes += size;
        if (runTo !== index) {
          runs.push(memory.subarray(runFrom, runTo));
          runFrom = index;
        }
        runTo = index + size;
      }
      at += size;
    }
    runs.push(memory.subarray(runFrom, runTo));
    return { records: Buffer.concat(runs, bytes), from: first, next: at };
  }

  #makeRoom(bytes: number): void {
    const { memory } = this;
    while (this.#head + bytes - this.#tail > memory.length) {
      const index = this.#tail % memory.length;
      const size = memory.readUInt32LE(index);
      const word = memory.readUInt32LE(index + 4);
      const kind = (word & 0xff) as RecordKind;
      const at = index + recordHeadBytes;
      if (kind !== recordKind.skip) this.#onDropped(kind, at, at + (word >>> 8));
      this.#tail += size;
    }
  }
}

export function sizeOf(octets: number): number {
  return (recordHeadBytes + octets + 7) & ~7;
}
