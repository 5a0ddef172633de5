// What is sent to webhook endpoints, one schema for each type: `webhooks` of the OpenAPI document. The bodies are made in
// actors/webhook (event-body.ts, fact-content.ts, endpoint-events.ts); a test checks those, and the examples of
// docs/webhooks.md, with these. Objects are strict, so that a new member cannot be forgotten here.
import { z } from '@hono/zod-openapi';
import { sendErrors } from '../../../actors/webhook/send/send-error.ts';
import { clickClasses } from '../../../model/click-class.ts';
import { keywords } from '../../../model/keyword.ts';
import { categories } from '../../../model/message.ts';
import { otpEndReasons } from '../../../model/otp.ts';
import {
  type WebhookEventType,
  webhookBatchType,
  webhookDisabledReasons,
  type webhookTestType,
} from '../../../model/webhook-endpoint.ts';
import { timeSchema } from './common.ts';

const sequence = z
  .int()
  .describe('Greater for what happened later, and the same in every repeat: events may arrive in another order.');
const shared = { livemode: z.boolean(), sequence };
const nullable = z.string().nullable();

const outbound = (status: string) =>
  z.strictObject({
    id: z.string(),
    object: z.literal('sms'),
    direction: z.literal('outbound'),
    status: z.literal(status),
    to: z.string(),
    from: z.string(),
    category: z.enum(categories),
    encoding: z.enum(['gsm7', 'ucs2']),
    segments: z.int(),
    client_reference: nullable,
    created_at: timeSchema,
    scheduled_at: timeSchema.optional().describe('Only of a message that was scheduled.'),
    carrier: nullable.describe('null: none had it.'),
    error: nullable,
    campaign_id: nullable,
    template_id: nullable,
    ...shared,
  });

const inbound = z.strictObject({
  id: z.string(),
  object: z.literal('sms'),
  direction: z.literal('inbound'),
  status: z.literal('received'),
  to: z.string().describe('Your number, as registered.'),
  from: z.string().describe('The subscriber.'),
  text: nullable.describe('null: binary, or not kept any more.'),
  binary: z.strictObject({ data_coding: z.int(), octets: z.string().describe('Base64.') }).optional(),
  keyword: z.enum(keywords).nullable(),
  encoding: z.enum(['gsm7', 'ucs2']),
  segments: z.int(),
  segments_received: z.int(),
  carrier: z.string(),
  created_at: timeSchema,
  ...shared,
});

const optOut = z.strictObject({
  object: z.literal('opt_out'),
  number: z.string().describe('The subscriber.'),
  sender: nullable.describe('Your number that they wrote to; null: all of your senders.'),
  received_id: z.string().describe('The `sms.received` that asked for it.'),
  created_at: timeSchema,
  ...shared,
});

const otpMembers = {
  id: z.string(),
  object: z.literal('otp'),
  to: z.string(),
  purpose: z.string(),
  language: z.string(),
  attempts: z.int().describe('Guesses that were counted.'),
  sms_id: nullable.describe('Its last message.'),
  sends: z.int(),
  client_reference: nullable,
  created_at: timeSchema,
  ended_at: timeSchema,
  ...shared,
};
const otpVerified = z.strictObject({ status: z.literal('verified'), ...otpMembers });
const otpFailed = z.strictObject({
  status: z.enum(['expired', 'max_attempts_reached', 'failed']),
  reason: z.enum(otpEndReasons),
  ...otpMembers,
});
const otpBlocked = z.strictObject({
  object: z.literal('otp_block'),
  prefix: z.string(),
  rule: z.string(),
  statistic: z.number(),
  threshold: z.number(),
  times: z.int().describe('Its number in a row of blocks, from 1.'),
  shadow: z.boolean().describe('true: of a rule that only reports.'),
  created_at: timeSchema,
  until: timeSchema,
  ...shared,
});

const click = z.strictObject({
  id: z.string(),
  object: z.literal('click'),
  class: z.enum(clickClasses),
  reasons: z.array(z.string()),
  link_id: z.string(),
  url: z.string(),
  sms_id: nullable.describe('null: the code was never sent.'),
  category: z.string(),
  from: z.string(),
  campaign_id: nullable,
  variant_id: nullable,
  template_id: nullable,
  created_at: timeSchema,
  ...shared,
});

const otherEndpoint = {
  object: z.literal('webhook'),
  id: z.string().describe('The endpoint that it is about.'),
  url: z.string(),
  failing_since: timeSchema,
  tries: z.int(),
  error: z.enum(sendErrors).nullable(),
  ...shared,
};
const failing = z.strictObject({ ...otherEndpoint, next_try_at: timeSchema });
const disabled = z.strictObject({ ...otherEndpoint, disabled_reason: z.enum(webhookDisabledReasons) });
const test = z.strictObject({ object: z.literal('webhook'), id: z.string(), ...shared });

const dataOf: { readonly [Type in WebhookEventType | typeof webhookTestType]: z.ZodType } = {
  'sms.submitted': outbound('submitted'),
  'sms.delivered': outbound('delivered'),
  'sms.undelivered': outbound('undelivered'),
  'sms.expired': outbound('expired'),
  'sms.rejected': outbound('rejected'),
  'sms.unknown': outbound('unknown'),
  'sms.failed': outbound('failed'),
  'sms.blocked': outbound('blocked'),
  'sms.canceled': outbound('canceled'),
  'sms.received': inbound,
  'sms.opted_out': optOut,
  'link.clicked': click,
  'link.requested': click,
  'otp.verified': otpVerified,
  'otp.failed': otpFailed,
  'otp.blocked': otpBlocked,
  'webhook.failing': failing,
  'webhook.disabled': disabled,
  'webhook.test': test,
};

const eventBody = (type: string, data: z.ZodType) =>
  z.strictObject({ type: z.literal(type), timestamp: timeSchema.describe('When it happened.'), data });

const anyEvent = z.object({
  id: z.string().describe('The `webhook-id` that it would have alone.'),
  type: z.string(),
  timestamp: timeSchema,
  data: z.record(z.string(), z.unknown()),
});
const batch = z.strictObject({
  type: z.literal(webhookBatchType),
  timestamp: timeSchema.describe('That of its last event.'),
  data: z.strictObject({ object: z.literal('webhook_batch'), events: z.array(anyEvent) }),
});

/** By the `type` of the body. */
export const webhookBodies: ReadonlyMap<string, z.ZodType> = new Map([
  ...Object.entries(dataOf).map(([type, data]): [string, z.ZodType] => [type, eventBody(type, data)]),
  [webhookBatchType, batch],
]);

export const webhookHeaders = z.object({
  'webhook-id': z.string().describe('The same in every try and replay of the event, or of the batch.'),
  'webhook-timestamp': z.string().describe('Of this try, in seconds since the epoch.'),
  'webhook-signature': z.string().describe('`v1,` and base64, for each secret that signs, with a blank between them.'),
});
