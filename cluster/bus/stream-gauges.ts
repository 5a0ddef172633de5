// One look at all streams and consumers every few seconds, by one process of a node, never on the path of a message: sizes
// and backlogs for /metrics, and records of a cluster's queues that their consumers do not see (unseen-records.ts).
import type { ConsumerInfo } from '@nats-io/jetstream';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { laneOf } from '../../model/message.ts';
import type { Bus } from './connect.ts';
import { streamNames } from './streams.ts';
import { type BlindConsumer, UnseenRecords, mend } from './unseen-records.ts';

const { streamsLookEveryMs, callTimeoutMs } = limits.operations;

/** Begins at once. Stops with what it returns. */
export function watchStreams(bus: Bus, clock: Clock = systemClock): () => void {
  let looking = false;
  let stopped = false;
  const records = new UnseenRecords();
  const look = () => {
    if (looking || stopped || !bus.connected()) return;
    looking = true;
    lookOnce(bus, records)
      .catch((error: unknown) => ignoring(error, 'the streams cannot be looked at for now'))
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

export async function lookOnce(bus: Bus, records: UnseenRecords): Promise<void> {
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
  const blind: BlindConsumer[] = [];
  for (const [category, lane] of Object.entries(laneOf)) {
    const stream = streamNames.messages[lane];
    const consumers = await all(bus.manager.consumers.list(stream));
    const isReplicated = streams.some(({ config }) => config.name === stream && config.num_replicas > 1);
    if (isReplicated) blind.push(...(await blindConsumers(bus, stream, consumers)));
    for (const { config, num_pending: count } of consumers) {
      // mt.<lane>.<carrier>.<shard>
      const [, , carrier, shard] = (config.filter_subject ?? '').split('.');
      if (carrier !== undefined && shard !== undefined) waiting.push({ carrier, category, shard, count });
    }
  }
  for (const each of records.look(blind)) await mend(bus, each);
  const orders = await withDeadline(
    'orders',
    callTimeoutMs,
    bus.manager.consumers.info(streamNames.orders, 'audit'),
  ).catch((error: unknown) => ignoring(error, 'no control role has run yet'));
  // In one turn: a scrape never sees half of it.
  metrics.streamWaiting.reset();
  for (const { count, ...labels } of waiting) metrics.streamWaiting.set(labels, count);
  if (orders) metrics.auditFailure.set(orders.num_pending + orders.num_ack_pending);
}

/** Those that have nothing pending, and a record in their stream that they wait for no ack of. */
async function blindConsumers(
  bus: Bus,
  stream: string,
  consumers: readonly ConsumerInfo[],
): Promise<readonly BlindConsumer[]> {
  const asked = bus.manager.streams.info(stream, { subjects_filter: '>' });
  const { state } = await withDeadline('the subjects of a stream', callTimeoutMs, asked);
  const blind: BlindConsumer[] = [];
  for (const { name: consumer, config, num_pending, num_ack_pending, delivered } of consumers) {
    const subject = config.filter_subject ?? '';
    // Most know all that there is, and are not asked about.
    if (num_pending > 0 || (state.subjects?.[subject] ?? 0) <= num_ack_pending) continue;
    const last = bus.manager.streams.getMessage(stream, { last_by_subj: subject });
    const lastSeq = (await withDeadline('the last record of a subject', callTimeoutMs, last))?.seq ?? 0;
    const deliveredSeq = delivered.stream_seq;
    if (lastSeq > deliveredSeq || (lastSeq > 0 && num_ack_pending === 0))
      blind.push({ stream, consumer, subject, deliveredSeq, lastSeq });
  }
  return blind;
}

const ours = Object.values(streamNames).flatMap((name) => (typeof name === 'string' ? [name] : Object.values(name)));

function fillShare(bytes: number, bytesMax: number, messages: number, messagesMax: number): number {
  return Math.max(bytesMax > 0 ? bytes / bytesMax : 0, messagesMax > 0 ? messages / messagesMax : 0);
}

async function all<T>(pages: { next(): Promise<T[]> }): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const page = await withDeadline('a page of streams or consumers', callTimeoutMs, pages.next());
    if (page.length === 0) return items;
    items.push(...page);
  }
}
