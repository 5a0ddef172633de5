// Texts that were noted within the last span, or the last two, each with a number: as RotatingMap, for hundreds of thousands of
// ids. They are kept as 96 bits of hash in arrays of numbers, so that the garbage collector has nothing to mark or to move. Of a
// million texts, two have the same hash with a probability of 10⁻¹⁷.
import { type Clock, systemClock } from './clock.ts';

/** Of an entry: three of its hash, then its number. */
const wordsEach = 4;
const slotsFirst = 1_024;
/** A table has twice as many slots when more than this share of them is taken. */
const fullAt = 0.6;

type Table = { words: Uint32Array; slots: number; size: number };

export class RecentTexts {
  readonly #spanMs: number;
  readonly #perHalfMax: number;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #young = tableOf(slotsFirst);
  #old = tableOf(slotsFirst);
  #turnAtMs: number;

  /** `perHalfMax`: so many texts end a span early. */
  constructor(spanMs: number, perHalfMax: number, clock: Pick<Clock, 'monotonicMs'> = systemClock) {
    this.#spanMs = spanMs;
    this.#perHalfMax = perHalfMax;
    this.#clock = clock;
    this.#turnAtMs = clock.monotonicMs() + spanMs;
  }

  /** The number of a text; 0: it was not noted. */
  get(text: string): number {
    hash(text);
    return valueIn(this.#young) || valueIn(this.#old);
  }

  /** `value`: 1 to 2^32 - 1. It replaces the one that the text has. */
  set(text: string, value: number): void {
    this.#turn();
    hash(text);
    const at = placeIn(this.#young);
    const { words } = this.#young;
    const isNew = words[at + 3] === 0;
    [words[at], words[at + 1], words[at + 2], words[at + 3]] = [hashed.a, hashed.b, hashed.c, value];
    if (!isNew) return;
    this.#young.size += 1;
    if (this.#young.size > this.#young.slots * fullAt) this.#young = grown(this.#young);
  }

  #turn(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#young.size < this.#perHalfMax && nowMs < this.#turnAtMs) return;
    this.#old = this.#young;
    // With room for as many as the last one had.
    this.#young = tableOf(slotsFor(this.#old.size));
    this.#turnAtMs = nowMs + this.#spanMs;
  }
}

/** 32 bits of a text, from 1 on: a number for `set`. */
export function numberOf(text: string): number {
  hash(text);
  return hashed.a || 1;
}

function tableOf(slots: number): Table {
  return { words: new Uint32Array(slots * wordsEach), slots, size: 0 };
}

function slotsFor(texts: number): number {
  return Math.max(slotsFirst, 2 ** Math.ceil(Math.log2(texts / fullAt)));
}

function grown({ words, slots, size }: Table): Table {
  const table = tableOf(slots * 2);
  for (let from = 0; from < words.length; from += wordsEach) {
    if (words[from + 3] === 0) continue;
    const at = free(table, words[from] as number);
    for (let word = 0; word < wordsEach; word += 1) table.words[at + word] = words[from + word] as number;
  }
  table.size = size;
  return table;
}

/** The hash of the text that was hashed last: no object for each. */
const hashed = { a: 0, b: 0, c: 0 };

/** Each step is one-to-one, so that texts with a common end do not come together; then the last step of MurmurHash3. */
function hash(text: string): void {
  let [a, b, c] = [0x9e37_79b1, 0x85eb_ca6b, 0xc2b2_ae35];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x0100_0193);
    b = Math.imul(b ^ code, 0x27d4_eb2f);
    b ^= b >>> 15;
    c = Math.imul(c ^ code, 0x1656_67b1);
    c ^= c >>> 13;
  }
  hashed.a = mixed(a ^ text.length);
  hashed.b = mixed(b ^ a);
  hashed.c = mixed(c ^ b);
}

function mixed(word: number): number {
  let bits = word;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** The index of the hashed text's words, or of free ones. */
function placeIn({ words, slots }: Table): number {
  const { a, b, c } = hashed;
  for (let slot = a & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
    const at = slot * wordsEach;
    if (words[at + 3] === 0 || (words[at] === a && words[at + 1] === b && words[at + 2] === c)) return at;
  }
}

function free({ words, slots }: Table, a: number): number {
  let slot = a & (slots - 1);
  while (words[slot * wordsEach + 3] !== 0) slot = (slot + 1) & (slots - 1);
  return slot * wordsEach;
}

function valueIn(table: Table): number {
  return table.words[placeIn(table) + 3] as number;
}
