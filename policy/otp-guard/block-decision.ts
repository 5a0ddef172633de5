// Which block of numbers follows from an alarm, if any. Pure: its caller puts it in effect.
import { type GuardBlocks, blockDurationMs } from './blocks.ts';
import type { GuardBounds, GuardEvent } from './contract.ts';
import type { Alarm } from './history.ts';

type Found = {
  readonly accountId: string;
  /** What the rule found: of 10^4 or of 10^6 numbers. */
  readonly prefix: string;
  /** The 10^6 numbers around it. */
  readonly widePrefix: string;
  readonly alarm: Alarm;
  /** The rule is in shadow mode. */
  readonly shadow: boolean;
};

type BlockDecision = Extract<GuardEvent, { readonly kind: 'blocked' | 'beyond_share' }>;
type Bounds = Pick<GuardBounds, 'wideBlocksFrom' | 'ruleBlocksShare'>;

/** Null when the numbers are blocked already. Blocks of rules in shadow mode count for such rules only. */
export function decideBlock(found: Found, blocks: GuardBlocks, bounds: Bounds, nowMs: number): BlockDecision | null {
  const { accountId, alarm, shadow } = found;
  const concerned = shadow ? [blocks.on, blocks.shadow] : [blocks.on];
  const isBlocked = (prefix: string) => concerned.some((each) => each.active({ accountId, prefix }, nowMs) !== null);
  if (isBlocked(found.prefix)) return null;
  const inEffect = { all: 0, byRules: 0 };
  for (const each of concerned) {
    const { all, byRules } = each.inEffect(accountId, nowMs);
    inEffect.all += all;
    inEffect.byRules += byRules;
  }
  // An attack over so many blocks goes on in the next ones: what is wide ends it, and needs few entries.
  const prefix = inEffect.byRules < bounds.wideBlocksFrom ? found.prefix : found.widePrefix;
  if (prefix !== found.prefix && isBlocked(prefix)) return null;
  if (inEffect.all >= bounds.ruleBlocksShare) {
    return { kind: 'beyond_share', accountId, prefix, rule: alarm.rule, shadow };
  }
  const times = blocks.of(shadow).nextTimes({ accountId, prefix }, nowMs);
  const block = { accountId, prefix, ...alarm, times, durationMs: blockDurationMs(times), shadow };
  return { kind: 'blocked', ...block, insteadOf: prefix === found.prefix ? null : found.prefix };
}
