// However a stream is divided into chunks, the same PDUs are returned; and invalid lengths end the session.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CloseSession } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { Framer } from '../../smpp/framing.ts';

function frame(size: number, fill = 0x61): Buffer {
  const bytes = Buffer.alloc(size, fill);
  bytes.writeUInt32BE(size, 0);
  return bytes;
}

function framesOf(chunks: Buffer[]): Buffer[] {
  const frames: Buffer[] = [];
  const framer = new Framer((buffer, start, end) => frames.push(Buffer.from(buffer.subarray(start, end))));
  for (const chunk of chunks) framer.push(chunk);
  return frames;
}

function header(size: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32BE(size, 0);
  return bytes;
}

describe('framing', () => {
  test('returns the same PDUs however the stream is cut', () => {
    const sizes = fc.array(fc.integer({ min: 16, max: 400 }), { maxLength: 12 });
    const cuts = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(sizes, cuts, (wanted, pieces) => {
        const frames = wanted.map((size, index) => frame(size, index + 1));
        const stream = Buffer.concat(frames);
        const chunks: Buffer[] = [];
        for (let at = 0, turn = 0; at < stream.length; turn += 1) {
          const size = pieces[turn % pieces.length]!;
          chunks.push(stream.subarray(at, at + size));
          at += size;
        }
        expect(framesOf(chunks)).toEqual(frames);
      }),
    );
  });

  test('takes one byte at a time', () => {
    const stream = Buffer.concat([frame(16), frame(limits.smpp.pduBytesMax), frame(17)]);
    const chunks = Array.from(stream, (_, index) => stream.subarray(index, index + 1));
    expect(framesOf(chunks).map((bytes) => bytes.length)).toEqual([16, limits.smpp.pduBytesMax, 17]);
  });

  test.each([0, 3, 15, limits.smpp.pduBytesMax + 1, 1_000_000_000, 0xffffffff])('refuses a length of %i', (size) => {
    expect(() => framesOf([header(size)])).toThrow(CloseSession);
    expect(() => framesOf([frame(16), header(size)])).toThrow(CloseSession);
    const bytes = header(size);
    expect(() => framesOf(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))).toThrow(CloseSession);
  });

  test.each([16, limits.smpp.pduBytesMax])('takes a length of %i', (size) => {
    expect(framesOf([frame(size)])[0]?.length).toBe(size);
  });
});
