// How many records wait in each overflow shard of one lane of a carrier, asked of the server. An empty shard needs no
// consumer and has no copy of a record.
import { withDeadline } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import type { Lane } from '../../model/message.ts';
import type { Bus } from './connect.ts';
import { streamNames } from './streams.ts';
import { type OverflowShard, overflowShardOfSubject, laneFilter } from './subjects.ts';

/** Records by overflow shard, those that are held included; shards without any are left out. */
export async function overflowDepth(
  bus: Pick<Bus, 'manager'>,
  lane: Lane,
  carrier: string,
): Promise<ReadonlyMap<OverflowShard, number>> {
  const asked = bus.manager.streams.info(streamNames.messages[lane], { subjects_filter: laneFilter(lane, carrier) });
  const { state } = await withDeadline('what waits in overflow', limits.overflow.lookTimeoutMs, asked);
  const waiting = new Map<OverflowShard, number>();
  for (const [subject, count] of Object.entries(state.subjects ?? {})) {
    const shard = overflowShardOfSubject(subject);
    if (shard !== null && count > 0) waiting.set(shard, count);
  }
  return waiting;
}
