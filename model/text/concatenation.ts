// The user data header that ties the parts of a long message together (TS 23.040 §9.2.3.24). It writes and
// reads the 8-bit and the 16-bit form of the reference; headers it does not know are stepped over, never trusted for length.

/** Part `part` (from 1) of `total`, of the message called `reference` by its sender. */
export type Concatenation = { reference: number; referenceBits: 8 | 16; total: number; part: number };

/** Body with its header in front: 06 08 04 reference reference total part, or 05 00 03 reference total part. */
export function withConcatenation({ reference, referenceBits, total, part }: Concatenation, body: Buffer): Buffer {
  const wide = referenceBits === 16;
  const headerOctets = wide ? 7 : 6;
  const octets = Buffer.allocUnsafe(headerOctets + body.length);
  octets[0] = headerOctets - 1;
  octets[1] = wide ? elementReference16 : elementReference8;
  octets[2] = headerOctets - 3;
  if (wide) octets[3] = (reference >>> 8) & 0xff;
  octets[headerOctets - 3] = reference & 0xff;
  octets[headerOctets - 2] = total;
  octets[headerOctets - 1] = part;
  body.copy(octets, headerOctets);
  return octets;
}

/** Splits short_message with the UDH indicator set into its concatenation, when it has one, and its body. */
export function readConcatenation(octets: Buffer): { concatenation: Concatenation | undefined; body: Buffer } {
  const end = (octets[0] ?? 0) + 1;
  if (octets.length === 0 || end > octets.length) return { concatenation: undefined, body: octets };
  let concatenation: Concatenation | undefined;
  for (let at = 1; at + 2 <= end; ) {
    const element = octets[at]!;
    const size = octets[at + 1]!;
    const value = at + 2;
    if (value + size > end) break;
    if (element === elementReference8 && size === 3) {
      concatenation = {
        reference: octets[value]!,
        referenceBits: 8,
        total: octets[value + 1]!,
        part: octets[value + 2]!,
      };
    } else if (element === elementReference16 && size === 4) {
      const reference = octets.readUInt16BE(value);
      concatenation = { reference, referenceBits: 16, total: octets[value + 2]!, part: octets[value + 3]! };
    }
    at = value + size;
  }
  return { concatenation, body: octets.subarray(end) };
}

const elementReference8 = 0x00;
const elementReference16 = 0x08;
