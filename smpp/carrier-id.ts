// The message id a carrier gives in submit_sm_resp and repeats in its receipt, often in another form: hex
// here, decimal there, padded, upper or lower case, beyond 2^53. Pure; it knows no carrier and no message.

/** How a carrier writes its ids. `auto` reads what it sees: digits as decimal, hex letters as hex, else raw. */
export type CarrierIdForm = 'raw' | 'decimal' | 'hex' | 'auto';

/** The one form under which a response and its receipt meet: decimal without leading zeros, or raw lower case. */
export function normaliseCarrierId(id: string, form: CarrierIdForm): string {
  const trimmed = id.trim();
  switch (form) {
    case 'raw':
      return trimmed;
    case 'decimal':
      return isDecimal(trimmed) ? withoutLeadingZeros(trimmed) : trimmed.toLowerCase();
    case 'hex':
      return isHex(trimmed) ? decimalOfHex(trimmed) : trimmed.toLowerCase();
    case 'auto':
      return normaliseCarrierId(trimmed, isDecimal(trimmed) ? 'decimal' : 'hex');
  }
}

/**
 * Other readings of an id, most likely first, for a look-up that missed under `auto`: a carrier may answer in hex
 * and report in decimal, and an id without hex letters does not show it. Only for a miss: a reading can be another
 * message's id.
 */
export function otherReadings(id: string): string[] {
  const trimmed = id.trim();
  const usual = normaliseCarrierId(trimmed, 'auto');
  const readings = new Set<string>();
  if (isDecimal(trimmed)) {
    readings.add(BigInt(trimmed).toString(16));
    readings.add(decimalOfHex(trimmed));
  }
  readings.delete(usual);
  return [...readings].map((reading) => normaliseCarrierId(reading, 'raw'));
}

/** What the ids of one carrier show so far: one hex letter settles it, digits alone prove nothing. */
export function learnIdForm(known: 'decimal' | 'hex' | 'raw', id: string): 'decimal' | 'hex' | 'raw' {
  const trimmed = id.trim();
  if (known === 'raw' || !isHex(trimmed)) return 'raw';
  return known === 'hex' || !isDecimal(trimmed) ? 'hex' : 'decimal';
}

const isDecimal = (text: string) => /^\d+$/.test(text);
// Ids of 32 hex digits and more, or with dashes, are UUIDs or hashes: names, not numbers.
const isHex = (text: string) => text.length < 32 && /^(0x)?[\da-f]+$/i.test(text);

function withoutLeadingZeros(digits: string): string {
  return digits.replace(/^0+(?=\d)/, '');
}

function decimalOfHex(text: string): string {
  const digits = /^0x/i.test(text) ? text.slice(2) : text;
  // 13 hex digits are 52 bits: exact as a number, and several times cheaper than a BigInt.
  if (digits.length <= 13) return String(Number.parseInt(digits, 16));
  return BigInt(`0x${digits}`).toString();
}
