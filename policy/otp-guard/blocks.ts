// The blocked prefixes of all accounts: how long each lasts, and what is remembered of it afterwards. Times are those of
// one monotonic clock. Its owner fills it; several guards may share one.
import type { GuardRule, NumberBlock } from './contract.ts';
import { thresholds } from './thresholds.ts';

type BlockPlace = { readonly accountId: string; readonly prefix: string };
type HeldBlock = NumberBlock & { readonly untilMs: number; probedAtMs: number };

/** The first lasts 10 min, each further one twice as long, up to 12 h. */
export function blockDurationMs(times: number): number {
  return Math.min(thresholds.blockMsMax, thresholds.blockMs * 2 ** Math.min(times - 1, 30));
}

/** What probes pass and end; never a person's order. */
export function isOfTest(rule: GuardRule): boolean {
  return rule === 'conversion' || rule === 'partial_conversion' || rule === 'sequence';
}

/**
 * Those of rules that are on and of people, and apart from them those of rules in shadow mode: what these would have blocked
 * changes neither how long a block lasts nor how many there may be.
 */
export class GuardBlocks {
  readonly on: Blocks;
  readonly shadow: Blocks;

  /** `share`: how many of one account are held of each kind. */
  constructor(share: number) {
    this.on = new Blocks(share);
    this.shadow = new Blocks(share);
  }

  of(shadow: boolean): Blocks {
    return shadow ? this.shadow : this.on;
  }
}

export class Blocks {
  readonly #share: number;
  /** By account and prefix, also those that have ended and are remembered. */
  readonly #accounts = new Map<string, Map<string, HeldBlock>>();

  /** `share`: how many of one account are held. */
  constructor(share: number) {
    this.#share = share;
  }

  /** Whether the account has any, in effect or remembered. */
  has(accountId: string): boolean {
    return this.#accounts.has(accountId);
  }

  /** The block in effect; null without one. */
  active({ accountId, prefix }: BlockPlace, nowMs: number): HeldBlock | null {
    const block = this.#accounts.get(accountId)?.get(prefix);
    return block !== undefined && nowMs < block.untilMs ? block : null;
  }

  /** The number in a row that the next block of the prefix has, from 1. */
  nextTimes({ accountId, prefix }: BlockPlace, nowMs: number): number {
    const before = this.#accounts.get(accountId)?.get(prefix);
    return before !== undefined && nowMs < before.untilMs + thresholds.blockRememberedMs ? before.times + 1 : 1;
  }

  /** How many of the account are in effect, and how many of those rules made. */
  inEffect(accountId: string, nowMs: number): { readonly all: number; readonly byRules: number } {
    let [all, byRules] = [0, 0];
    for (const { rule, untilMs } of this.#accounts.get(accountId)?.values() ?? []) {
      if (nowMs >= untilMs) continue;
      all += 1;
      if (rule !== 'operator') byRules += 1;
    }
    return { all, byRules };
  }

  /**
   * In effect until `untilMs`; remembered if that is over. At its share the account's block that ended first is forgotten.
   * Where all are in effect it is the one by a rule that ends first. Where people ordered all of them, one by a rule is left
   * out.
   */
  apply(block: NumberBlock, untilMs: number, nowMs: number): void {
    const blocks = this.#accounts.get(block.accountId) ?? new Map<string, HeldBlock>();
    this.#accounts.set(block.accountId, blocks);
    const probedAtMs = blocks.get(block.prefix)?.probedAtMs ?? Number.NEGATIVE_INFINITY;
    blocks.delete(block.prefix);
    if (blocks.size >= this.#share) {
      const forgotten = leastNeeded(blocks, nowMs);
      if (block.rule !== 'operator' && isOrdered(forgotten, nowMs)) return;
      blocks.delete(forgotten.prefix);
    }
    blocks.set(block.prefix, { ...block, untilMs, probedAtMs });
  }

  /** Whether a request to the prefix may be sent in spite of its block. */
  mayProbe(place: BlockPlace, nowMs: number): boolean {
    const block = this.active(place, nowMs);
    return block !== null && nowMs - block.probedAtMs >= thresholds.probeEveryMs;
  }

  probed(place: BlockPlace, nowMs: number): void {
    const block = this.active(place, nowMs);
    if (block !== null) block.probedAtMs = nowMs;
  }

  /**
   * A probe was entered: ends what a rule found; how often it was blocked is still remembered. Returns how long it would
   * have lasted, 0 when no such block is in effect.
   */
  release(place: BlockPlace, nowMs: number): number {
    const block = this.active(place, nowMs);
    if (block === null || !isOfTest(block.rule)) return 0;
    this.apply(block, nowMs, nowMs);
    return block.untilMs - nowMs;
  }

  /** Forgets it: the next block of the prefix is a first one again. */
  remove({ accountId, prefix }: BlockPlace): void {
    const blocks = this.#accounts.get(accountId);
    blocks?.delete(prefix);
    if (blocks?.size === 0) this.#accounts.delete(accountId);
  }
}

/** The one that ends first of all but those that people ordered and that are in effect, or of these. */
function leastNeeded(blocks: ReadonlyMap<string, HeldBlock>, nowMs: number): HeldBlock {
  return [...blocks.values()].reduce((least, block) => {
    const [isLeastOrdered, isBlockOrdered] = [isOrdered(least, nowMs), isOrdered(block, nowMs)];
    if (isLeastOrdered !== isBlockOrdered) return isBlockOrdered ? least : block;
    return block.untilMs < least.untilMs ? block : least;
  });
}

function isOrdered({ rule, untilMs }: HeldBlock, nowMs: number): boolean {
  return rule === 'operator' && nowMs < untilMs;
}
