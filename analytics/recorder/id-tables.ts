// Two open-addressing tables of numbers by 64 bits of an id. When the younger is full the older is cleared, and everything
// since `coversFromMs` is in them. What an entry holds beyond its id is its owner's.
import { assert } from '../../platform/assert.ts';

type Table = { readonly words: Uint32Array; size: number; readonly sinceMs: number };

const fullAt = 0.6;

export class IdTables {
  readonly #wordsEach: number;
  readonly #mask: number;
  readonly #sizeMax: number;
  #young: Table;
  #old: Table;

  /** `slots` in each table, of `wordsEach` words: the first two are those of the id. */
  constructor(coversFromMs: number, slots: number, wordsEach: number) {
    assert((slots & (slots - 1)) === 0, 'the number of slots is a power of two');
    this.#wordsEach = wordsEach;
    this.#mask = slots - 1;
    this.#sizeMax = Math.floor(slots * fullAt);
    this.#young = { words: new Uint32Array(slots * wordsEach), size: 0, sinceMs: coversFromMs };
    this.#old = { words: new Uint32Array(slots * wordsEach), size: 0, sinceMs: coversFromMs };
  }

  get coversFromMs(): number {
    return this.#old.sinceMs;
  }

  get isFull(): boolean {
    return this.#young.size >= this.#sizeMax;
  }

  get young(): Uint32Array {
    return this.#young.words;
  }

  get old(): Uint32Array {
    return this.#old.words;
  }

  /** The index of the entry's words in one of the tables, or the complement of the index at which to insert them. */
  find(words: Uint32Array, high: number, low: number): number {
    let slot = (low ^ (high >>> 7)) & this.#mask;
    for (;;) {
      const at = slot * this.#wordsEach;
      if (words[at + 1] === 0) return ~at;
      if (words[at + 1] === low && words[at] === high) return at;
      slot = (slot + 1) & this.#mask;
    }
  }

  /** A new entry of the younger table. `low` is not 0, which marks an empty slot. */
  insert(at: number, high: number, low: number): void {
    this.#young.words[at] = high;
    this.#young.words[at + 1] = low;
    this.#young.size += 1;
  }

  /** Forgets the older table. `nowMs` never decreases. */
  turn(nowMs: number): void {
    const { words } = this.#old;
    this.#old = this.#young;
    words.fill(0);
    this.#young = { words, size: 0, sinceMs: nowMs + 1 };
  }
}
