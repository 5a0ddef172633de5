// Every stream: its subjects, retention and bounds. Full streams refuse (discard: new), so that backpressure reaches
// the client as a 503 or 429; no record is ever discarded, except what is only looked at (WEBHOOK_ATTEMPTS).
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
import { type Shares, defaultShares } from '../../platform/limits-shares.ts';
import { assert } from '../../platform/assert.ts';
import { type StreamMb, linkDaysDefault, otpBytesOf, streamMbDefault } from '../../platform/limits-streams.ts';
import { limits } from '../../platform/limits.ts';
import {
  auditNoteSubject,
  decisionFilter,
  factFilter,
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
  /** Waiting records by who made them wait: each kind has its own bound. */
  waiting: { scheduled: 'SCHEDULED', holds: 'HOLDS', later: 'LATER' } as const satisfies Record<WaitKind, string>,
  cancels: 'CANCELS',
  inbound: 'INBOUND',
  events: 'EVENTS',
  links: 'LINKS',
  clicks: 'CLICKS',
  facts: 'FACTS',
  webhookLog: 'WEBHOOK_LOG',
  webhookAttempts: 'WEBHOOK_ATTEMPTS',
  orders: 'ORDERS',
  dead: 'DEAD',
} as const;

const cancelAge = nanos((limits.bus.laterDaysMax + 1) * 86_400_000);

export type StreamDeclaration = Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'subjects'>;

/** Kept until its age, or until a purge. */
const kept = { retention: RetentionPolicy.Limits, storage: StorageType.File, discard: DiscardPolicy.New } as const;
/** Of a record that is stored twice, the second one is dropped. */
const keeping = { ...kept, duplicate_window: duplicateWindow } as const;
const workQueue = { ...keeping, retention: RetentionPolicy.Workqueue } as const;

/** A message has ~500 bytes: 1 GiB holds two million. The bound per subject keeps one shard from filling the stream. */
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

export function streamDeclarations(bounds: StreamBounds = streamBoundsDefault): readonly StreamDeclaration[] {
  const { queueMessagesMax, streamReplicas, accountQueueMax = accountQueueMaxDefault, shares = defaultShares } = bounds;
  const { streamMb = streamMbDefault, linkDays = linkDaysDefault, webhookDays = limits.delivery.parkedDays } = bounds;
  const { webhookAttemptDays = limits.webhookAttempts.daysDefault } = bounds;
  const scheduledBytes = shares.scheduled_messages.total * limits.scheduled.unitBytes;
  // The last bound of a shard: entry points refuse an account's excess long before.
  const subjectMax = (lane: Lane, usual: number) => Math.max(usual, accountQueueMax[lane] * 2);
  const sized = (name: keyof typeof streamNames & keyof typeof streamMb, ...subjects: string[]) => {
    return { name: streamNames[name], subjects, max_bytes: streamMb[name] * mib };
  };
  const of = (...given: Parameters<typeof sized>) => ({ ...keeping, ...sized(...given) });
  return [
    messageStream('otp', gib / 2, subjectMax('otp', 200_000), queueMessagesMax),
    messageStream('txn', 2 * gib, subjectMax('txn', 1_500_000), queueMessagesMax),
    messageStream('promo', 4 * gib, subjectMax('promo', 3_000_000), queueMessagesMax),
    // Messages that clients scheduled; each account has a share (platform/limits-shares.ts: scheduled_messages).
    { ...workQueue, name: streamNames.waiting.scheduled, subjects: ['scheduled.>'], max_bytes: scheduledBytes },
    // Accepted messages that a carrier holds until quiet hours end: as many as all accounts may have queued.
    { ...workQueue, name: streamNames.waiting.holds, subjects: ['holds.>'], max_bytes: streamMb.holds * mib },
    // The system's own short waits: deferrals of seconds, parked receipts, checks for missing parts. ~500 bytes each.
    { ...workQueue, name: streamNames.waiting.later, subjects: ['later.>'], max_bytes: streamMb.later * mib },
    // Clients' cancels of messages in SCHEDULED, ~100 bytes each; the releaser forgets an hour when it is over.
    { ...kept, name: streamNames.cancels, subjects: ['cancel.>'], max_bytes: gib, max_age: cancelAge },
    // A carrier may repeat an unanswered deliver_sm a minute later, on another bind.
    { ...of('inbound', 'mo.>'), ...workQueue, duplicate_window: nanos(limits.inbound.repeatWindowMs) },
    of('events', 'ev.>'),
    { ...of('links', 'links.>'), max_age: nanos(linksKeptDays(linkDays) * 86_400_000) },
    // Codes with their messages, and clicks, until ClickHouse has them.
    of('clicks', 'clicks.>'),
    // Events of one-time passwords and clicks (model/fact.ts) until ClickHouse and webhook endpoints have them.
    of('facts', factFilter),
    {
      // What an endpoint did not take, ~400 bytes each, until it does. Of one endpoint the oldest ones go beyond its
      // bound; the stream itself refuses.
      ...of('webhookLog', 'whl.>', 'whr.>'),
      max_age: nanos(webhookDays * 86_400_000),
      max_msgs_per_subject: limits.delivery.parkedPerEndpointMax,
    },
    {
      // What was sent to endpoints and what they answered, ~3 KB a record: for people to look at, so the oldest go.
      ...of('webhookAttempts', 'wha.>'),
      discard: DiscardPolicy.Old,
      max_age: nanos(webhookAttemptDays * 86_400_000),
      max_msgs_per_subject: limits.webhookAttempts.recordsMax,
    },
    // Operator commands, ~400 bytes each: the last one of a subject is in effect; earlier ones are purged once the
    // audit log in PostgreSQL has them. Holds three months of a command a minute while PostgreSQL is away.
    { ...keeping, name: streamNames.orders, subjects: ['ops.>', auditNoteSubject], max_bytes: gib / 16 },
    { ...kept, ...sized('dead', 'dead.>') },
  ].map((declaration) => ({ ...declaration, num_replicas: streamReplicas }));
}

