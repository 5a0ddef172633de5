// The user data header (TS 23.040 §9.2.3.24): the concatenation of a long message's parts, and the national tables of a
// GSM-7 text. It writes and reads the 8-bit and the 16-bit reference; unknown elements are skipped, and no length is
// trusted.
import { type Shift, shiftOctets } from './national-languages.ts';

/** Part `part` (from 1) of `total`, of the message with this reference. */
export type Concatenation = { reference: number; referenceBits: 8 | 16; total: number; part: number };

export type UserData = { concatenation: Concatenation | undefined; shift?: Shift | undefined; body: Buffer };

/** Body with a header for the given concatenation and tables (elements 24 and 25). Without both, the body alone. */
export function withHeader(concatenation: Concatenation | null, shift: Shift, body: Buffer): Buffer {
  const tieOctets = concatenation === null ? 0 : concatenation.referenceBits === 16 ? 6 : 5;
  const elementOctets = tieOctets + shiftOctets(shift);
  if (elementOctets === 0) return body;
  const octets = Buffer.allocUnsafe(1 + elementOctets + body.length);
  octets[0] = elementOctets;
  let at = 1;
  if (concatenation !== null) {
    const { reference, referenceBits, total, part } = concatenation;
    const wide = referenceBits === 16;
    octets[at++] = wide ? elementReference16 : elementReference8;
    octets[at++] = wide ? 4 : 3;
    if (wide) octets[at++] = (reference >>> 8) & 0xff;
    octets[at++] = reference & 0xff;
    octets[at++] = total;
    octets[at++] = part;
  }
  if (shift.single !== 0) at = writeTable(octets, at, elementSingleShift, shift.single);
  if (shift.locking !== 0) at = writeTable(octets, at, elementLockingShift, shift.locking);
  body.copy(octets, at);
  return octets;
}

/** Splits a short_message with the UDH indicator into header and body. `shift` is undefined without national tables. */
export function readConcatenation(octets: Buffer): UserData {
  const end = (octets[0] ?? 0) + 1;
  if (octets.length === 0 || end > octets.length) return { concatenation: undefined, body: octets };
  let concatenation: Concatenation | undefined;
  let shift: Shift | undefined;
  for (let at = 1; at + 2 <= end; ) {
    const element = octets[at]!;
    const size = octets[at + 1]!;
    const value = at + 2;
    if (value + size > end) break;
    if (element === elementReference8 && size === 3) {
      const reference = octets[value]!;
      concatenation = { reference, referenceBits: 8, total: octets[value + 1]!, part: octets[value + 2]! };
    } else if (element === elementReference16 && size === 4) {
      const reference = octets.readUInt16BE(value);
      concatenation = { reference, referenceBits: 16, total: octets[value + 2]!, part: octets[value + 3]! };
    } else if (element === elementSingleShift && size === 1) {
      shift = { locking: shift?.locking ?? 0, single: octets[value]! };
    } else if (element === elementLockingShift && size === 1) {
      shift = { locking: octets[value]!, single: shift?.single ?? 0 };
    }
    at = value + size;
  }
  return { concatenation, shift, body: octets.subarray(end) };
}

function writeTable(octets: Buffer, at: number, element: number, language: number): number {
  octets[at] = element;
  octets[at + 1] = 1;
  octets[at + 2] = language;
  return at + 3;
}

const elementReference8 = 0x00;
const elementReference16 = 0x08;
const elementSingleShift = 0x24;
const elementLockingShift = 0x25;
