// Merges the rows of a registry file into the sorted entries of a table: a snapshot replaces everything, a delta
// changes the present entries. Pure. The order in which pieces of a file were read does not matter, except in a delta,
// where the last row of a number counts.
import { keyOfEntry, markOfEntry, packEntry } from './number-table.ts';

export type Merged = {
  readonly entries: Float64Array;
  /** Numbers listed more than once with different marks, where marks cannot be combined. */
  readonly conflicts: number;
};

/**
 * Sorts the rows in place. A number listed twice has both preferences (`add`); where a mark is an alternative
 * (`conflict`: a carrier) the higher counts, and the conflict is counted for the operator.
 */
export function mergeSnapshot(rows: Float64Array, onRepeat: 'add' | 'conflict'): Merged {
  rows.sort();
  let length = 0;
  let conflicts = 0;
  for (const row of rows) {
    const before = length === 0 ? -1 : (rows[length - 1] as number);
    if (length > 0 && keyOfEntry(before) === keyOfEntry(row)) {
      if (before === row) continue;
      conflicts += 1;
      const mark = onRepeat === 'add' ? markOfEntry(before) | markOfEntry(row) : markOfEntry(row);
      rows[length - 1] = packEntry(keyOfEntry(row), mark);
      continue;
    }
    rows[length] = row;
    length += 1;
  }
  return { entries: rows.subarray(0, length), conflicts: onRepeat === 'add' ? 0 : conflicts };
}

/** `changes` in the order of the file; mark 0 removes the number. */
export function mergeDelta(base: Float64Array, changes: Float64Array): Merged {
  const order = Uint32Array.from(changes.keys());
  const keys = changes.map(keyOfEntry);
  order.sort((one, other) => (keys[one] as number) - (keys[other] as number) || one - other);

  const merged = new Float64Array(base.length + changes.length);
  let length = 0;
  let at = 0;
  const keep = (entry: number) => {
    merged[length] = entry;
    length += 1;
  };
  for (let place = 0; place < order.length; place += 1) {
    const index = order[place] as number;
    const next = order[place + 1];
    // A later row of this number follows.
    if (next !== undefined && keys[next] === keys[index]) continue;
    const key = keys[index] as number;
    while (at < base.length && keyOfEntry(base[at] as number) < key) {
      keep(base[at] as number);
      at += 1;
    }
    if (at < base.length && keyOfEntry(base[at] as number) === key) at += 1;
    if (markOfEntry(changes[index] as number) > 0) keep(changes[index] as number);
  }
  while (at < base.length) {
    keep(base[at] as number);
    at += 1;
  }
  return { entries: merged.subarray(0, length), conflicts: 0 };
}
