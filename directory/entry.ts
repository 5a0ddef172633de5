// Encodes tenants as entries of the KV bucket `directory`: names, and JSON that a person can read with the nats tool.
// The same entry always encodes to the same text, so that comparing texts finds drift. Pure.
import type { AccountId } from '../model/ids.ts';
import { categories } from '../model/message.ts';
import type { AccountEntry, KeyEntry, TemplateEntry } from './contract.ts';

export type DirectoryEntry =
  | { readonly kind: 'key'; readonly entry: KeyEntry }
  | { readonly kind: 'account'; readonly entry: AccountEntry }
  | { readonly kind: 'template'; readonly entry: TemplateEntry };

export const keyEntryName = (publicId: string) => `key.${publicId}`;
export const accountEntryName = (accountId: AccountId | string) => `account.${accountId}`;
/** `of`: `<accountId>.<templateId>`. */
export const templateEntryName = (of: string) => `template.${of}`;

/** Is in the bucket once everything was written into it: without it a new bucket is still being filled. */
export const filledEntryName = 'meta.filled';

/** What an entry is about, from its name alone: deletions have no body. Null for a kind this version does not know. */
export function subjectOfEntry(name: string): { kind: 'key' | 'account' | 'template'; id: string } | null {
  if (name.startsWith('key.')) return { kind: 'key', id: name.slice('key.'.length) };
  if (name.startsWith('account.')) return { kind: 'account', id: name.slice('account.'.length) };
  if (name.startsWith('template.')) return { kind: 'template', id: name.slice('template.'.length) };
  return null;
}

export function encodeKeyEntry(entry: KeyEntry): string {
  const {
    v,
    keyId,
    accountId,
    publicId,
    secretHash,
    livemode,
    scopes,
    expiresAtMs,
    networks = [],
    rate = null,
  } = entry;
  return JSON.stringify({
    v,
    keyId,
    accountId,
    publicId,
    secretHash,
    livemode,
    scopes: [...scopes].sort(),
    expiresAtMs,
    networks,
    rate,
  });
}

export function encodeAccountEntry(entry: AccountEntry): string {
  const { v, accountId, name, status, senders, senderCategories = {}, networks = [], rate = null } = entry;
  const { idempotencyKeysPerHour = null, requireTemplate = [], content = null, resendUnknown = [] } = entry;
  const { keepInboundText = false, helpText = null, weight = 1 } = entry;
  return JSON.stringify({
    v,
    accountId,
    name,
    status,
    senders: [...senders].sort(),
    senderCategories: Object.fromEntries(Object.entries(senderCategories).sort(([a], [b]) => (a < b ? -1 : 1))),
    networks,
    rate,
    idempotencyKeysPerHour,
    requireTemplate,
    content,
    resendUnknown: [...resendUnknown].sort(),
    keepInboundText,
    helpText,
    weight,
  });
}

export function encodeTemplateEntry(entry: TemplateEntry): string {
  const { v, templateId, accountId, category, body, variables } = entry;
  // The database gives objects back with their keys in an order of its own.
  const plain = variables.map(({ name, type, size = null }) => ({ name, type, size }));
  return JSON.stringify({ v, templateId, accountId, category, body, variables: plain });
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
      (value['expiresAtMs'] === null || typeof value['expiresAtMs'] === 'number') &&
      isAbsentOr(value['networks'], isTexts) &&
      isAbsentOr(value['rate'], isRate);
    return sound ? { kind: 'key', entry: value as unknown as KeyEntry } : null;
  }
  if (subject.kind === 'template') {
    const sound =
      `${String(value['accountId'])}.${String(value['templateId'])}` === subject.id &&
      isCategory(value['category']) &&
      isText(value['body']) &&
      Array.isArray(value['variables']) &&
      value['variables'].every(isVariable);
    return sound ? { kind: 'template', entry: value as unknown as TemplateEntry } : null;
  }
  const sound =
    value['accountId'] === subject.id &&
    isText(value['name']) &&
    (value['status'] === 'active' || value['status'] === 'suspended') &&
    isTexts(value['senders']) &&
    isAbsentOr(value['senderCategories'], (map) => isObject(map) && Object.values(map).every(isCategories)) &&
    isAbsentOr(value['networks'], isTexts) &&
    isAbsentOr(value['rate'], isRate) &&
    isAbsentOr(value['idempotencyKeysPerHour'], (count) => typeof count === 'number') &&
    isAbsentOr(value['requireTemplate'], isCategories) &&
    isAbsentOr(value['content'], isContent) &&
    isAbsentOr(value['resendUnknown'], isCategories) &&
    isAbsentOr(value['keepInboundText'], (keep) => typeof keep === 'boolean') &&
    isAbsentOr(value['helpText'], isText) &&
    isAbsentOr(value['weight'], isWeight);
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

const isWeight = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 1;
const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
/** Fields that came with a later version: an entry of an earlier one does not have them. */
const isAbsentOr = (value: unknown, is: (value: unknown) => boolean): boolean =>
  value === undefined || value === null || is(value);
const isCategory = (value: unknown): boolean => (categories as readonly unknown[]).includes(value);
const isCategories = (value: unknown): boolean => Array.isArray(value) && value.every(isCategory);
const isRate = (value: unknown): boolean =>
  isObject(value) && Number(value['perSecond']) > 0 && Number(value['burst']) >= 1;
const isContent = (value: unknown): boolean =>
  isObject(value) && isTexts(value['words']) && isTexts(value['linksDenied']) && isTexts(value['linksAllowed']);
const isVariable = (value: unknown): boolean =>
  isObject(value) && isText(value['name']) && variableTypes.has(String(value['type']));
const variableTypes: ReadonlySet<string> = new Set(['text', 'number', 'code', 'url', 'date']);
