// Webhook endpoints as JSON. Whether a URL is allowed depends on heliograph.yaml: routes/webhooks.ts asks for that.
import { z } from '@hono/zod-openapi';
import type { EndpointFailing } from '../../../actors/webhook/contract.ts';
import { sendErrors } from '../../../actors/webhook/send/send-error.ts';
import {
  everyEventType,
  webhookBatchType,
  webhookDisabledReasons,
  webhookEventTypes,
  webhookOrderings,
  webhookTestType,
  webhookTypesOfEndpoints,
} from '../../../model/webhook-endpoint.ts';
import { isEventId, isWebhookId } from '../../../model/ids.ts';
import { momentOf, whyNoMoment, withPlus } from '../../../model/moment.ts';
import { snakeFields } from '../../../platform/letter-case.ts';
import { limits } from '../../../platform/limits.ts';
import { listOf, pageQuery, timeSchema, wholeInQuery } from './common.ts';
import { refusing, text, whole } from './gates.ts';

const { urlCharsMax, descriptionCharsMax, secretsMax } = limits.webhooks;
const { overlapSecondsDefault, overlapSecondsMax } = limits.webhooks;
const { batchEventsMin, batchEventsMax, batchWaitMsMin, batchWaitMsMax } = limits.webhooks;

const types = [everyEventType, ...webhookEventTypes] as const;
const events = z
  .array(z.enum(types, { error: `expected one of ${types.join(', ')}` }), { error: 'expected a list of event types' })
  .max(webhookEventTypes.length, 'expected every type only once')
  .refine((list) => new Set(list).size === list.length, 'expected every type only once')
  .refine((list) => !list.includes(everyEventType) || list.length === 1, 'expected "*" alone, or types by name')
  .openapi({
    description:
      'The types it gets; `["*"]`: every type but `link.requested`, those of later versions too; `[]`: only events of messages whose ' +
      '`callback_url` has its origin.',
    example: ['sms.delivered', 'sms.undelivered'],
  });
const batch = z
  .strictObject(
    {
      max_events: whole(batchEventsMin, batchEventsMax).describe('A request is sent when it has so many.'),
      max_wait_ms: whole(batchWaitMsMin, batchWaitMsMax).describe('Or so long after its first event.'),
    },
    { error: 'expected null, or an object with max_events and max_wait_ms' },
  )
  .nullable()
  .openapi({
    description: 'Several events in one request, of the type `webhook.batch`. null: one event each.',
    example: { max_events: 50, max_wait_ms: 1_000 },
  });
const ordering = z
  .enum(webhookOrderings, { error: `expected one of ${webhookOrderings.join(', ')}` })
  .describe('`per_message`: the events of one message one after another. `none`: as they come, several at a time.');
const url = z
  .string({ error: 'expected a URL' })
  .refine((text) => text.isWellFormed(), 'expected a URL without lone surrogates')
  .openapi({ format: 'uri', maxLength: urlCharsMax, example: 'https://example.com/heliograph' });
const description = text(0, descriptionCharsMax);
const status = z.enum(['enabled', 'disabled'], { error: 'expected enabled or disabled' });

export const webhook = z
  .object({
    id: z.string().openapi({ example: 'whe_01K3Z8Q4T6W9XAB2CD3EF4GH5J' }),
    object: z.literal('webhook'),
    url: z.string(),
    events: z.array(z.string()),
    ordering: z.enum(webhookOrderings),
    batch: z.object({ max_events: z.int(), max_wait_ms: z.int() }).nullable(),
    description: z.string(),
    livemode: z.boolean().describe('That of the key that created it: it gets the events of such messages only.'),
    status,
    disabled_reason: z
      .enum(webhookDisabledReasons)
      .nullable()
      .describe('`client`: by a change of this endpoint · `gone`: it answered 410 · `failing`: no success for days.'),
    disabled_at: timeSchema.nullable(),
    created_at: timeSchema,
  })
  .openapi('Webhook');

