// Values under numbers that count up, most of which are taken out soon after: requests that wait for their answers. A ring,
// because V8 makes a new table for a Map after every few entries that come and go, and each table stays in the heap until the
// old generation is collected, however briefly the entries were there (docs/decisions/0242).

/** Entries for which there is room at first, and again when it is empty. A power of two, as every later room. */
const roomUsual = 64;
/** A ring that became larger gives its room back when it is empty. */
const roomKeptMax = 16_384;

/**
 * The room is what lies between the oldest and the newest entry: who keeps an entry for long adds it again now and then.
 * ```ts
 * const waiting = new TokenRing<Request>();
 * const token = waiting.add(request); // 1, 2, 3, …
 * waiting.get(token); // request
 * waiting.delete(token); // true; false when it is not there
 * ```
 */
export class TokenRing<T extends object> {
  #slots: (T | undefined)[] = emptySlots(roomUsual);
  /** No entry has a lower token. */
  #first = 1;
  #next = 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(value: T): number {
    if (this.#next - this.#first === this.#slots.length) this.#grow();
    const token = this.#next;
    this.#next += 1;
    this.#slots[this.#at(token)] = value;
    this.#size += 1;
    return token;
  }

  get(token: number): T | undefined {
    return token >= this.#first && token < this.#next ? this.#slots[this.#at(token)] : undefined;
  }

  delete(token: number): boolean {
    if (this.get(token) === undefined) return false;
    this.#slots[this.#at(token)] = undefined;
    this.#size -= 1;
    if (this.#size === 0) this.#first = this.#next;
    else while (this.#slots[this.#at(this.#first)] === undefined) this.#first += 1;
    if (this.#size === 0 && this.#slots.length > roomKeptMax) this.#slots = emptySlots(roomUsual);
    return true;
  }

  /** Those that are there now, the oldest first; one that is deleted meanwhile is left out. */
  *entries(): Generator<readonly [token: number, value: T]> {
    const end = this.#next;
    for (let token = this.#first; token < end; token += 1) {
      const value = this.get(token);
      if (value !== undefined) yield [token, value];
    }
  }

  #at(token: number): number {
    return token % this.#slots.length;
  }

  #grow(): void {
    const before = [...this.entries()];
    this.#slots = emptySlots(this.#slots.length * 2);
    for (const [token, value] of before) this.#slots[this.#at(token)] = value;
  }
}

function emptySlots<T>(room: number): (T | undefined)[] {
  return new Array<T | undefined>(room).fill(undefined);
}
