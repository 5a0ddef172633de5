// The id a carrier gives a segment in submit_sm_resp and repeats in its receipt, often in another form: hexadecimal
// here and decimal there, padded, in the other case, beyond 2^53. Pure; what an id belongs to is for those who ask.

/** How a receipt's id must be read to become the response's. */
export type IdReading = 'raw' | 'decimal' | 'hex';

/** Lower case, no 0x, no leading zeros: equal for every way to write the same id in the same base. */
export function canonical(id: string): string {
  return id
    .trim()
    .toLowerCase()
    .replace(/^(0x)?0*(?=.)/, '');
}

/**
 * A receipt's id as the response would have written it. `hex`: the receipt is decimal where the response was
 * hexadecimal; `decimal`: the other way round. Null when the id cannot be read so.
 */
export function readAs(id: string, reading: IdReading): string | null {
  const plain = canonical(id);
  switch (reading) {
    case 'raw':
      return plain;
    case 'hex':
      return /^[0-9]+$/.test(plain) ? BigInt(plain).toString(16) : null;
    case 'decimal':
      return /^[0-9a-f]+$/.test(plain) ? BigInt(`0x${plain}`).toString(10) : null;
  }
}
