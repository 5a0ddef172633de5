// The only source of randomness. Secrets come from the system; jitter and simulations from a source that can be seeded,
// so that a failing run can be repeated.
import { randomBytes, randomInt } from 'node:crypto';

export type Random = {
  /** Uniform in [0, 1). */
  unit(): number;
};

export const systemRandom: Random = { unit: () => Math.random() };

/** A repeatable source (mulberry32, public domain). Not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    unit() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}

/** Unpredictable bytes for keys, ids and nonces. */
export function secretBytes(count: number): Buffer {
  return randomBytes(count);
}

/** Unpredictable decimal digits, every text of them equally likely; at most 14 (randomInt takes ranges below 2^48). */
export function secretDigits(count: number): string {
  return String(randomInt(10 ** count)).padStart(count, '0');
}

/** "Full jitter": uniform between 0 and the capped exponential, so that reconnecting peers spread out. */
export function jitteredBackoffMs(
  attempt: number,
  baseMs: number,
  capMs: number,
  random: Random = systemRandom,
): number {
  return Math.floor(random.unit() * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30)));
}
