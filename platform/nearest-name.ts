// The known name nearest to a misspelt one, for the hint "did you mean …?". Pure.

/** With more changes a name of this length is another word. */
export const changesMaxOf = (word: string): number => Math.max(1, Math.floor(word.length / 3));

/** The candidate with the fewest changes; null when all need more than `changesMax`. */
export function nearestName(word: string, candidates: Iterable<string>, changesMax: number): string | null {
  let best: string | null = null;
  let bestDistance = changesMax + 1;
  for (const candidate of candidates) {
    // It needs as many changes at least, and a client chooses the word.
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(word, candidate);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Insertions, deletions, replacements and swapped neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) next[j] = Math.min(next[j] ?? 0, (before[j - 2] ?? 0) + 1);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
