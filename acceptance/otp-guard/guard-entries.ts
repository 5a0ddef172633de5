// The bucket `otp_guard` in memory: the blocks in effect and the lists of accounts, as the guard of a thread reads them.
// Blocks end by wall time, which machines share; here they are held by this thread's monotonic clock.
import { readGuardEntry, type GuardLists } from '../../cluster/bus/otp-guard-bucket.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { Blocks } from '../../policy/otp-guard/blocks.ts';

export class GuardEntries {
  readonly blocks = new Blocks(limits.otpGuard.blocksShare);
  readonly #clock: Clock;
  readonly #lists = new Map<string, GuardLists>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  listsOf(accountId: string): GuardLists | undefined {
    return this.#lists.get(accountId);
  }

  /** Applies an entry, or its deletion (null). False when it cannot be read: then the old one stays. */
  apply(name: string, body: Uint8Array | null): boolean {
    const entry = readGuardEntry(name, body);
    if (entry === null) return false;
    // Each guard finds outages by itself; what is stored is for reports.
    if (entry.kind === 'outage') return true;
    const { accountId } = entry;
    if (entry.kind === 'lists') {
      if (entry.lists === null) this.#lists.delete(accountId);
      else this.#lists.set(accountId, entry.lists);
      return true;
    }
    const { prefix, block } = entry;
    if (block === null) {
      this.blocks.remove({ accountId, prefix });
      return true;
    }
    const { rule, statistic, threshold, times, shadow, fromMs, untilMs } = block;
    const durationMs = untilMs - fromMs;
    const applied = { accountId, prefix, rule, statistic, threshold, times, durationMs, shadow };
    const nowMs = this.#clock.monotonicMs();
    this.blocks.apply(applied, nowMs + untilMs - this.#clock.nowMs(), nowMs);
    return true;
  }
}
