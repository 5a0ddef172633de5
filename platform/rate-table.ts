// Rates by name in memory that the threads of a process share: an entry is a fingerprint of its name and one time
// (gcra.ts). Nodes count for themselves.
import { hash } from 'node:crypto';
import { type Pace, type RateVerdict, paceOf, spentTurns, takeTurn } from './gcra.ts';
import { limits } from './limits.ts';

const { ratesMax: slotsMax, placesRemembered: placesUsual } = limits.access;
/** Slots probed before a name gets no slot of its own. */
const probesMax = 64;
const triesMax = 16;

/** Two 64-bit words per slot: fingerprint and time. */
export function newRateMemory(slots: number = slotsMax): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * 16);
}

/** The pace shared by all names that get no slot: a full table must not switch rate limits off. */
const overflow = paceOf(limits.access.overflowPerSecond, 1_000_000, limits.access.overflowPerSecond);

type Place = { readonly slot: number; readonly print: bigint };

/** Both words of an entry are changed by compare-and-exchange, so no thread waits for another. */
export class RateTable {
  readonly #words: BigInt64Array;
  /** The last slot is the shared overflow slot. */
  readonly #slots: number;
  /** Name → slot, of some: hashing the name for every request would cost more than the rest. */
  readonly #placeOf = new Map<string, Place>();
  readonly #placesMax: number;

  /** `placesMax`: of so many names the place is remembered, until one more comes. */
  constructor(memory: SharedArrayBuffer, placesMax: number = placesUsual) {
    this.#placesMax = placesMax;
    this.#words = new BigInt64Array(memory);
    this.#slots = this.#words.length / 2 - 1;
  }

  /** Takes turns under a name. Null: unknown, because too many threads took turns at the same moment. */
  take(name: string, pace: Pace, nowUs: number, turns = 1): RateVerdict | null {
    const [at, of] = this.#arrivalOf(name, pace, nowUs);
    for (let tries = 0; tries < triesMax; tries += 1) {
      const held = Atomics.load(this.#words, at);
      const verdict = takeTurn(of, Number(held), nowUs, turns);
      if (this.#store(at, held, verdict.arrivalUs) || !verdict.ok) return verdict;
    }
    // `triesMax` conflicts with other threads: the rate is unknown, so the request is not refused.
    return null;
  }

  /** The verdict on one turn, without taking it. */
  look(name: string, pace: Pace, nowUs: number): RateVerdict {
    const [at, of] = this.#arrivalOf(name, pace, nowUs);
    const held = Atomics.load(this.#words, at);
    const verdict = takeTurn(of, Number(held), nowUs);
    if (!verdict.ok) this.#store(at, held, verdict.arrivalUs);
    return verdict;
  }

  /** False when another thread has changed the entry. */
  #store(at: number, held: bigint, arrivalUs: number): boolean {
    const next = BigInt(Math.ceil(arrivalUs));
    return next === held || Atomics.compareExchange(this.#words, at, held, next) === held;
  }

  /** Spends turns for something that has already happened: never refuses, and takes at most all that are left. */
  spend(name: string, pace: Pace, nowUs: number, turns: number): void {
    const [at, of] = this.#arrivalOf(name, pace, nowUs);
    for (let tries = 0; tries < triesMax; tries += 1) {
      const held = Atomics.load(this.#words, at);
      const next = BigInt(Math.ceil(spentTurns(of, Number(held), nowUs, turns)));
      if (Atomics.compareExchange(this.#words, at, held, next) === held) return;
    }
  }

  /** Gives turns back that were taken for something that did not happen. */
  giveBack(name: string, pace: Pace, nowUs: number, turns = 1): void {
    const [at, of] = this.#arrivalOf(name, pace, nowUs);
    for (let tries = 0; tries < triesMax; tries += 1) {
      const held = Atomics.load(this.#words, at);
      const next = BigInt(Math.max(0, Math.floor(Number(held) - of.intervalUs * turns)));
      if (Atomics.compareExchange(this.#words, at, held, next) === held) return;
    }
  }

  /**
   * Whether nobody has asked so under the name within a time: of several threads at the same moment one gets true. In a full
   * table each does.
   */
  isFirst(name: string, withinUs: number, nowUs: number): boolean {
    // Its place is not remembered: such names are used once or twice.
    const print = fingerprintOf(name);
    const slot = this.#own(print) ?? this.#rested(print, nowUs);
    if (slot === null) return true;
    const at = slot * 2 + 1;
    const held = Atomics.load(this.#words, at);
    const until = BigInt(Math.ceil(nowUs + withinUs));
    return Number(held) <= nowUs && Atomics.compareExchange(this.#words, at, held, until) === held;
  }

  /** The index of the name's time, and the pace that applies. */
  #arrivalOf(name: string, pace: Pace, nowUs: number): readonly [at: number, of: Pace] {
    const slot = this.#slotOf(name, nowUs);
    return slot === null ? [this.#slots * 2 + 1, overflow] : [slot * 2 + 1, pace];
  }

  #slotOf(name: string, nowUs: number): number | null {
    const known = this.#placeOf.get(name);
    // The slot may have been given to another name.
    if (known !== undefined && Atomics.load(this.#words, known.slot * 2) === known.print) return known.slot;
    const print = fingerprintOf(name);
    const slot = this.#own(print) ?? this.#rested(print, nowUs);
    if (slot === null) return null;
    if (this.#placeOf.size >= this.#placesMax) this.#placeOf.clear();
    this.#placeOf.set(name, { slot, print });
    return slot;
  }

  /** The name's slot, or the first empty one. */
  #own(print: bigint): number | null {
    for (const slot of this.#probes(print)) {
      const held = Atomics.compareExchange(this.#words, slot * 2, 0n, print);
      if (held === 0n || held === print) return slot;
    }
    return null;
  }

  /** A slot whose burst is fully regained equals an empty one: it is given to another name. */
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

/** 64 bits of SHA-256, never 0, which marks an empty slot. */
function fingerprintOf(name: string): bigint {
  const print = hash('sha256', name, 'buffer').readBigInt64LE(0);
  return print === 0n ? 1n : print;
}
