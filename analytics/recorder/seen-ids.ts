// Ids of recently recorded events, so that a repeated event is dropped without a query: 64 bits of each id in two tables
// (id-tables.ts). Events before `coversFromMs` must be looked up. Two ids share 64 bits once in 10^13 events.
import { limits } from '../../platform/limits.ts';
import { IdTables } from './id-tables.ts';

export class SeenIds {
  readonly #tables: IdTables;

  /** `coversFromMs`: everything recorded since then will be added; 0 on an empty store. */
  constructor(coversFromMs: number, slots: number = limits.recorder.seenSlotsPerGeneration) {
    this.#tables = new IdTables(coversFromMs, slots, 2);
  }

  /** Everything recorded at or after this time is in the tables. */
  get coversFromMs(): number {
    return this.#tables.coversFromMs;
  }

  /** Adds the id; false when it is known. */
  add(eventId: string): boolean {
    const tables = this.#tables;
    // 12 characters of base64 hold 72 bits; the first 66 are folded into two words.
    const high = wordOf(eventId, 4);
    const low = wordOf(eventId, 10) || 1; // 0 marks an empty slot
    if (tables.find(tables.old, high, low) >= 0) return false;
    const at = tables.find(tables.young, high, low);
    if (at >= 0) return false;
    tables.insert(~at, high, low);
    return true;
  }

  /** Called between batches: forgets the older table when the younger is full. `nowMs` never decreases. */
  turnWhenFull(nowMs: number): void {
    if (this.#tables.isFull) this.#tables.turn(nowMs);
  }
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
