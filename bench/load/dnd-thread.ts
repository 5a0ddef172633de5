// One thread of bench/dnd.ts: looks numbers up in the memory it was given, and reports the time per look-up.
import { parentPort } from 'node:worker_threads';
import { systemClock } from '../../platform/clock.ts';
import { median } from '../harness/latency-figures.ts';
import { openTable } from '../../policy/registry/number-table.ts';

/** Distinct mobile numbers of Bangladesh, 13… to 19…, scattered like a registry's. */
export function benchNational(at: number, seed: number): number {
  // A step without a common divisor visits all 700,000,000 numbers before it repeats one.
  return 1_300_000_000 + ((at * 387_420_489 + seed * 7_919) % 700_000_000);
}

const listed = 20_000_000;
const asked = 400_000;
const batch = 1_000;

const numberAt = (at: number, seed: number) =>
  `+880${benchNational(at % 2 === 0 ? (at * 49) % listed : listed + at, seed)}`;

type OperatorCommand = { readonly seed: number; readonly seconds: number; readonly buffer: SharedArrayBuffer | null };

let numbers: readonly string[] = [];

parentPort?.on('message', ({ seed, seconds, buffer }: OperatorCommand) => {
  if (buffer === null) {
    // Made before anything is measured; every second one is listed. Parsed like a request's.
    const text = JSON.stringify(Array.from({ length: asked }, (_, at) => numberAt(at, seed)));
    numbers = JSON.parse(text) as string[];
    return parentPort?.postMessage(0);
  }
  const table = openTable(buffer, 'bench');
  const tookUs: number[] = [];
  let hits = 0;
  const endAtMs = systemClock.monotonicMs() + seconds * 1_000;
  for (let first = 0; systemClock.monotonicMs() < endAtMs; first = (first + batch) % asked) {
    const beganMs = systemClock.monotonicMs();
    for (let at = first; at < first + batch; at += 1) if (table.markOf(numbers[at] as string) !== 0) hits += 1;
    tookUs.push(((systemClock.monotonicMs() - beganMs) * 1_000) / batch);
  }
  if (hits * 2 !== tookUs.length * batch) throw new Error(`${hits} numbers were found, half of them are listed`);
  parentPort?.postMessage(median(tookUs));
});
