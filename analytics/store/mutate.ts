// Changes of rows that are recorded already. ClickHouse rewrites the columns concerned, part by part, in the background;
// inserts and queries go on meanwhile, so nothing waits for it in a place of the engine.
import { type Clock, systemClock } from '../../platform/clock.ts';
import { DeadlineExceeded } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import type { Engine } from './engine.ts';

const askEveryMs = 200;

/** `change`: what follows the table's name in an ALTER. Resolves when no part has the old rows any more, and no earlier change is left. */
export async function mutate(
  engine: Engine,
  table: string,
  change: string,
  { clock = systemClock, signal }: { clock?: Clock; signal?: AbortSignal } = {},
): Promise<void> {
  await engine.command(`ALTER TABLE ${table} ${change} SETTINGS mutations_sync = 0`);
  const giveUpAtMs = clock.monotonicMs() + limits.retention.mutationMs;
  for (;;) {
    const [row] = await engine.rows(
      `SELECT toUInt32(count()), any(latest_fail_reason) FROM system.mutations
       WHERE database = currentDatabase() AND table = {table:String} AND NOT is_done`,
      { table },
    );
    if (row?.[0] === 0) return;
    if (clock.monotonicMs() >= giveUpAtMs) {
      throw new DeadlineExceeded(`a change of ${table}: ${String(row?.[1])}`, limits.retention.mutationMs);
    }
    await clock.sleep(askEveryMs, signal);
  }
}
