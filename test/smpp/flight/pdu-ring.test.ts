// The ring of the flight recorder: after any writes, what is read is whole, in order and the newest.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PduRing, recordHeadBytes, recordKind, sizeOf } from '../../../smpp/flight/pdu-ring.ts';
import { readRecords } from '../../../smpp/flight/records.ts';

const kinds = fc.constantFrom(recordKind.opened, recordKind.sent, recordKind.received, recordKind.closed);
const writes = fc.array(fc.tuple(kinds, fc.uint8Array({ maxLength: 90 })), { minLength: 1, maxLength: 120 });

describe('a ring of octets', () => {
  it('never tears a record, and drops the oldest first and no more than it must', () => {
    fc.assert(
      fc.property(fc.integer({ min: 16, max: 64 }), writes, (eighths, all) => {
        const dropped: string[] = [];
        const ring = new PduRing(eighths * 8, (kind, from, to) => {
          dropped.push(`${kind}:${ring.memory.toString('hex', from, to)}`);
        });
        const written: string[] = [];
        for (const [kind, octets] of all) {
          const source = Buffer.from([1, 2, 3, ...octets, 4]);
          const at = ring.put(kind, written.length + 0.25, source, 3, source.length - 1);
          expect(ring.memory.subarray(at, at + octets.length).equals(octets)).toBe(true);
          written.push(`${kind}:${Buffer.from(octets).toString('hex')}`);
          const { records, next } = ring.read(0, Number.POSITIVE_INFINITY);
          const read = [...readRecords(records)];
          expect([...dropped, ...read.map((each) => `${each.kind}:${each.octets.toString('hex')}`)]).toEqual(written);
          expect(read.map((each) => each.atMs)).toEqual(read.map((_, index) => dropped.length + index + 0.25));
          expect(next).toBe(ring.head);
          expect(ring.head - ring.tail).toBeLessThanOrEqual(ring.memory.length);
        }
        // Half of it is always in use once something was dropped, give or take a record that did not fit at the end.
        if (dropped.length > 0) expect(ring.head - ring.tail).toBeGreaterThan(ring.memory.length - 2 * sizeOf(90));
      }),
      { numRuns: 200 },
    );
  });

  it('is read in pieces without a record missing or repeated, from any position', () => {
    fc.assert(
      fc.property(writes, fc.integer({ min: sizeOf(90), max: 400 }), fc.nat(5_000), (all, bytesMax, somewhere) => {
        const ring = new PduRing(512);
        for (const [kind, octets] of all) ring.put(kind, 0, Buffer.from(octets), 0, octets.length);
        const whole = ring.read(0, Number.POSITIVE_INFINITY).records;
        const pieces: Buffer[] = [];
        for (let from = 0; from < ring.head; ) {
          const part = ring.read(from, bytesMax);
          expect(part.records.length).toBeLessThanOrEqual(bytesMax);
          expect(part.next).toBeGreaterThan(from);
          pieces.push(part.records);
          from = part.next;
        }
        expect(Buffer.concat(pieces).equals(whole)).toBe(true);
        const rest = ring.read(somewhere, Number.POSITIVE_INFINITY).records;
        expect(whole.subarray(whole.length - rest.length).equals(rest)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('returns nothing that was in its memory before', () => {
    const ring = new PduRing(256);
    ring.memory.fill(0xee);
    for (let octets = 0; octets < 40; octets += 1) ring.put(recordKind.sent, 0, Buffer.alloc(octets), 0, octets);
    expect(ring.read(0, 1_000).records.includes(0xee)).toBe(false);
  });

  it('refuses a record larger than itself and keeps its content', () => {
    const ring = new PduRing(64);
    const largest = Buffer.alloc(64 - recordHeadBytes, 7);
    expect(ring.put(recordKind.sent, 1, largest, 0, largest.length)).toBe(recordHeadBytes);
    expect(ring.put(recordKind.sent, 2, Buffer.alloc(largest.length + 1), 0, largest.length + 1)).toBe(-1);
    expect([...readRecords(ring.read(0, 1_000).records)]).toEqual([
      { kind: recordKind.sent, atMs: 1, octets: largest },
    ]);
  });

  it('is read up to the first invalid record when it was truncated or is foreign', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => {
        for (const record of readRecords(Buffer.from(octets))) expect(record.octets.length).toBeLessThan(200);
      }),
    );
  });
});
