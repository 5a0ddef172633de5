// All suppressed numbers in memory, by account and block. A look-up hashes the number to its block and searches there:
// well under a microsecond, whatever the list's length. While a list is being divided into other blocks, old and new
// ones are both searched, so that no number is missed. Recent decisions of subscribers count too.
import type { AccountId } from '../model/ids.ts';
import type { Category } from '../model/message.ts';
import {
  type SuppressedNumbers,
  blockOfPlace,
  hasNumber,
  numberKeyOf,
  suppressionPlaceOf,
} from '../model/suppression.ts';
import { Decisions, isDecisionName } from './decisions.ts';
import { erasedKeysFrom } from '../model/number-hash.ts';
import { blockNameOf, decodeBlock } from './suppression-entry.ts';

type Cut = {
  readonly bits: number;
  readonly blocks: Map<number, readonly SuppressedNumbers[]>;
  /** Blocks with erased numbers: most accounts have none, and need no hash. */
  readonly erased: Set<number>;
};

export class Suppressed {
  readonly #cuts = new Map<AccountId, Cut[]>();
  readonly #decisions = new Decisions();
  /** The key of an erased number in lists (model/number-hash.ts). */
  readonly #erasedKeyOf: (to: string) => number;
  #count = 0;

  constructor(erasedKeyOf: (to: string) => number = () => Number.NaN) {
    this.#erasedKeyOf = erasedKeyOf;
  }

  /** Entries, counting a number once for each sender or category it is listed for. */
  get count(): number {
    return this.#count;
  }

  has(accountId: AccountId, to: string, sender: string, category: Category): boolean {
    if (this.#decisions.has(accountId, to, sender)) return true;
    const cuts = this.#cuts.get(accountId);
    if (cuts === undefined) return false;
    if (isListed(cuts, numberKeyOf(to), sender, category)) return true;
    return cuts.some(({ erased }) => erased.size > 0) && isListed(cuts, this.#erasedKeyOf(to), sender, category);
  }

  /**
   * Applies an entry, or its deletion (null). False when the body cannot be read: then the old block stays, because
   * outdated numbers are better than none.
   */
  apply(name: string, body: Uint8Array | null): boolean {
    if (isDecisionName(name)) return this.#decisions.apply(name, body);
    const of = blockNameOf(name);
    // An entry of a later version: ignored.
    if (of === null) return true;
    const lists = body === null ? [] : decodeBlock(body);
    if (lists === null) return false;
    const cuts = this.#cuts.get(of.accountId) ?? [];
    let cut = cuts.find((each) => each.bits === of.bits);
    if (cut === undefined) {
      if (lists.length === 0) return true;
      cut = { bits: of.bits, blocks: new Map(), erased: new Set() };
      cuts.push(cut);
      this.#cuts.set(of.accountId, cuts);
    }
    this.#count += countOf(lists) - countOf(cut.blocks.get(of.block) ?? []);
    if (lists.some(({ numbers }) => (numbers.at(-1) ?? 0) >= erasedKeysFrom)) cut.erased.add(of.block);
    else cut.erased.delete(of.block);
    if (lists.length > 0) cut.blocks.set(of.block, lists);
    else cut.blocks.delete(of.block);
    if (cut.blocks.size > 0) return true;
    const left = cuts.filter((each) => each !== cut);
    if (left.length > 0) this.#cuts.set(of.accountId, left);
    else this.#cuts.delete(of.accountId);
    return true;
  }
}

const countOf = (lists: readonly SuppressedNumbers[]) => lists.reduce((sum, list) => sum + list.numbers.length, 0);

function isListed(cuts: readonly Cut[], desired: number, sender: string, category: Category): boolean {
  const place = suppressionPlaceOf(desired);
  for (const { bits, blocks } of cuts) {
    for (const list of blocks.get(blockOfPlace(place, bits)) ?? []) {
      if (list.sender !== null && list.sender !== sender) continue;
      if (list.category !== null && list.category !== category) continue;
      if (hasNumber(list.numbers, desired)) return true;
    }
  }
  return false;
}