/**
 * Redelivers until acked: the handler decides what is poison by its own failures, and deliveries alone prove nothing.
 * `held`: how many records may be without an ack.
 */
const consumerOf = (
  name: string,
  filter: string,
  held: number,
  ackWaitMs: number = limits.carrier.ackWaitMs,
): Partial<ConsumerConfig> => ({
  durable_name: name,
  filter_subject: filter,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(ackWaitMs),
  max_deliver: -1,
  max_ack_pending: held,
});

/**
 * The consumer of one shard of one lane for one carrier. A consumer delivers in stream order, so a single one for all
 * shards would put an account's flood before all others. `windowPdus` is the sum of the carrier's windows: one shard
 * alone can fill them and hold twice as many more; an account shard also has capacity for records on their way to
 * overflow, so that those behind them are delivered.
 */
export function messageConsumer(
  lane: Lane,
  carrier: string,
  shard: MessageShard,
  windowPdus: number,
): Partial<ConsumerConfig> {
  const held =
    typeof shard === 'number'
      ? accountShardHeldMax(windowPdus)
      : Math.min(limits.overflow.heldMax, Math.max(32, windowPdus * 2));
  const { ackWaitMs, ackWaitOtpMs } = limits.carrier;
  const [name, filter] = [messageConsumerName(lane, carrier, shard), messageFilter(lane, carrier, shard)];
  return consumerOf(name, filter, held, lane === 'otp' ? ackWaitOtpMs : ackWaitMs);
}

/** How many records of an account shard may be without an ack. */
export function accountShardHeldMax(windowPdus: number): number {
  return Math.min(limits.carrier.shardHeldMax, windowPdus * 3 + limits.overflow.inFlightMax);
}

export function messageConsumerName(lane: Lane, carrier: string, shard: MessageShard): string {
  return `carrier_${carrier}_${lane}_${shard}`;
}

/** The consumer with which a carrier's actor takes back the receipts it parked. */
export const inboundConsumer = (carrier: string) =>
  consumerOf(`carrier_${carrier}_inbound`, inboundSubject(carrier), 256);

/** The one consumer of subscribers' messages for all threads and nodes. */
export const inboundPartConsumer = () => consumerOf('inbound_parts', inboundPartFilter, limits.inbound.heldMax * 4);

/** The consumer that moves fallback records to DEAD: a few at a time, and rarely. */
export function fallbackConsumer(filter: string | undefined): Partial<ConsumerConfig> {
  assert(filter !== undefined, 'a stream without a fallback subject');
  return consumerOf('unread', filter, limits.bus.fallbackHeldMax);
}

/** The consumer with which the control role stores subscribers' decisions. */
export const decisionConsumer = () => consumerOf('inbound_decisions', decisionFilter, limits.inbound.decisionsHeldMax);

/** Each reader of FACTS has a durable consumer, and what both have acked is purged. */
export function factConsumer(reader: 'recorder' | 'webhooks'): Partial<ConsumerConfig> {
  const { recorderHeldMax, webhooksHeldMax, ackWaitMs } = limits.facts;
  const held = reader === 'recorder' ? recorderHeldMax : webhooksHeldMax;
  return consumerOf(`facts_${reader}`, factFilter, held, ackWaitMs);
}

/** The consumer of all records of a kind that are due in one second; the server deletes it when it is idle. */
export const waitConsumer = (kind: WaitKind, second: number): Partial<ConsumerConfig> => ({
  ...consumerOf(`${kind}_${second}`, waitSecondFilter(kind, second), limits.bus.laterHeldMax),
  inactive_threshold: nanos(60_000),
});

