// Asks the server what waits for a carrier: whether anything does, since when, and how much in each overflow shard.
import { withDeadline } from '../../platform/deadline.ts';
import { type Lane, laneOf } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';
import { streamNames } from './streams.ts';
import { laneFilter, type OverflowShard, overflowShardOfSubject } from './subjects.ts';

/**
 * When the oldest waiting record was stored, by the server's clock, held records included; Infinity when none waits.
 * Older events are about messages that no longer exist.
 */
export async function oldestStoredAtMs(bus: Pick<Bus, 'manager'>, carrier: string): Promise<number> {
  const lanes = Object.values(laneOf);
  const asked = Promise.all(lanes.map((lane) => oldestIn(bus, lane, carrier)));
  return Math.min(...(await withDeadline('the oldest record of a carrier', limits.carrier.floorTimeoutMs, asked)));
}

async function oldestIn({ manager }: Pick<Bus, 'manager'>, lane: Lane, carrier: string): Promise<number> {
  const query = { seq: 1, next_by_subj: laneFilter(lane, carrier) };
  const record = await manager.streams.getMessage(streamNames.messages[lane], query);
  return record === null ? Number.POSITIVE_INFINITY : record.time.getTime();
}

/** Whether any record waits for the carrier, held ones included. */
export async function waitsFor(bus: Pick<Bus, 'manager'>, carrier: string): Promise<boolean> {
  const asked = Object.values(laneOf).map((lane) =>
    // Counts without reading: the caller may not be allowed to read messages.
    bus.manager.streams.info(streamNames.messages[lane], { subjects_filter: laneFilter(lane, carrier) }),
  );
  const found = await withDeadline('what waits for a carrier', limits.carrier.floorTimeoutMs, Promise.all(asked));
  return found.some(({ state }) => Object.keys(state.subjects ?? {}).length > 0);
}

/** Records per overflow shard, held ones included; empty shards are omitted. */
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
