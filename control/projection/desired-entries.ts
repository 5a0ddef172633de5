// Computes the directory's entries from rows of the database, and the difference to what the bucket holds. Pure.
import type { AccountRow, KeyRow, TemplateRow } from '../store/directory-rows.ts';
import { rateOf } from '../store/rate.ts';
import type { TemplateVariableEntry } from '../../directory/contract.ts';
import {
  accountEntryName,
  encodeAccountEntry,
  encodeKeyEntry,
  encodeTemplateEntry,
  keyEntryName,
  templateEntryName,
} from '../../directory/entry.ts';

/** An entry in the bucket: its text (null: deleted) and the revision a change of it must name. */
export type StoredEntry = { readonly text: string | null; readonly revision: number };

/** A write of one entry; `revision` 0: the entry must not exist yet. */
export type EntryChange = { readonly name: string; readonly text: string | null; readonly revision: number };

/** Accounts first: a key must never be in the directory before its account. */
export function desiredEntries(
  accounts: readonly AccountRow[],
  keys: readonly KeyRow[],
  templates: readonly TemplateRow[] = [],
): Map<string, string> {
  const desired = new Map<string, string>();
  for (const row of accounts) desired.set(accountEntryName(row.id), accountText(row));
  for (const key of keys) {
    desired.set(
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
        networks: key.ip_allowlist,
        rate: rateOf(key),
      }),
    );
  }
  for (const { id, account_id: accountId, category, body, variables } of templates) {
    const entry = { v: 1, templateId: id, accountId, category, body } as const;
    desired.set(
      templateEntryName(`${accountId}.${id}`),
      // The types of variables were checked when the template was made.
      encodeTemplateEntry({ ...entry, variables: variables as readonly TemplateVariableEntry[] }),
    );
  }
  return desired;
}

function accountText(row: AccountRow): string {
  const content = { words: row.content_words, linksDenied: row.links_denied, linksAllowed: row.links_allowed };
  return encodeAccountEntry({
    v: 1,
    accountId: row.id,
    name: row.name,
    status: row.status,
    senders: row.senders,
    senderCategories: row.sender_categories ?? {},
    networks: row.ip_allowlist,
    rate: rateOf(row),
    idempotencyKeysPerHour: row.idempotency_keys_per_hour,
    requireTemplate: row.require_template,
    content: Object.values(content).every((list) => list.length === 0) ? null : content,
    resendUnknown: row.resend_unknown,
    keepInboundText: row.keep_inbound_text,
    helpText: row.help_text,
    weight: row.weight,
  });
}

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
