// The rates of one ingress process, in memory shared by its threads: a limit counts over all of them, whichever
// thread got the connection. An entry is a fingerprint of its name and one time (gcra.ts), both changed by
// compare-and-exchange, so no thread waits for another. Nodes do not share it: behind a load balancer each node
// grants the whole rate, as docs/operations says.
import { hash } from 'node:crypto';
import { limits } from '../../../platform/limits.ts';
import { type Pace, type RateVerdict, paceOf, spentTurns, takeTurn } from '../../../platform/gcra.ts';

const slotsMax = limits.access.ratesMax;
/** Looked at before a name counts as having no place. */
const probesMax = 64;
const triesMax = 16;

/** Two words of 64 bits for each place. */
export function newRateMemory(slots: number = slotsMax): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * 16);
}

/** Shared by all whose name finds no place: a table that is full must not switch rates off. */
const overflow = paceOf(limits.access.overflowPerSecond, 1_000_000, limits.access.overflowPerSecond);

type Place = { readonly slot: number; readonly print: bigint };

export class RateTable {
  readonly #words: BigInt64Array;
  /** The last place is that of the overflow. */
  readonly #slots: number;
  /** Where a name lies: hashing it for every request would cost more than the rest. Bounded by the table. */
  readonly #placeOf = new Map<string, Place>();

  constructor(memory: SharedArrayBuffer) {
    this.#words = new BigInt64Array(memory);
    this.#slots = this.#words.length / 2 - 1;
  }

  /** Takes turns under a name. Null: so many threads took some at the same moment that it is not known. */
  take(name: string, pace: Pace, nowUs: number, turns = 1): RateVerdict | null {
    const slot = this.#slotOf(name, nowUs);
    if (slot === null) return this.#takeAt(this.#slots, overflow, nowUs, turns);
    return this.#takeAt(slot, pace, nowUs, turns);
  }

  /** What a turn would come to, without taking it. */
  look(name: string, pace: Pace, nowUs: number): RateVerdict | null {
    const slot = this.#slotOf(name, nowUs);
    const [at, of] = slot === null ? [this.#slots, overflow] : [slot, pace];
    return takeTurn(of, Number(Atomics.load(this.#words, at * 2 + 1)), nowUs);
  }

  #takeAt(slot: number, pace: Pace, nowUs: number, turns: number): RateVerdict | null {
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

  /** Uses several turns at once for what has happened already: never refused, at most all that are left. */
  spend(name: string, pace: Pace, nowUs: number, turns: number): void {
    const slot = this.#slotOf(name, nowUs);
    const [at, of] = slot === null ? [this.#slots * 2 + 1, overflow] : [slot * 2 + 1, pace];
    for (let tries = 0; tries < triesMax; tries += 1) {
      const held = Atomics.load(this.#words, at);
      const next = BigInt(Math.ceil(spentTurns(of, Number(held), nowUs, turns)));
      if (Atomics.compareExchange(this.#words, at, held, next) === held) return;
    }
  }

  #slotOf(name: string, nowUs: number): number | null {
    const known = this.#placeOf.get(name);
    // Another name may have it by now.
    if (known !== undefined && Atomics.load(this.#words, known.slot * 2) === known.print) return known.slot;
    const print = fingerprintOf(name);
    const slot = this.#own(print) ?? this.#rested(print, nowUs);
    if (slot === null) return null;
    if (this.#placeOf.size >= this.#slots) this.#placeOf.clear();
    this.#placeOf.set(name, { slot, print });
    return slot;
  }

  /** The place it has, or the first empty one. */
  #own(print: bigint): number | null {
    for (const slot of this.#probes(print)) {
      const held = Atomics.compareExchange(this.#words, slot * 2, 0n, print);
      if (held === 0n || held === print) return slot;
    }
    return null;
  }

  /** A place whose whole burst is there again says nothing that an empty one does not: it is given to another name. */
  #rested(print: bigint, nowUs: number): number | null {
    for (const slot of this.#probes(print)) {
      const held = Atomics.load(this.#words, slot * 2);
      if (Number(Atomics.load(this.#words, slot * 2 + 1)) > nowUs) continue;
      if (Atomics.compareExchange(this.#words, slot * 2, held, print) === held) return slot;
    }
    return null;
  }

  *#probes(print: bigint): Generator<number> {
    const first = Number(BigInt.asUintN(32, print)) % this.#slots;
    for (let probe = 0; probe < Math.min(probesMax, this.#slots); probe += 1) yield (first + probe) % this.#slots;
  }
}

/** 64 bits of SHA-256, never 0: that is an empty place. */
function fingerprintOf(name: string): bigint {
  const print = hash('sha256', name, 'buffer').readBigInt64LE(0);
  return print === 0n ? 1n : print;
}
