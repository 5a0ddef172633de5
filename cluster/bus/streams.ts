// Every stream: its subjects, retention and bounds. Full streams refuse (discard new), so that backpressure reaches
// the client as a 503 or 429; nothing is ever pushed out.
import {
  AckPolicy,
  type ConsumerConfig,
  DiscardPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { type Lane } from '../../model/message.ts';
import { type AccountQueueMax, accountQueueMaxDefault } from '../../platform/limits-lanes.ts';
import { defaultShares, type Shares } from '../../platform/limits-shares.ts';
import { assert } from '../../platform/assert.ts';
import { type StreamMb, streamMbDefault } from '../../platform/limits-streams.ts';
import { limits } from '../../platform/limits.ts';
import {
  auditNoteSubject,
  decisionFilter,
  inboundPartFilter,
  inboundSubject,
  type WaitKind,
  waitSecondFilter,
  messageFilter,
  type MessageShard,
} from './subjects.ts';

const mib = 2 ** 20;
const gib = 2 ** 30;
const duplicateWindow = nanos(limits.bus.duplicateWindowMs);

export const streamNames = {
  messages: { otp: 'MT_OTP', txn: 'MT_TXN', promo: 'MT_PROMO' } as const satisfies Record<Lane, string>,
  /** What waits for its time, by who asked for it: each kind is full by itself. */
  waiting: { scheduled: 'SCHEDULED', holds: 'HOLDS', later: 'LATER' } as const satisfies Record<WaitKind, string>,
  cancels: 'CANCELS',
  inbound: 'INBOUND',
  events: 'EVENTS',
  orders: 'ORDERS',
  dead: 'DEAD',
} as const;

export type StreamDeclaration = Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'subjects'>;

const workQueue = {
  retention: RetentionPolicy.Workqueue,
  storage: StorageType.File,
  discard: DiscardPolicy.New,
  duplicate_window: duplicateWindow,
} as const;

/** A message is ~500 bytes: 1 GiB holds two million. The bound per subject keeps one shard from taking all of it. */
const messageStream = (
  lane: Lane,
  maxBytes: number,
  perSubjectMax: number,
  messagesMax: number,
): StreamDeclaration => ({
  ...workQueue,
  name: streamNames.messages[lane],
  subjects: [`mt.${lane}.>`],
  max_bytes: maxBytes,
  max_msgs: messagesMax,
  max_msgs_per_subject: Math.min(perSubjectMax, messagesMax),
  discard_new_per_subject: true,
});

/** What an operator decides about the streams (heliograph.yaml: limits). */
export type StreamBounds = {
  /** Messages in one MT stream before it refuses. */
  readonly queueMessagesMax: number;
  readonly accountQueueMax?: AccountQueueMax;
  readonly shares?: Pick<Shares, 'scheduled_messages'>;
  readonly streamMb?: StreamMb;
  /** Copies of each stream: 1 on one machine, 3 in a cluster. */
  readonly streamReplicas: number;
};

export const streamBoundsDefault: StreamBounds = { queueMessagesMax: 5_000_000, streamReplicas: 1 };

export function streamDeclarations(bounds: StreamBounds = streamBoundsDefault): readonly StreamDeclaration[] {
  const { queueMessagesMax, streamReplicas, accountQueueMax = accountQueueMaxDefault, shares = defaultShares } = bounds;
  const streamMb = bounds.streamMb ?? streamMbDefault;
  const scheduledBytes = shares.scheduled_messages.total * limits.scheduled.unitBytes;
  // The last bound of a shard: entry points refuse an account with too much waiting long before it.
  const subjectMax = (lane: Lane, usual: number) => Math.max(usual, accountQueueMax[lane] * 2);
  return [
    messageStream('otp', gib / 2, subjectMax('otp', 200_000), queueMessagesMax),
    messageStream('txn', 2 * gib, subjectMax('txn', 1_500_000), queueMessagesMax),
    messageStream('promo', 4 * gib, subjectMax('promo', 3_000_000), queueMessagesMax),
    // What clients scheduled; each account has a share of it (platform/limits-shares.ts: scheduled_messages).
    { ...workQueue, name: streamNames.waiting.scheduled, subjects: ['scheduled.>'], max_bytes: scheduledBytes },
    // Accepted messages that a carrier holds until quiet hours end: as many as all accounts may have queued.
    { ...workQueue, name: streamNames.waiting.holds, subjects: ['holds.>'], max_bytes: streamMb.holds * mib },
    // The system's own short waits: deferrals of some seconds, parked receipts, looks at missing parts. ~500 bytes each.
    { ...workQueue, name: streamNames.waiting.later, subjects: ['later.>'], max_bytes: streamMb.later * mib },
    {
      // Clients' cancels of what waits in SCHEDULED, ~100 bytes each; the releaser forgets an hour when it is over.
      name: streamNames.cancels,
      subjects: ['cancel.>'],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      max_age: nanos((limits.bus.laterDaysMax + 1) * 86_400_000),
      max_bytes: gib,
    },
    {
      ...workQueue,
      name: streamNames.inbound,
      subjects: ['mo.>'],
      max_bytes: streamMb.inbound * mib,
      // A carrier may repeat what it got no answer to a minute later, on another bind.
      duplicate_window: nanos(limits.inbound.repeatWindowMs),
    },
    {
      name: streamNames.events,
      subjects: ['ev.>'],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      duplicate_window: duplicateWindow,
      max_bytes: streamMb.events * mib,
    },
    {
      // What operators ordered of carriers, ~400 bytes each: the last of a subject is in effect, what comes before it
      // goes when the audit log in PostgreSQL has it. Three months of an order a minute fit while that is away.
      name: streamNames.orders,
      subjects: ['ops.>', auditNoteSubject],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      duplicate_window: duplicateWindow,
      max_bytes: gib / 16,
    },
    {
      name: streamNames.dead,
      subjects: ['dead.>'],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      max_bytes: streamMb.dead * mib,
    },
  ].map((declaration) => ({ ...declaration, num_replicas: streamReplicas }));
}

/**
 * Offered again until it is acked. Whoever handles it decides what is poison (it counts its own failures); deliveries
 * alone prove nothing.
 */
const untilAcked = {
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(limits.carrier.ackWaitMs),
  max_deliver: -1,
} as const;

/**
 * The consumer through which one carrier takes one shard of one lane. A consumer gives in stream order, so with one for
 * all shards an account's flood would come before all others. `windowPdus` is the sum of the carrier's windows: one
 * shard alone can fill them and have as many again at hand, twice; an account shard besides has room for records on
 * their way to overflow, so that those behind them come.
 */
export function messageConsumer(
  lane: Lane,
  carrier: string,
  shard: MessageShard,
  windowPdus: number,
): Partial<ConsumerConfig> {
  const held =
    typeof shard === 'number'
      ? Math.min(limits.carrier.shardHeldMax, windowPdus * 3 + limits.overflow.inFlightMax)
      : Math.min(limits.overflow.heldMax, Math.max(32, windowPdus * 2));
  return {
    durable_name: messageConsumerName(lane, carrier, shard),
    filter_subject: messageFilter(lane, carrier, shard),
    ...untilAcked,
    ...(lane === 'otp' ? { ack_wait: nanos(limits.carrier.ackWaitOtpMs) } : {}),
    max_ack_pending: held,
  };
}

export function messageConsumerName(lane: Lane, carrier: string, shard: MessageShard): string {
  return `carrier_${carrier}_${lane}_${shard}`;
}

/** The consumer through which one carrier's actor takes back what it parked. */
export function inboundConsumer(carrier: string): Partial<ConsumerConfig> {
  return {
    durable_name: `carrier_${carrier}_inbound`,
    filter_subject: inboundSubject(carrier),
    ...untilAcked,
    max_ack_pending: 256,
  };
}

/** The one consumer through which all threads and nodes take subscribers' messages; a free one gets the next. */
export function inboundPartConsumer(): Partial<ConsumerConfig> {
  return {
    durable_name: 'inbound_parts',
    filter_subject: inboundPartFilter,
    ...untilAcked,
    max_ack_pending: limits.inbound.heldMax * 4,
  };
}

/** The consumer through which records that found DEAD full are taken there at last: a few at a time, and rarely. */
export function fallbackConsumer(filter: string | undefined): Partial<ConsumerConfig> {
  assert(filter !== undefined, 'a stream without a place beside its queues');
  return { durable_name: 'unread', filter_subject: filter, ...untilAcked, max_ack_pending: limits.bus.fallbackHeldMax };
}

/** The consumer through which the control role writes subscribers' decisions down. */
export function decisionConsumer(): Partial<ConsumerConfig> {
  return {
    durable_name: 'inbound_decisions',
    filter_subject: decisionFilter,
    ...untilAcked,
    max_ack_pending: limits.inbound.decisionsHeldMax,
  };
}

/**
 * The consumer of everything of a kind that is due in one second; it goes away by itself when the second is long past.
 */
export function waitConsumer(kind: WaitKind, second: number): Partial<ConsumerConfig> {
  return {
    durable_name: `${kind}_${second}`,
    filter_subject: waitSecondFilter(kind, second),
    ...untilAcked,
    max_ack_pending: limits.bus.laterHeldMax,
    inactive_threshold: nanos(60_000),
  };
}

export const keyValueBuckets = {
  directory: { name: 'directory', ttlMs: 0, maxBytes: gib / 4 },
  /** 30 million numbers at ~11 B each, apart from the directory: an import must never leave no room for a revocation. */
  suppression: { name: 'suppression', ttlMs: 0, maxBytes: gib / 2 - gib / 8 },
  idempotency: { name: 'idempotency', ttlMs: limits.idempotency.ttlMs, maxBytes: streamMbDefault.idempotency * mib },
  /** A record for each machine, so that the server stamps it: what its clock says. */
  clock: { name: 'clock', ttlMs: 60_000, maxBytes: gib / 1024 },
  /**
   * What each account has scheduled, by hour: ~100 octets, at most 14 KiB for an account that uses every hour of 36
   * days.
   */
  scheduled: { name: 'scheduled', ttlMs: (limits.bus.laterDaysMax + 1) * 86_400_000, maxBytes: gib / 4 },
  recorder: { name: 'recorder', ttlMs: 0, maxBytes: gib / 1024 },
  /** Long texts from subscribers whose parts still come: 100,000 × ~1 KiB. */
  inbound: { name: 'inbound', ttlMs: limits.inbound.partsKeptMs, maxBytes: gib / 8 },
  /** For each carrier the place in EVENTS from which it must be read after a restart: ~100 B each. */
  replay: { name: 'replay', ttlMs: 0, maxBytes: gib / 1024 },
  /** A heartbeat for each actor thread and a lease for each bind, ~300 B each. */
  leases: { name: 'leases', ttlMs: 0, maxBytes: gib / 64 },
  /** Which body keys are in use. */
  installation: { name: 'installation', ttlMs: 0, maxBytes: gib / 1024 },
  /** Three versions of 60 million numbers, in chunks. */
  registry: { name: 'registry', ttlMs: 0, maxBytes: gib / 2 },
} as const;
export type KeyValueBucket = keyof typeof keyValueBuckets;

export function bucketBytesMax(bucket: KeyValueBucket, { streamMb }: StreamBounds): number {
  if (bucket === 'idempotency' && streamMb !== undefined) return streamMb.idempotency * mib;
  return keyValueBuckets[bucket].maxBytes;
}

/** The header of a record that ends a key instead of giving it a value. */
export const bucketOperation = 'KV-Operation';
/** The stream behind a bucket, and a key's subject in it: for what the key-value client has no call. */
export const streamOfBucket = (bucket: KeyValueBucket): string => `KV_${keyValueBuckets[bucket].name}`;
export const subjectInBucket = (bucket: KeyValueBucket, key: string): string =>
  `$KV.${keyValueBuckets[bucket].name}.${key}`;
