// Packs septets into octets (3GPP TS 23.038 §6.1.2.1), for carriers that require it of the client. Septets start on a
// septet boundary after a user data header, hence the fill bits. Pure; it knows no characters.

const carriageReturn = 0x0d;

/** Eight septets into seven octets, after `fillBits` (0..6) zero bits. Input: one septet per octet. */
export function packSeptets(septets: Uint8Array, fillBits = 0): Buffer {
  const bits = fillBits + septets.length * 7;
  const octets = Buffer.alloc(Math.ceil(bits / 8));
  let at = fillBits;
  for (const septet of septets) {
    putSeptet(octets, at, septet);
    at += 7;
  }
  // Seven unused bits would read as one more septet, an @: they hold a carriage return (§6.1.2.3.1).
  if (octets.length * 8 - at === 7) putSeptet(octets, at, carriageReturn);
  return octets;
}

/** The septets of packed octets, one per octet; a carriage return that only fills the last octet is dropped. */
export function unpackSeptets(octets: Uint8Array, fillBits = 0): Buffer {
  const count = Math.max(0, Math.floor((octets.length * 8 - fillBits) / 7));
  const septets = Buffer.alloc(count);
  for (let index = 0; index < count; index += 1) {
    const at = fillBits + index * 7;
    const pair = octets[at >> 3]! | ((octets[(at >> 3) + 1] ?? 0) << 8);
    septets[index] = (pair >> (at & 7)) & 0x7f;
  }
  const endsOnOctet = (fillBits + count * 7) % 8 === 0;
  return endsOnOctet && septets[count - 1] === carriageReturn ? septets.subarray(0, count - 1) : septets;
}

/** Zero bits between a header of this many octets and the first septet after it. */
export function fillBitsAfter(headerOctets: number): number {
  return (7 - ((headerOctets * 8) % 7)) % 7;
}

function putSeptet(octets: Buffer, at: number, septet: number): void {
  const shifted = (septet & 0x7f) << (at & 7);
  octets[at >> 3]! |= shifted & 0xff;
  if (shifted > 0xff) octets[(at >> 3) + 1]! |= shifted >> 8;
}
