// The rates of an ingress process, in memory that its threads share: a limit counts over all of them, whichever
// thread the kernel gave a connection to. Every entry is a fingerprint of its name and one time (gcra.ts); both change
// by compare-and-exchange, so no thread ever waits for another. Other processes and nodes do not share it: behind a
// balancer each node grants the whole rate, which docs/operations says.
import { hash } from 'node:crypto';
import { limits } from '../../../platform/limits.ts';
import { type Pace, type RateVerdict, takeTurn } from './gcra.ts';

const slotsMax = limits.access.ratesMax;
/** Looked at before a name counts as having no place. */
const probesMax = 64;
const triesMax = 16;

/** Two words of 64 bits for each place. */
export function newRateMemory(slots: number = slotsMax): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * 16);
}

export class RateTable {
  readonly #words: BigInt64Array;
  readonly #slots: number;
  /** Where a name lies: hashing it for every request would cost more than the rest. Bounded by the table. */
  readonly #placeOf = new Map<string, number>();

  constructor(memory: SharedArrayBuffer) {
    this.#words = new BigInt64Array(memory);
    this.#slots = this.#words.length / 2;
  }

  /** Takes turns under a name. Null: the table is full, and nobody is refused because of that. */
  take(name: string, pace: Pace, nowUs: number, turns = 1): RateVerdict | null {
    const slot = this.#slotOf(name);
    if (slot === null) return null;
    const at = slot * 2 + 1;
    for (let tries = 0; tries < triesMax; tries += 1) {
      const held = Atomics.load(this.#words, at);
      const verdict = takeTurn(pace, Number(held), nowUs, turns);
      if (!verdict.ok) return verdict;
      const next = BigInt(Math.ceil(verdict.arrivalUs));
      if (Atomics.compareExchange(this.#words, at, held, next) === held) return verdict;
    }
    // As many threads as that took turns in between: this request is one of many, and refusing it would be a lie.
    return null;
  }

  /** What a turn would come to, without taking it. */
  look(name: string, pace: Pace, nowUs: number): RateVerdict | null {
    const slot = this.#slotOf(name);
    return slot === null ? null : takeTurn(pace, Number(Atomics.load(this.#words, slot * 2 + 1)), nowUs);
  }

  #slotOf(name: string): number | null {
    const known = this.#placeOf.get(name);
    if (known !== undefined) return known;
    const print = fingerprintOf(name);
    let slot = Number(BigInt.asUintN(32, print)) % this.#slots;
    for (let probe = 0; probe < probesMax; probe += 1) {
      const held = Atomics.compareExchange(this.#words, slot * 2, 0n, print);
      if (held === 0n || held === print) {
        if (this.#placeOf.size < this.#slots) this.#placeOf.set(name, slot);
        return slot;
      }
      slot = (slot + 1) % this.#slots;
    }
    return null;
  }
}

/** 64 bits of SHA-256, never 0: that is an empty place. */
function fingerprintOf(name: string): bigint {
  const print = hash('sha256', name, 'buffer').readBigInt64LE(0);
  return print === 0n ? 1n : print;
}
