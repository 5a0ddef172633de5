// The lines of a registry file, plain or gzipped, from where an earlier import stopped. It keeps one piece of the file
// in memory; a line longer than any row is reported and not collected.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { SetupError, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';

export type Source = {
  /** Changes with the file: size, modification time, and its first and last bytes. */
  readonly identity: string;
  /** Lines from `offset` of the unpacked text on. An overlong line is truncated. */
  lines(offset: number): AsyncGenerator<SourceLines>;
};

/** Lines come in pieces: one await for thousands of them. */
type SourceLines = {
  readonly lines: readonly string[];
  /** The offset after each line, in the unpacked text. */
  readonly offsets: readonly number[];
  /** The share of the file on disk that was read, for progress. */
  readonly share: number;
};

const { rowBytesMax } = limits.registry;
const pieceBytes = 256 * 1024;
const probeBytes = 64 * 1024;

export async function openSource(file: string): Promise<Source> {
  const { size, identity, isGzip } = await probe(file);
  return {
    identity,
    async *lines(offset) {
      const raw = createReadStream(file, { highWaterMark: pieceBytes, start: isGzip ? 0 : offset });
      const text = isGzip ? raw.pipe(createGunzip({ chunkSize: pieceBytes })) : raw;
      if (isGzip) raw.on('error', (error) => text.destroy(error));
      // A gzipped file has no random access: what was read before is unpacked again and skipped.
      let skip = isGzip ? offset : 0;
      let at = offset;
      let rest = '';
      // Of an overlong line only the beginning is kept.
      let dropped = 0;
      try {
        for await (const piece of text as AsyncIterable<Buffer>) {
          const fresh = skip >= piece.length ? piece.subarray(piece.length) : piece.subarray(skip);
          skip -= piece.length - fresh.length;
          if (fresh.length === 0) continue;
          const cut = cutLines(rest + fresh.toString('latin1'), at, dropped);
          rest = cut.rest;
          at = cut.at;
          if (cut.lines.length > 0) dropped = 0;
          if (rest.length > rowBytesMax) {
            dropped += rest.length - rowBytesMax - 1;
            rest = rest.slice(0, rowBytesMax + 1);
          }
          const read = isGzip ? raw.bytesRead : offset + raw.bytesRead;
          if (cut.lines.length > 0) yield { lines: cut.lines, offsets: cut.offsets, share: read / Math.max(1, size) };
        }
      } catch (error) {
        throw new SetupError(`${file}: cannot be read to its end (${messageOf(error)}); nothing was changed`, error);
      } finally {
        raw.destroy();
      }
      if (rest !== '') yield { lines: [rest], offsets: [at + rest.length + dropped], share: 1 };
    },
  };
}

/** Latin-1 has one character per byte, so offsets are lengths. Rows contain only ASCII anyway. */
function cutLines(text: string, from: number, dropped: number) {
  const lines: string[] = [];
  const offsets: number[] = [];
  let start = 0;
  let base = from;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    lines.push(text.slice(start, text.charCodeAt(end - 1) === 0x0d ? end - 1 : end));
    start = end + 1;
    base = from + dropped;
    offsets.push(base + start);
  }
  return { lines, offsets, rest: text.slice(start), at: base + start };
}

async function probe(file: string): Promise<{ size: number; identity: string; isGzip: boolean }> {
  try {
    const { size, mtimeMs } = await stat(file);
    const handle = await open(file);
    try {
      const first = Buffer.alloc(Math.min(probeBytes, size));
      const last = Buffer.alloc(first.length);
      await handle.read(first, 0, first.length, 0);
      await handle.read(last, 0, last.length, size - last.length);
      const hash = createHash('sha256').update(`${size} ${mtimeMs}`).update(first).update(last).digest('hex');
      return { size, identity: hash, isGzip: first[0] === 0x1f && first[1] === 0x8b };
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new SetupError(`${file}: cannot be read (${messageOf(error)})`, error);
  }
}
