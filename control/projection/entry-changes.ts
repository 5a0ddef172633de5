// The difference between what the bucket `directory` holds and what it should hold. Pure.

/** An entry in the bucket: its text (null: deleted) and the revision a change of it must name. */
export type StoredEntry = { readonly text: string | null; readonly revision: number };

/** A write of one entry; `revision` 0: the entry must not exist yet. */
export type EntryChange = { readonly name: string; readonly text: string | null; readonly revision: number };

/** The writes that make `held` equal to `desired`: removals first, because they revoke access. */
export function diffEntries(
  held: ReadonlyMap<string, StoredEntry>,
  desired: ReadonlyMap<string, string>,
): EntryChange[] {
  const removals: EntryChange[] = [];
  for (const [name, { text, revision }] of held) {
    if (text !== null && !desired.has(name)) removals.push({ name, text: null, revision });
  }
  const writes: EntryChange[] = [];
  for (const [name, text] of desired) {
    const now = held.get(name);
    if (now?.text !== text) writes.push({ name, text, revision: now?.revision ?? 0 });
  }
  return [...removals, ...writes];
}
