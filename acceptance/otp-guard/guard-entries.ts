// The bucket `otp_guard` in memory: the blocks in effect and the lists of accounts, as the guard of a thread reads them.
// Blocks end by wall time, which machines share; here they are held by this thread's monotonic clock.
import { readGuardEntry, type GuardLists } from '../../cluster/bus/otp-guard-bucket.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { GuardBlocks } from '../../policy/otp-guard/blocks.ts';
import type { GuardNumber, NumberBlock } from '../../policy/otp-guard/contract.ts';
import { SafeList } from '../../policy/otp-guard/safe-list.ts';

export type ReleasedBlock = Pick<NumberBlock, 'accountId' | 'prefix'> & {
  /** Of its entry in the bucket. */
  readonly revision: number;
};

export class GuardEntries {
  readonly blocks = new GuardBlocks(limits.otpGuard.blocksShare);
  readonly #clock: Clock;
  readonly #onReleased: (released: ReleasedBlock) => void;
  readonly #lists = new Map<string, GuardLists & { readonly safe: SafeList }>();

  /** `onReleased`: a person has released a block. */
  constructor(clock: Clock, onReleased: (released: ReleasedBlock) => void) {
    this.#clock = clock;
    this.#onReleased = onReleased;
  }

  listsOf(accountId: string): GuardLists | undefined {
    return this.#lists.get(accountId);
  }

  /** Whether the account's own list has the number. */
  isSafe({ accountId, to }: GuardNumber): boolean {
    return this.#lists.get(accountId)?.safe.has(to) === true;
  }

  /** Applies an entry, or its deletion (null). False when it cannot be read: then the old one stays. */
  apply(name: string, body: Uint8Array | null, revision: number): boolean {
    const entry = readGuardEntry(name, body);
    if (entry === null) return false;
    // Each guard finds outages by itself; what is stored is for reports.
    if (entry.kind === 'outage') return true;
    const { accountId } = entry;
    if (entry.kind === 'lists') {
      if (entry.lists === null) this.#lists.delete(accountId);
      else this.#lists.set(accountId, { ...entry.lists, safe: new SafeList(entry.lists.safeList) });
      return true;
    }
    const { prefix, block, shadow } = entry;
    const blocks = this.blocks.of(shadow);
    if (block === null || block.released === 'operator') {
      blocks.remove({ accountId, prefix });
      if (block !== null) this.#onReleased({ accountId, prefix, revision });
      return true;
    }
    const { rule, statistic, threshold, times, fromMs, untilMs } = block;
    const durationMs = untilMs - fromMs;
    const applied = { accountId, prefix, rule, statistic, threshold, times, durationMs, shadow };
    const nowMs = this.#clock.monotonicMs();
    blocks.apply(applied, nowMs + untilMs - this.#clock.nowMs(), nowMs);
    return true;
  }
}
