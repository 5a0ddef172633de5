// Counts messages by the nonce in their text, `#<base36>#` or `#<base36>@<intended send time, epoch µs, base36>#`, or both in
// letters (`lettersMark`):
// proof at the SMSC peer that no message was lost or sent twice. It reads octets and uses flat arrays, because a bench
// counts a million nonces. Bounded: further ones are counted as dropped.
import type { Shift } from '../../model/text/national-languages.ts';
import { decodeText } from '../../model/text/octets.ts';
import { limits } from '../../platform/limits.ts';
import { LatencyHistogram } from './latency-histogram.ts';

export class Nonces {
  /** Arrival − intended send time of each nonce's first submit. */
  readonly sinceIntended = new LatencyHistogram();
  readonly #slots = new Map<number, number>();
  #firstAtUs = new Float64Array(1_024);
  #counts = new Uint16Array(1_024);
  #submits = 0;
  #duplicated = 0;
  #dropped = 0;

  /**
   * Finds and counts the nonce in a text's octets (without header). `atUs` is the arrival, epoch µs; `shift` has the
   * header's tables. Returns the intended send time at the nonce's first submit, else 0.
   */
  count(octets: Buffer, dataCoding: number, atUs: number, shift?: Shift): number {
    const ascii = asciiOf(octets, dataCoding, shift);
    for (let at = ascii.indexOf(hash); at >= 0; at = ascii.indexOf(hash, at + 1)) {
      const found = readMark(ascii, at + 1);
      if (!found) continue;
      return this.#add(found.nonce, found.intendedUs, atUs) ? found.intendedUs : 0;
    }
    return 0;
  }

  totals(): { distinct: number; submits: number; duplicated: number; dropped: number } {
    const distinct = this.#slots.size;
    return { distinct, submits: this.#submits, duplicated: this.#duplicated, dropped: this.#dropped };
  }

  /** How often this nonce arrived. */
  countOf(nonce: number): number {
    const slot = this.#slots.get(nonce);
    return slot === undefined ? 0 : this.#counts[slot]!;
  }

  /** Nonces that arrived more than once, at most `max`. */
  duplicates(max: number): { nonce: string; count: number }[] {
    const list: { nonce: string; count: number }[] = [];
    for (const [nonce, slot] of this.#slots) {
      if (this.#counts[slot]! > 1) list.push({ nonce: nonce.toString(36), count: this.#counts[slot]! });
      if (list.length >= max) break;
    }
    return list;
  }

  /** All nonces, 24 octets each, little endian: nonce f64, first arrival in epoch µs f64, count f64. */
  toBinary(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#slots.size * 24);
    let at = 0;
    for (const [nonce, slot] of this.#slots) {
      at = bytes.writeDoubleLE(nonce, at);
      at = bytes.writeDoubleLE(this.#firstAtUs[slot]!, at);
      at = bytes.writeDoubleLE(this.#counts[slot]!, at);
    }
    return bytes;
  }

  /** True for a new nonce. */
  #add(nonce: number, intendedUs: number, atUs: number): boolean {
    this.#submits += 1;
    const known = this.#slots.get(nonce);
    if (known !== undefined) {
      if (this.#counts[known] === 1) this.#duplicated += 1;
      if (this.#counts[known]! < 65_535) this.#counts[known]! += 1;
      return false;
    }
    const slot = this.#slots.size;
    if (slot >= limits.simulator.noncesMax) {
      this.#dropped += 1;
      return false;
    }
    if (slot === this.#counts.length) this.#grow();
    this.#slots.set(nonce, slot);
    this.#counts[slot] = 1;
    this.#firstAtUs[slot] = atUs;
    if (intendedUs > 0) this.sinceIntended.add(atUs - intendedUs);
    return true;
  }

  #grow(): void {
    const [counts, firstAtUs] = [this.#counts, this.#firstAtUs];
    this.#counts = new Uint16Array(counts.length * 2);
    this.#counts.set(counts);
    this.#firstAtUs = new Float64Array(firstAtUs.length * 2);
    this.#firstAtUs.set(firstAtUs);
  }
}

const [hash, equals, dash] = [0x23, 0x3d, 0x2d];
const [lettersMax, base36Max] = [11, 10];

/** `#=<nonce>-<time>#`, both in letters: where a text may have no long numbers, such as the brand of a one-time password. */
export function lettersMark(nonce: number, intendedUs: number): string {
  return `#=${lettersOf(nonce)}-${lettersOf(intendedUs)}#`;
}

function lettersOf(value: number): string {
  const rest = Math.floor(value / 26);
  return `${rest > 0 ? lettersOf(rest) : ''}${String.fromCharCode(0x61 + (value % 26))}`;
}

/** The number that `lettersMark` wrote. */
export function numberOfLetters(letters: string): number {
  return [...letters].reduce((value, letter) => value * 26 + letter.charCodeAt(0) - 0x61, 0);
}

// The default alphabet has digits, letters and # at their ASCII positions; national tables may not.
function asciiOf(octets: Buffer, dataCoding: number, shift: Shift | undefined): Buffer {
  if (dataCoding === 8) return Buffer.from(decodeText(octets, 8), 'latin1');
  return shift === undefined ? octets : Buffer.from(decodeText(octets, 0, shift), 'latin1');
}

/** Reads `nonce#`, `nonce@time#` or `=nonce-time#` at `at`; each at most ten base-36 digits or eleven letters, which a number holds exactly. */
function readMark(octets: Buffer, at: number): { nonce: number; intendedUs: number } | undefined {
  let value = 0;
  let digits = 0;
  let nonce = -1;
  const inLetters = octets[at] === equals;
  const [base, digitsMax] = inLetters ? [26, lettersMax] : [36, base36Max];
  for (let index = inLetters ? at + 1 : at; index < octets.length; index += 1) {
    const octet = octets[index]!;
    const digit = inLetters ? letter(octet) : base36(octet);
    if (digit >= 0) {
      digits += 1;
      if (digits > digitsMax) return undefined;
      value = value * base + digit;
    } else if (digits > 0 && octet === hash) {
      return nonce < 0 ? { nonce: value, intendedUs: 0 } : { nonce, intendedUs: value };
    } else if (digits > 0 && nonce < 0 && (inLetters ? octet === dash : octet === 0x40 || octet === 0x00)) {
      // The @ is 0x00 in the GSM alphabet.
      nonce = value;
      value = 0;
      digits = 0;
    } else return undefined;
  }
  return undefined;
}

const letter = (octet: number): number => (octet >= 0x61 && octet <= 0x7a ? octet - 0x61 : -1);

function base36(octet: number): number {
  if (octet >= 0x30 && octet <= 0x39) return octet - 0x30;
  if (octet >= 0x61 && octet <= 0x7a) return octet - 0x61 + 10;
  if (octet >= 0x41 && octet <= 0x5a) return octet - 0x41 + 10;
  return -1;
}
