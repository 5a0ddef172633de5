// The test for numbers that were counted up: among the last digits of numbers in one block of 10^4, how many neighbours
// are there, and how many would there be by chance? Pure.
import { thresholds } from './thresholds.ts';

const blockSize = 10_000;

export type SequenceResult = { readonly pairs: number; readonly threshold: number; readonly isSequential: boolean };

/** Fewer numbers than this cannot have enough pairs. */
const sequenceNumbersMin = thresholds.sequencePairsMin + 1;

/** Each of the first 64 numbers, then every 16th: sorting them costs more the more wait. */
export function isSequenceDue(numbers: number): boolean {
  return numbers >= sequenceNumbersMin && (numbers <= 64 || numbers % 16 === 0);
}

/** `lastDigits`: the last four digits of different numbers. */
export function testSequence(lastDigits: Iterable<number>): SequenceResult {
  const sorted = Uint16Array.from(lastDigits).sort();
  let pairs = 0;
  for (let at = 1; at < sorted.length; at += 1) {
    if ((sorted[at] ?? 0) - (sorted[at - 1] ?? 0) <= thresholds.neighbourGap) pairs += 1;
  }
  const threshold = Math.max(thresholds.sequencePairsMin, thresholds.sequenceTimes * expectedPairs(sorted.length));
  return { pairs, threshold, isSequential: pairs >= threshold };
}

/** Neighbours among `count` numbers drawn at random: each has one within the gap with 1 − e^(−gap · count / 10^4). */
export function expectedPairs(count: number): number {
  return count * (1 - Math.exp((-thresholds.neighbourGap * count) / blockSize));
}
