// The id a carrier gives a segment in submit_sm_resp and repeats in its receipt (SMPP 3.4, 5.2.23), often in another
// form: hexadecimal in one and decimal in the other, padded, in the other case, beyond 2^53. Pure; the caller finds the
// segment.

/** How a receipt's id must be read to equal the response's. */
export type IdReading = 'raw' | 'decimal' | 'hex';

/**
 * Lower case, no 0x, no leading zeros: equal for all spellings of one id in one base. The event store makes the same
 * (analytics/schema/012-submit-rows.sql), so the white space around it is that of RE2's `\s`, not that of `trim`.
 */
export function canonical(id: string): string {
  return id
    .replaceAll(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, '')
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
