// Ids of recently recorded events, so that a repeated event is dropped without a query: 64 bits of each id in two
// open-addressing tables. When the younger is full the older is cleared, between two batches, and every event since
// `coversFromMs` is in them; older ones must be looked up. Two ids share 64 bits once in 10^13 events.
import { assert } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';

type Generation = { readonly slots: Uint32Array; size: number; sinceMs: number };

const fullAt = 0.6;

export class SeenIds {
  readonly #mask: number;
  readonly #sizeMax: number;
  #young: Generation;
  #old: Generation;

  /** `coversFromMs`: everything recorded since then will be added; 0 on an empty store. */
  constructor(coversFromMs: number, slots: number = limits.recorder.seenSlotsPerGeneration) {
    assert((slots & (slots - 1)) === 0, 'the number of slots is a power of two');
    this.#mask = slots - 1;
    this.#sizeMax = Math.floor(slots * fullAt);
    this.#young = emptyGeneration(slots, coversFromMs);
    this.#old = emptyGeneration(slots, coversFromMs);
  }

  /** Everything recorded at or after this time is in the tables. */
  get coversFromMs(): number {
    return this.#old.sinceMs;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Adds the id; false when it is known. */
  add(eventId: string): boolean {
    // 12 characters of base64 hold 72 bits; the first 66 are folded into two words.
    const high = wordOf(eventId, 4);
    const low = wordOf(eventId, 10) || 1; // 0 marks an empty slot
    if (this.#find(this.#old, high, low) >= 0) return false;
    const slot = this.#find(this.#young, high, low);
    if (slot >= 0) return false;
    this.#young.slots[~slot] = high;
    this.#young.slots[~slot + 1] = low;
    this.#young.size += 1;
    return true;
  }

  /** Called between batches: forgets the older table when the younger is full. `nowMs` never decreases. */
  turnWhenFull(nowMs: number): void {
    if (this.#young.size >= this.#sizeMax) this.#turn(nowMs);
  }

  /** The index of the pair, or the complement of the index at which to insert it. */
  #find(generation: Generation, high: number, low: number): number {
    const slots = generation.slots;
    let slot = (low ^ (high >>> 7)) & this.#mask;
    for (;;) {
      const at = slot * 2;
      if (slots[at + 1] === 0) return ~at;
      if (slots[at + 1] === low && slots[at] === high) return at;
      slot = (slot + 1) & this.#mask;
    }
  }

  #turn(nowMs: number): void {
    const forgotten = this.#old;
    this.#old = this.#young;
    forgotten.slots.fill(0);
    this.#young = { slots: forgotten.slots, size: 0, sinceMs: nowMs + 1 };
  }
}

function emptyGeneration(slots: number, sinceMs: number): Generation {
  return { slots: new Uint32Array(slots * 2), size: 0, sinceMs };
}

const values = new Uint8Array(128);
for (const [value, char] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'].entries()) {
  values[char.charCodeAt(0)] = value;
}

/** 32 bits of the six base64url characters from `at` on. */
function wordOf(eventId: string, at: number): number {
  let word = 0;
  for (let i = at; i < at + 6; i += 1) word = (word << 6) ^ (values[eventId.charCodeAt(i) & 127] as number);
  return word >>> 0;
}
