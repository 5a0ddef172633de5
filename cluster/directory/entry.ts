// How tenants are written into the KV bucket `directory`: names, and JSON that a person can read with the nats
// tool. The same entry always encodes to the same text, so that a comparison of texts finds drift. Pure.
import type { AccountId } from '../../model/ids.ts';
import type { AccountEntry, KeyEntry } from './contract.ts';

export type DirectoryEntry =
  | { readonly kind: 'key'; readonly entry: KeyEntry }
  | { readonly kind: 'account'; readonly entry: AccountEntry };

export const keyEntryName = (publicId: string) => `key.${publicId}`;
export const accountEntryName = (accountId: AccountId | string) => `account.${accountId}`;

/** Stands in the bucket once everything was written into it: without it a new bucket is still being filled. */
export const filledEntryName = 'meta.filled';

/** What an entry is about, from its name alone: deletions have no body. Null for a kind this version does not know. */
export function subjectOfEntry(name: string): { kind: 'key' | 'account'; id: string } | null {
  if (name.startsWith('key.')) return { kind: 'key', id: name.slice('key.'.length) };
  if (name.startsWith('account.')) return { kind: 'account', id: name.slice('account.'.length) };
  return null;
}

export function encodeKeyEntry(entry: KeyEntry): string {
  const { v, keyId, accountId, publicId, secretHash, livemode, scopes, expiresAtMs } = entry;
  return JSON.stringify({
    v,
    keyId,
    accountId,
    publicId,
    secretHash,
    livemode,
    scopes: [...scopes].sort(),
    expiresAtMs,
  });
}

export function encodeAccountEntry(entry: AccountEntry): string {
  const { v, accountId, name, status, senders } = entry;
  return JSON.stringify({ v, accountId, name, status, senders: [...senders].sort() });
}

/** Null when the body is not what the name promises: the reader then holds nothing, which refuses. */
export function decodeEntry(name: string, body: Uint8Array): DirectoryEntry | null {
  const subject = subjectOfEntry(name);
  const value = objectOf(body);
  if (subject === null || value === null || value['v'] !== 1) return null;
  if (subject.kind === 'key') {
    const sound =
      value['publicId'] === subject.id &&
      isText(value['keyId']) &&
      isText(value['accountId']) &&
      isText(value['secretHash']) &&
      typeof value['livemode'] === 'boolean' &&
      isTexts(value['scopes']) &&
      (value['expiresAtMs'] === null || typeof value['expiresAtMs'] === 'number');
    return sound ? { kind: 'key', entry: value as unknown as KeyEntry } : null;
  }
  const sound =
    value['accountId'] === subject.id &&
    isText(value['name']) &&
    (value['status'] === 'active' || value['status'] === 'suspended') &&
    isTexts(value['senders']);
  return sound ? { kind: 'account', entry: value as unknown as AccountEntry } : null;
}

function objectOf(body: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch (error) {
    // Not JSON: said by the null, and counted by the reader.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
