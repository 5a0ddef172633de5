// Reads all streams and consumers every few seconds, in one process per node, never in the path of a message: sizes and
// backlogs for /metrics, and records of queues that their consumers do not deliver (unseen-records.ts).
import type { ConsumerInfo } from '@nats-io/jetstream';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { laneOf } from '../../model/message.ts';
import type { Bus } from './connect.ts';
import { fillShare } from './stream-space.ts';
import { streamNames } from './streams.ts';
import { UnseenRecords, deliverUnseen } from './unseen-records.ts';

const { streamsLookEveryMs, callTimeoutMs } = limits.operations;

/** Begins at once; returns what stops it. */
export function watchStreams(bus: Bus, clock: Clock = systemClock): () => void {
  let looking = false;
  let stopped = false;
  const records = new UnseenRecords();
  const look = () => {
    if (looking || stopped || !bus.connected()) return;
    looking = true;
    lookOnce(bus, records)
      .catch((error: unknown) => ignoring(error, 'the streams cannot be listed at the moment'))
      .finally(() => {
        looking = false;
      });
  };
  look();
  const stop = clock.every(streamsLookEveryMs, look);
  return () => {
    stopped = true;
    stop();
  };
}

async function lookOnce(bus: Bus, records: UnseenRecords): Promise<void> {
  const streams = await all(bus.manager.streams.list());
  for (const { config, state } of streams) {
    const stream = config.name;
    if (!(ours as readonly string[]).includes(stream)) continue;
    metrics.streamMessages.set({ stream }, state.messages);
    metrics.streamBytes.set({ stream }, state.bytes);
    if (stream === streamNames.waiting.scheduled) {
      const units = (bytes: number) => Math.ceil(bytes / limits.scheduled.unitBytes);
      metrics.sharedBoundUsed.set({ bound: 'scheduled_messages' }, units(state.bytes));
      metrics.sharedBoundTotal.set({ bound: 'scheduled_messages' }, units(config.max_bytes));
    }
    metrics.streamFillShare.set({ stream }, fillShare(state.bytes, config.max_bytes, state.messages, config.max_msgs));
  }
  const waiting: { carrier: string; category: string; shard: string; count: number }[] = [];
  const queues = new Map<string, readonly ConsumerInfo[]>();
  for (const [category, lane] of Object.entries(laneOf)) {
    const stream = streamNames.messages[lane];
    const consumers = await all(bus.manager.consumers.list(stream));
    queues.set(stream, consumers);
    for (const { config, num_pending: count } of consumers) {
      // mt.<lane>.<carrier>.<shard>
      const [, , carrier, shard] = (config.filter_subject ?? '').split('.');
      if (carrier !== undefined && shard !== undefined) waiting.push({ carrier, category, shard, count });
    }
  }
  for (const stream of [streamNames.inbound, streamNames.facts]) {
    queues.set(stream, await all(bus.manager.consumers.list(stream)));
  }
  const orders = await withDeadline(
    'orders',
    callTimeoutMs,
    bus.manager.consumers.info(streamNames.orders, 'audit'),
  ).catch((error: unknown) => ignoring(error, 'no control role has run yet'));
  // In one turn of the event loop, so that no scrape sees half of it.
  metrics.streamWaiting.reset();
  for (const { count, ...labels } of waiting) metrics.streamWaiting.set(labels, count);
  if (orders) metrics.ordersNotAudited.set(orders.num_pending + orders.num_ack_pending);
  await deliverUnseen(bus, records, queues);
}

const ours = Object.values(streamNames).flatMap((name) => (typeof name === 'string' ? [name] : Object.values(name)));

async function all<T>(pages: { next(): Promise<T[]> }): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const page = await withDeadline('a page of streams or consumers', callTimeoutMs, pages.next());
    if (page.length === 0) return items;
    items.push(...page);
  }
}
