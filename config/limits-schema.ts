// The schema of `limits` in heliograph.yaml: sizes of streams (`limits.streams: { events_mb, … }`) and the bounds that
// accounts share (`limits.shares.<bound>: { total, per_account, per_account_otp, reserve }`). Absent keys have their
// default of platform/limits-streams.ts and platform/limits-shares.ts.
import { z } from 'zod';
import {
  type BoundName,
  type Share,
  type Shares,
  boundNames,
  defaultShares,
  shareProblem,
} from '../platform/limits-shares.ts';
import type { LimitsConfig } from './configuration.ts';
import { mapOf, whole } from './fields.ts';
import { accountQueueMaxDefault } from '../platform/limits-lanes.ts';
import { limits } from '../platform/limits.ts';
import { linkDaysDefault, streamMbDefault } from '../platform/limits-streams.ts';

const units = whole(1, 1_000_000_000).optional();

const shareOf = (name: BoundName) =>
  mapOf({
    total: units,
    per_account: units,
    per_account_otp: units,
    reserve: whole(0, 1_000_000_000).optional(),
  })
    .superRefine((file, context) => {
      const wrong = shareProblem(withDefaults(name, file));
      if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
    })
    .optional();

type ShareFile = Partial<Record<'total' | 'per_account' | 'per_account_otp' | 'reserve', number | undefined>>;

const shares = mapOf(
  Object.fromEntries(boundNames.map((name) => [name, shareOf(name)])) as Record<BoundName, ReturnType<typeof shareOf>>,
).default({});

function sharesOf(file: z.infer<typeof shares>): Shares {
  return Object.fromEntries(boundNames.map((name) => [name, withDefaults(name, file[name] ?? {})])) as Record<
    BoundName,
    Share
  >;
}

function withDefaults(name: BoundName, file: ShareFile): Share {
  const usual: Share = defaultShares[name];
  const perAccountOtp = file.per_account_otp ?? usual.perAccountOtp;
  return {
    total: file.total ?? usual.total,
    perAccount: file.per_account ?? usual.perAccount,
    reserve: file.reserve ?? usual.reserve,
    ...(perAccountOtp !== undefined && { perAccountOtp }),
  };
}

const mb = whole(16, 10_000_000);

const queue = whole(1_000, 10_000_000);

export const limitsSchema = mapOf({
  queue_messages_max: whole(1_000, 100_000_000).default(5_000_000),
  account_queue_max: mapOf({
    otp: queue.default(accountQueueMaxDefault.otp),
    transactional: queue.default(accountQueueMaxDefault.txn),
    promotional: queue.default(accountQueueMaxDefault.promo),
  }).prefault({}),
  stream_replicas: whole(1, 5).default(1),
  stream_store_mb_max: whole(256, 10_000_000).default(28_672),
  drain_s_max: whole(5, 600).default(limits.supervision.carriersDrainMsMax / 1_000),
  streams: mapOf({
    events_mb: mb.default(streamMbDefault.events),
    holds_mb: mb.default(streamMbDefault.holds),
    later_mb: mb.default(streamMbDefault.later),
    inbound_mb: mb.default(streamMbDefault.inbound),
    webhooks_mb: mb.default(streamMbDefault.webhooks),
    webhook_log_mb: mb.default(streamMbDefault.webhookLog),
    webhook_attempts_mb: mb.default(streamMbDefault.webhookAttempts),
    dead_mb: mb.default(streamMbDefault.dead),
    idempotency_mb: mb.default(streamMbDefault.idempotency),
    links_mb: mb.default(streamMbDefault.links),
    clicks_mb: mb.default(streamMbDefault.clicks),
  }).prefault({}),
  shares,
  link_days: whole(1, 365).default(linkDaysDefault),
  webhook_attempt_days: whole(1, 90).default(limits.webhookAttempts.daysDefault),
  api_key_days_default: z.union([z.null(), whole(1, 3_650)]).default(null),
}).prefault({});

export function limitsOf(file: z.infer<typeof limitsSchema>): LimitsConfig {
  const { account_queue_max: queueMax, streams } = file;
  return {
    queueMessagesMax: file.queue_messages_max,
    accountQueueMax: { otp: queueMax.otp, txn: queueMax.transactional, promo: queueMax.promotional },
    streamReplicas: file.stream_replicas,
    streamStoreMbMax: file.stream_store_mb_max,
    drainMsMax: file.drain_s_max * 1_000,
    streamMb: {
      events: streams.events_mb,
      holds: streams.holds_mb,
      later: streams.later_mb,
      inbound: streams.inbound_mb,
      webhooks: streams.webhooks_mb,
      webhookLog: streams.webhook_log_mb,
      webhookAttempts: streams.webhook_attempts_mb,
      dead: streams.dead_mb,
      idempotency: streams.idempotency_mb,
      links: streams.links_mb,
      clicks: streams.clicks_mb,
    },
    shares: sharesOf(file.shares),
    linkDays: file.link_days,
    webhookAttemptDays: file.webhook_attempt_days,
    apiKeyDaysDefault: file.api_key_days_default,
  };
}
