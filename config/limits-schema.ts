// The schema of `limits` in heliograph.yaml: sizes of streams (`limits.streams: { events_mb, … }`) and the bounds that
// accounts share (`limits.shares.<bound>: { total, per_account, per_account_urgent, reserve, reserve_otp }`). Absent keys
// have their default of platform/limits-streams.ts and platform/limits-shares.ts.
import { z } from 'zod';
import { type BoundName, type Share, boundNames, defaultShares, shareProblem } from '../platform/limits-shares.ts';
import { eachOf, mapOf, rawMapOf, whole } from './fields.ts';
import { camelFields, snakeCase } from '../platform/letter-case.ts';
import { accountQueueMaxDefault } from '../platform/limits-lanes.ts';
import { limits } from '../platform/limits.ts';
import { type StreamMb, linkDaysDefault, streamMbDefault } from '../platform/limits-streams.ts';

const units = whole(1, 1_000_000_000).optional();
const reserved = whole(0, 1_000_000_000).optional();

const shareKeys = {
  ...{ total: units, per_account: units, per_account_urgent: units },
  ...{ reserve: reserved, reserve_otp: reserved },
};
const shareOf = (name: BoundName) =>
  rawMapOf(shareKeys)
    .transform((file, context) => {
      const share = withDefaults(name, file);
      const wrong = shareProblem(share);
      if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
      return share;
    })
    .prefault({});

function withDefaults(name: BoundName, file: { readonly [Key in keyof typeof shareKeys]?: number }): Share {
  const share: Share = { ...defaultShares[name], ...camelFields(file) };
  if (file.reserve_otp !== undefined || share.reserveOtp === undefined) return share;
  // A reserve that was made smaller has less for OTP.
  return { ...share, reserveOtp: Math.min(share.reserveOtp, share.reserve) };
}

const mb = whole(16, 10_000_000);
const streamNames = Object.keys(streamMbDefault) as (keyof StreamMb)[];
const streams = rawMapOf(
  Object.fromEntries(streamNames.map((name) => [`${snakeCase(name)}_mb`, mb.default(streamMbDefault[name])])),
)
  .transform((file) => Object.fromEntries(streamNames.map((name) => [name, file[`${snakeCase(name)}_mb`]])) as StreamMb)
  .prefault({});

const queue = whole(1_000, 10_000_000);

export const limitsSchema = mapOf({
  /** Messages that may wait in one MT stream before the ingress answers 503. */
  queue_messages_max: whole(1_000, 100_000_000).default(5_000_000),
  /** Messages of one account that may wait for one carrier in one lane before it answers 429. */
  account_queue_max: rawMapOf({
    otp: queue.default(accountQueueMaxDefault.otp),
    transactional: queue.default(accountQueueMaxDefault.txn),
    promotional: queue.default(accountQueueMaxDefault.promo),
  })
    .transform(({ otp, transactional: txn, promotional: promo }) => ({ otp, txn, promo }))
    .prefault({}),
  /** Copies of every stream and bucket; of an even number as many may be lost as of one less. */
  stream_replicas: whole(1, 5)
    .refine((copies) => copies % 2 === 1, { error: '1, 3 or 5: an even number of copies survives no more losses' })
    .default(1),
  /** Disk the embedded nats-server may use for all streams. */
  stream_store_mb_max: whole(256, 10_000_000).default(28_672),
  /** The longest that a stop waits for responses of carriers, including all steps of the drain. */
  drain_s_max: whole(5, 600).default(limits.supervision.carriersDrainMsMax / 1_000),
  streams,
  shares: eachOf(boundNames, shareOf).prefault({}),
  /** How long a short link leads on, in days. */
  link_days: whole(1, 365).default(linkDaysDefault),
  /** How long what was sent to webhook endpoints is kept to be looked at, in days. */
  webhook_attempt_days: whole(1, 90).default(limits.webhookAttempts.daysDefault),
  /** Default lifetime of API keys; null: unlimited. */
  api_key_days_default: z.union([z.null(), whole(1, 3_650)]).default(null),
})
  .transform(({ streams: streamMb, drainSMax, ...file }) => ({ ...file, streamMb, drainMsMax: drainSMax * 1_000 }))
  .prefault({});