export const keyValueBuckets = {
  directory: { ttlMs: 0, maxBytes: gib / 4 },
  /** 30 million numbers at ~11 B, apart from the directory: an import must always leave room for a revocation. */
  suppression: { ttlMs: 0, maxBytes: gib / 2 - gib / 8 },
  idempotency: { ttlMs: limits.idempotency.ttlMs, maxBytes: streamMbDefault.idempotency * mib },
  /** One record per machine, for its server timestamp: the content is that machine's clock. */
  clock: { ttlMs: 60_000, maxBytes: gib / 1024 },
  /**
   * What each account has scheduled, by hour: ~100 octets, at most 14 KiB for an account that uses each hour of 36
   * days.
   */
  scheduled: { ttlMs: (limits.bus.laterDaysMax + 1) * 86_400_000, maxBytes: gib / 4 },
  recorder: { ttlMs: 0, maxBytes: gib / 1024 },
  /** Multipart texts of subscribers that are incomplete: 100,000 × ~1 KiB. */
  inbound: { ttlMs: limits.inbound.partsKeptMs, maxBytes: gib / 8 },
  /** Each carrier's position in EVENTS for a restart: ~100 B each. */
  replay: { ttlMs: 0, maxBytes: gib / 1024 },
  /** One-time passwords: a record for each number with one in the last hour; its size follows from its share. */
  otp: {
    ttlMs: limits.otp.recordTtlMs,
    maxBytes: otpBytesOf(defaultShares.otp_started.total),
  },
  /** When guesses about a number failed, beyond the hour of its record. */
  otp_failures: { ttlMs: limits.otp.failuresTtlMs, maxBytes: limits.otp.failuresBucketBytes },
  /** Blocked prefixes and the lists of accounts. */
  otp_guard: { ttlMs: 0, maxBytes: limits.otpGuard.bucketBytes },
  /**
   * Up to where the records of one-time passwords and of the guard were published, and which process publishes them.
   */
  otp_events: { ttlMs: 0, maxBytes: gib / 1024 },
  /** Webhooks: the place of the fan-out, its owner, and ~300 B for each endpoint that fails. */
  webhooks: { ttlMs: 0, maxBytes: gib / 16 },
  /** A heartbeat per actor thread and a lease per bind, ~300 B each. */
  leases: { ttlMs: 0, maxBytes: gib / 64 },
  erasures: { ttlMs: 0, maxBytes: limits.erasure.bucketBytes },
  installation: { ttlMs: 0, maxBytes: gib / 1024 },
  /** Three versions of 60 million numbers, in chunks. */
  registry: { ttlMs: 0, maxBytes: gib / 2 },
} as const;
export type KeyValueBucket = keyof typeof keyValueBuckets;

export function bucketBytesMax(bucket: KeyValueBucket, { streamMb, shares }: StreamBounds): number {
  if (bucket === 'otp' && shares !== undefined) return otpBytesOf(shares.otp_started.total);
  if (bucket === 'idempotency' && streamMb !== undefined) return streamMb.idempotency * mib;
  return keyValueBuckets[bucket].maxBytes;
}

/** The header of a record that deletes a key. */
export const bucketOperation = 'KV-Operation';
/** The stream of a bucket and the subject of a key, for operations that the key-value client lacks. */
export const streamOfBucket = (bucket: KeyValueBucket): string => `KV_${bucket}`;
export const subjectInBucket = (bucket: KeyValueBucket, key: string): string => `$KV.${bucket}.${key}`;

/** What the operator sets of streams (heliograph.yaml: limits, retention). */
export type StreamBounds = {
  /** Messages in one MT stream before it refuses. */
  readonly queueMessagesMax: number;
  readonly accountQueueMax?: AccountQueueMax;
  readonly shares?: Pick<Shares, 'scheduled_messages' | 'otp_started'>;
  readonly streamMb?: StreamMb;
  /** How long a short link leads on, in days. */
  readonly linkDays?: number;
  /** How long WEBHOOK_LOG keeps a record, and WEBHOOK_ATTEMPTS, in days. */
  readonly webhookDays?: number;
  readonly webhookAttemptDays?: number;
  /** Replicas of each stream: 1 on one machine, 3 in a cluster. */
  readonly streamReplicas: number;
};

/**
 * For how many days it is kept where short links lead, and whose their codes are: for as long as the last message with one may
 * need it. A message may be sent 36 days after it was accepted, and a series is shared by the messages of a day.
 */
export const linksKeptDays = (linkDays: number): number => linkDays + limits.bus.laterDaysMax + 2;

export const streamBoundsDefault: StreamBounds = { queueMessagesMax: 5_000_000, streamReplicas: 1 };
