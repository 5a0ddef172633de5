// Recent decisions of subscribers, in addition to the blocks of suppressed numbers: an opt-out is in effect at every
// entry point and late gate as soon as its entry is in the bucket, with or without the database. The control role
// removes the entry when the blocks have it. An opt-in cancels an opt-out entry, and nothing that a block has.
import type { AccountId } from '../model/ids.ts';
import type { SubscriberDecision } from '../model/subscriber-decision.ts';
import { numberKeyOf } from '../model/suppression.ts';
import { jsonObjectIn } from '../platform/json.ts';

export type DecisionEntry = Pick<SubscriberDecision, 'keyword' | 'sender' | 'atMs'> & { readonly v: 1 };

type DecisionName = Pick<SubscriberDecision, 'accountId' | 'number' | 'sender'>;

const namePattern = /^decision\.(acc_[0-9A-Z]{26})\.(\d{7,15})\.(?:_|[0-9a-f]{2,64})$/;

/** `decision.<account>.<digits>.<sender>`; an underscore means every sender. */
export function decisionEntryName({ accountId, number, sender }: DecisionName): string {
  return `decision.${accountId}.${number.slice(1)}.${sender === null ? '_' : Buffer.from(sender).toString('hex')}`;
}

export const isDecisionName = (name: string): boolean => name.startsWith('decision.');

/** Null when the body is no decision. */
export function decodeDecisionEntry(body: Uint8Array): DecisionEntry | null {
  const { v, keyword, sender, atMs } = jsonObjectIn(body) ?? {};
  const isSound =
    v === 1 &&
    (keyword === 'stop' || keyword === 'start') &&
    (sender === null || typeof sender === 'string') &&
    typeof atMs === 'number';
  return isSound ? { v, keyword, sender, atMs } : null;
}

/** Whether `word` is later than `than`; of two at the same moment an opt-out wins. */
export function isLaterWord(
  word: Pick<DecisionEntry, 'keyword' | 'atMs'>,
  than: Pick<DecisionEntry, 'keyword' | 'atMs'>,
): boolean {
  return word.atMs > than.atMs || (word.atMs === than.atMs && word.keyword === 'stop' && than.keyword === 'start');
}

/** The opt-out entries in memory: those that the control role has not stored in the database yet. */
export class Decisions {
  /** Account → number → names of entries with their sender. */
  readonly #stops = new Map<AccountId, Map<number, Map<string, string | null>>>();

  has(accountId: AccountId, to: string, sender: string): boolean {
    const stops = this.#stops.get(accountId)?.get(numberKeyOf(to));
    if (stops === undefined) return false;
    for (const only of stops.values()) if (only === null || only === sender) return true;
    return false;
  }

  /** Applies an entry, or its deletion (null). False when the body cannot be read: then the old entry stays. */
  apply(name: string, body: Uint8Array | null): boolean {
    const match = namePattern.exec(name);
    if (match === null) return true;
    const entry = body === null ? null : decodeDecisionEntry(body);
    if (body !== null && entry === null) return false;
    const accountId = match[1] as AccountId;
    const numberKey = Number(match[2]);
    const numbers = this.#stops.get(accountId) ?? new Map<number, Map<string, string | null>>();
    const stops = numbers.get(numberKey) ?? new Map<string, string | null>();
    if (entry?.keyword === 'stop') stops.set(name, entry.sender);
    else stops.delete(name);
    if (stops.size > 0) numbers.set(numberKey, stops);
    else numbers.delete(numberKey);
    if (numbers.size > 0) this.#stops.set(accountId, numbers);
    else this.#stops.delete(accountId);
    return true;
  }
}
