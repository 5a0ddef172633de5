// The consumers on the way to webhooks and of FACTS, as streams.ts has those of messages.
import type { ConsumerConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { limits } from '../../platform/limits.ts';
import { untilAcked } from './streams.ts';
import { factFilter, webhookFilter } from './subjects.ts';

/** The consumer of one shard of webhook endpoints. */
export function webhookConsumer(shard: number): Partial<ConsumerConfig> {
  return {
    durable_name: `webhooks_${shard}`,
    filter_subject: webhookFilter(shard),
    ...untilAcked,
    ack_wait: nanos(limits.delivery.ackWaitMs),
    max_ack_pending: limits.delivery.shardHeldMax,
  };
}

/** Who reads FACTS: each has a durable consumer, and what both have acked is purged. */
export type FactReader = 'recorder' | 'webhooks';

export function factConsumer(reader: FactReader): Partial<ConsumerConfig> {
  const { recorderHeldMax, tellersHeldMax, ackWaitMs } = limits.facts;
  return {
    durable_name: `facts_${reader}`,
    filter_subject: factFilter,
    ...untilAcked,
    ack_wait: nanos(ackWaitMs),
    max_ack_pending: reader === 'recorder' ? recorderHeldMax : tellersHeldMax,
  };
}
