// Collects octets that arrive in pieces, up to a bound.

/** Null when there are more than `max`; the rest is not read. */
export async function octetsWithin(pieces: AsyncIterable<Uint8Array>, max: number): Promise<Buffer | null> {
  const taken: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > max) return null;
    taken.push(piece);
  }
  return Buffer.concat(taken);
}
