// Cuts the byte stream of one socket into PDUs by command_length. A PDU complete in one chunk is passed on in place;
// one spread over chunks is copied once, into a buffer of its size. An impossible length throws CloseSession, because
// no later PDU can be located.
import { CloseSession } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { readUInt32 } from './codec-hot.ts';

/** Called for each complete PDU in buffer[start, end). The buffer is valid only during the call. */
type OnFrame = (buffer: Buffer, start: number, end: number) => void;

export class Framer {
  readonly #onFrame: OnFrame;
  readonly #lengthBytes = Buffer.alloc(4);
  #lengthFilled = 0;
  #partial: Buffer | undefined;
  #partialFilled = 0;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  /** Takes a chunk of the socket. Throws what onFrame throws, and CloseSession for an impossible length. */
  push(chunk: Buffer): void {
    let at = this.#lengthFilled > 0 || this.#partial ? this.#finish(chunk) : 0;
    while (chunk.length - at >= 4) {
      const size = checkedLength(readUInt32(chunk, at));
      if (chunk.length - at < size) {
        this.#begin(size, chunk, at);
        return;
      }
      this.#onFrame(chunk, at, at + size);
      at += size;
    }
    while (at < chunk.length) this.#lengthBytes[this.#lengthFilled++] = chunk[at++]!;
  }

  #begin(size: number, chunk: Buffer, at: number): void {
    this.#partial = Buffer.allocUnsafe(size);
    this.#partialFilled = chunk.copy(this.#partial, 0, at);
  }

  // Continues the PDU that started in an earlier chunk; returns the octets used.
  #finish(chunk: Buffer): number {
    let at = 0;
    if (!this.#partial) {
      while (this.#lengthFilled < 4 && at < chunk.length) this.#lengthBytes[this.#lengthFilled++] = chunk[at++]!;
      if (this.#lengthFilled < 4) return at;
      const size = checkedLength(readUInt32(this.#lengthBytes, 0));
      this.#begin(size, this.#lengthBytes, 0);
      this.#lengthFilled = 0;
    }
    const partial = this.#partial!;
    const copied = chunk.copy(partial, this.#partialFilled, at);
    this.#partialFilled += copied;
    if (this.#partialFilled === partial.length) {
      this.#partial = undefined;
      this.#onFrame(partial, 0, partial.length);
    }
    return at + copied;
  }
}

function checkedLength(size: number): number {
  if (size >= limits.smpp.pduBytesMin && size <= limits.smpp.pduBytesMax) return size;
  throw new CloseSession(
    `a command_length of ${size} is outside ${limits.smpp.pduBytesMin}..${limits.smpp.pduBytesMax}`,
  );
}
