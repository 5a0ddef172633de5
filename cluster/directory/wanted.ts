// From rows of the database to entries of the directory, and the difference between what the bucket holds and
// what it should hold. Pure: this is where drift is decided.
import type { AccountRow, KeyRow } from '../store/directory-rows.ts';
import { accountEntryName, encodeAccountEntry, encodeKeyEntry, keyEntryName } from './entry.ts';

/** An entry in the bucket: its text (null: deleted) and the revision a change of it must name. */
export type HeldEntry = { readonly text: string | null; readonly revision: number };

/** A write that brings one entry in line; `revision` 0 says that there must be none yet. */
export type Repair = { readonly name: string; readonly text: string | null; readonly revision: number };

/** Accounts first: a key must never be in the directory before its account. */
export function wantedEntries(accounts: readonly AccountRow[], keys: readonly KeyRow[]): Map<string, string> {
  const wanted = new Map<string, string>();
  for (const { id, name, status, senders } of accounts) {
    wanted.set(accountEntryName(id), encodeAccountEntry({ v: 1, accountId: id, name, status, senders }));
  }
  for (const key of keys) {
    wanted.set(
      keyEntryName(key.public_id),
      encodeKeyEntry({
        v: 1,
        keyId: key.id,
        accountId: key.account_id,
        publicId: key.public_id,
        secretHash: key.secret_hash.toString('base64url'),
        livemode: key.livemode,
        scopes: key.scopes,
        expiresAtMs: key.expires_at?.getTime() ?? null,
      }),
    );
  }
  return wanted;
}

/** What must be written to make `held` say what `wanted` says: removals first, because they lock somebody out. */
export function repairsOf(held: ReadonlyMap<string, HeldEntry>, wanted: ReadonlyMap<string, string>): Repair[] {
  const removals: Repair[] = [];
  for (const [name, { text, revision }] of held) {
    if (text !== null && !wanted.has(name)) removals.push({ name, text: null, revision });
  }
  const writes: Repair[] = [];
  for (const [name, text] of wanted) {
    const now = held.get(name);
    if (now?.text !== text) writes.push({ name, text, revision: now?.revision ?? 0 });
  }
  return [...removals, ...writes];
}