const webhookHealth = z
  .object({
    failing_since: timeSchema.nullable().describe('null: it does not fail.'),
    error: z.enum(sendErrors).nullable().describe('How the last try failed.'),
    tries: z.int().describe('Since it fails.'),
    next_try_at: timeSchema.nullable().describe('null: it does not fail, or is disabled.'),
    warned_at: z
      .array(timeSchema)
      .describe('When `webhook.failing` was sent to the other endpoints of the account, if it has any.'),
  })
  .openapi('WebhookHealth');

export function healthShape({ failingSinceMs, nextTryAtMs, tries, error, warnedAtMs }: EndpointFailing): object {
  return {
    failing_since: failingSinceMs === null ? null : new Date(failingSinceMs),
    warned_at: warnedAtMs.map((atMs) => new Date(atMs)),
    ...snakeFields({ error, tries, nextTryAtMs }),
  };
}

/** As it is read: with how it fails. */
export const shownWebhook = webhook
  .extend({
    health: webhookHealth
      .nullable()
      .describe('How it fails, since its last success; null: that cannot be read at the moment.'),
  })
  .openapi('ShownWebhook');

const secret = z
  .string()
  .nullable()
  .describe('What signs its requests. It is shown only once: null in a repeat of the request.')
  .openapi({ example: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD2yC0M5iQ1Yk=' });

export const newWebhook = webhook.extend({ secret }).openapi('NewWebhook');

const optional = {
  events: events.optional(),
  ordering: ordering.optional(),
  batch: batch.optional(),
  description: description.optional(),
};
export const createWebhookBody = z.strictObject({ url, ...optional }).openapi('CreateWebhook');

// Not an extension of CreateWebhook: the document would then demand the url here too.
export const changeWebhookBody = z
  .strictObject({ url: url.optional(), ...optional, status: status.optional() })
  .openapi('ChangeWebhook');

export const rotateSecretBody = z
  .strictObject({
    overlap_seconds: whole(0, overlapSecondsMax)
      .default(overlapSecondsDefault)
      .describe(
        `How long the secrets before it still sign, beside it; at most ${secretsMax} sign at once. 0: not at all.`,
      ),
  })
  .openapi('RotateWebhookSecret');

export const rotatedWebhook = newWebhook
  .extend({
    previous_secrets_end_at: timeSchema.describe(
      'When none of those before it signs any more; one that had an earlier end keeps that.',
    ),
  })
  .openapi('RotatedWebhook');

const headersSchema = z.record(z.string(), z.string());

export const webhookAttempt = z
  .object({
    id: z.string().openapi({ example: 'wha_01K3Z8Q4T6W9XAB2CD3EF4GH5J' }),
    object: z.literal('webhook_attempt'),
    webhook_id: z.string().describe('The header of the request: the id of its event or batch, the same in every try.'),
    event_ids: z.array(z.string()).describe('The events it had: several for a batch.'),
    type: z.string().openapi({ example: 'sms.delivered' }),
    at: timeSchema,
    url: z.string(),
    attempt: z.int().describe('1: the first try of this event.'),
    succeeded: z.boolean(),
    error: z.enum(sendErrors).nullable().describe('Why it failed; null: a 2xx.'),
    detail: z.string(),
    status: z.int().nullable().describe('The HTTP status; null: there was no answer.'),
    request: z
      .object({ headers: headersSchema, body: z.string(), body_chars: z.int() })
      .describe('What was sent: of a long body the beginning, and the length of all of it.'),
    response: z
      .object({ headers: headersSchema, body: z.string() })
      .nullable()
      .describe('What was answered, as far as it is kept; null: nothing.'),
    latency_ms: z.number(),
  })
  .openapi('WebhookAttempt');

export const webhookAttempts = listOf('WebhookAttemptPage', webhookAttempt)
  .extend({
    health: webhookHealth.nullable().describe('null: the delivery process does not answer at the moment.'),
    waiting: z.int().nullable().describe('Events that are kept for it until it takes them; null, as above.'),
  })
  .openapi('WebhookAttemptList');

const momentText = z.string({ error: whyNoMoment(undefined) });
const isMoment = refusing((value: string) => (momentOf(value) === null ? whyNoMoment(value) : null));
const shownMoment = { format: 'date-time', example: '2026-01-31T09:00:00+06:00' } as const;
const moment = momentText.superRefine(isMoment).openapi(shownMoment);
const momentInQuery = momentText.overwrite(withPlus).superRefine(isMoment).openapi(shownMoment);

const anEvent = 'expected the id of an event: evt_ and 22 characters';
const eventId = z
  .string({ error: anEvent })
  .refine(isEventId, `${anEvent}; of a batch, one of its events`)
  .openapi({ example: 'evt_3q2Zr1m0c9hVbJx7dKpW4A' });
const aWebhookId = 'expected the id of an event or a batch: evt_ or evb_ and 22 characters';
const webhookId = z.string({ error: aWebhookId }).refine(isWebhookId, aWebhookId);

/** What an attempt can be of: events that endpoints subscribe to, tests, and batches. */
const attemptTypes: readonly string[] = [...webhookEventTypes, webhookTestType, webhookBatchType];

export const attemptsQuery = pageQuery.extend({
  result: z.enum(['succeeded', 'failed'], { error: 'expected succeeded or failed' }).optional(),
  error: z
    .enum(sendErrors, { error: `expected one of ${sendErrors.join(', ')}` })
    .optional()
    .describe('Only attempts that failed so.'),
  event_id: webhookId.optional().describe('Only attempts of this event, or with this `webhook-id`.'),
  type: z
    .enum(attemptTypes, { error: `expected one of ${attemptTypes.join(', ')}` })
    .optional()
    .describe('Only of this type.')
    .openapi({ example: 'sms.delivered' }),
  since: momentInQuery.optional().describe('Only attempts from this time on.'),
  until: momentInQuery.optional().describe('Only attempts before this time.'),
});

export const replayBody = z
  .strictObject({
    event_id: eventId
      .optional()
      .describe(
        'One event: the `webhook-id` it had. Beside it `since` and `until` say when it happened, its `timestamp`: in a long history it is found with them only.',
      ),
    since: moment.optional().describe('Or all events from this time on.'),
    until: moment.optional().describe('Events before this time only. Left out: up to now.'),
  })
  .openapi('ReplayWebhook');

export const replayed = z
  .object({
    object: z.literal('webhook_replay'),
    webhook: z.string(),
    events: z
      .int()
      .nullable()
      .describe('How many are sent again, under the `webhook-id` each had. Null: more than were counted at once.'),
    not_replayed: z
      .array(z.enum(webhookTypesOfEndpoints))
      .describe(
        'Types that the endpoint subscribes to and that are not sent again, because they are not in the history of messages: ' +
          '`health` of `GET /v1/webhooks/{id}` says how the endpoint they are about fails at the moment, and the audit log when it was disabled.',
      ),
  })
  .openapi('WebhookReplay');

export const testEventsQuery = z.strictObject({
  cursor: z.string().max(40).optional().describe('Of the previous answer.'),
  wait_seconds: wholeInQuery(0, limits.webhooks.listen.waitSecondsMax, 0),
});

export const testEventPage = z
  .object({
    data: z.array(
      z
        .object({
          id: z.string().describe('The `webhook-id` that a request to an endpoint has.'),
          type: z.string().openapi({ example: 'sms.delivered' }),
          timestamp: timeSchema,
          data: z.record(z.string(), z.unknown()),
        })
        .openapi('WebhookEvent'),
    ),
    cursor: z.string().describe('For the next request.'),
    missed: z.boolean().describe('Events since the cursor of the request are not known any more.'),
  })
  .openapi('TestEvents');
