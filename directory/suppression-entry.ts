// One block of suppressed numbers as an entry of the bucket `suppression`: its name, its text, and the version that
// comes first in the text, so that comparing versions does not read the numbers. Pure.
import { jsonObjectIn } from '../platform/json.ts';
import { type Category, categories } from '../model/message.ts';
import { type SuppressedNumbers, decodeNumbers, encodeNumbers } from '../model/suppression.ts';
import type { AccountId } from '../model/ids.ts';
import type { BlockName, BlockNumber, SuppressionBlockEntry } from './contract.ts';

const namePattern = /^block\.(acc_[0-9A-Z]{26})\.([0-8])\.(\d{1,3})$/;
const versionPattern = /^\{"v":1,"version":"([A-Za-z0-9_-]{1,40})"/;

export const blockEntryName = ({ accountId, bits, block }: BlockName) => `block.${accountId}.${bits}.${block}`;

/** `<account>.<bits>.<block>`, as in the outbox, or an entry's name. Null for anything else. */
export function blockNameOf(text: string): BlockName | null {
  const match = namePattern.exec(text.startsWith('block.') ? text : `block.${text}`);
  if (match === null) return null;
  return { accountId: match[1] as AccountId, bits: Number(match[2]), block: Number(match[3]) };
}

export function encodeBlock(version: string, numbers: readonly BlockNumber[]): string {
  const scopes = new Map<string, { sender: string | null; category: Category | null; numbers: number[] }>();
  for (const { number, sender, category } of numbers) {
    const key = `${category} ${sender}`;
    const scope = scopes.get(key) ?? { sender: sender || null, category: category || null, numbers: [] };
    scope.numbers.push(number);
    scopes.set(key, scope);
  }
  const lists = [...scopes.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { sender, category, numbers: held }]) => ({ sender, category, numbers: encodeNumbers(held) }));
  return JSON.stringify({ v: 1, version, lists } satisfies SuppressionBlockEntry);
}

/** The version of an entry, from its first octets. Null when it is no block. */
export function versionOfBlock(body: Uint8Array): string | null {
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, 80)).toString('latin1');
  return versionPattern.exec(head)?.[1] ?? null;
}

/** Null when the body is no block. */
export function decodeBlock(body: Uint8Array): readonly SuppressedNumbers[] | null {
  if (versionOfBlock(body) === null) return null;
  const entry = jsonObjectIn(body);
  if (!Array.isArray(entry?.['lists'])) return null;
  const lists: SuppressedNumbers[] = [];
  for (const list of entry['lists'] as readonly Record<string, unknown>[]) {
    const { sender, category } = list;
    const numbers = typeof list['numbers'] === 'string' ? decodeNumbers(list['numbers']) : null;
    const isSound =
      numbers !== null &&
      (sender === null || typeof sender === 'string') &&
      (category === null || (categories as readonly unknown[]).includes(category));
    if (!isSound) return null;
    lists.push({ sender, category: category as Category | null, numbers });
  }
  return lists;
}
