// The hot routes for the documentation. api/http serves them, and its table of fields is the request body here; nothing
// is validated with these schemas at run time.
import { z } from '@hono/zod-openapi';
import { keywords } from '../../../model/keyword.ts';
import { categories } from '../../../model/message.ts';
import { messageStatuses } from '../../../model/status.ts';
import { limits } from '../../../platform/limits.ts';
import { sendSmsSchema, smsFields, smsRequestOf } from '../../http/sms-request.ts';
import { timeSchema } from './common.ts';

const id = z.string().openapi({ example: 'sms_01K3Z8Q4T6W9XAB2CD3EF4GH5J' });
const recipient = z.string().openapi(smsFields.to.schema);
const sender = z.string().openapi(smsFields.from.schema);
const category = z.enum(categories);
const reference = z.string().max(limits.http.clientReferenceCharsMax);

export const sendSmsBody = z
  .record(z.string(), z.unknown())
  .refine((body) => smsRequestOf(body).ok)
  .openapi('SendSms', sendSmsSchema as object);

const shared = {
  id,
  object: z.literal('sms'),
  to: recipient,
  from: sender,
  category,
  encoding: z.enum(['gsm7', 'ucs2']),
  segments: z.int(),
  livemode: z.boolean(),
  client_reference: reference.nullable(),
  created_at: timeSchema,
};

const ucs2Because = z.strictObject({ character: z.string(), code_point: z.string(), index: z.int().min(0) });

export const acceptedSms = z
  .object({
    ...shared,
    status: z.enum(['accepted', 'scheduled']),
    scheduled_at: timeSchema
      .optional()
      .describe('With status scheduled: its `send_at`, or the end of the quiet hours it waits for.'),
    ucs2_because: ucs2Because.optional().openapi({
      description:
        'With encoding auto: the character that made the text UCS-2 (with transliterate: one that has no look-alike), ' +
        'its code point and its position in UTF-16 units.',
      example: { character: 'আ', code_point: 'U+0986', index: 0 },
    }),
    links: z
      .int()
      .optional()
      .describe('With `track_clicks`: how many links of the text are short ones now; 0: it has no http(s) link.'),
  })
  .openapi('AcceptedSms');

const smsStatus = z.enum(messageStatuses).openapi('SmsStatus');

export const outboundSms = z
  .object({
    ...shared,
    object: z
      .enum(['sms', 'refused_request'])
      .describe('A `refused_request` was refused at the ingress and is not a message; its `to` is masked.'),
    direction: z.literal('outbound'),
    status: smsStatus,
    scheduled_at: timeSchema.optional(),
    history: z.array(
      z.object({ status: z.string(), at: timeSchema, carrier: z.string().nullable(), error: z.string().nullable() }),
    ),
    timing_ms: z.object({ accepted_to_submitted: z.int().nullable(), submitted_to_delivered: z.int().nullable() }),
    error: z.string().nullable(),
    otp_id: z
      .string()
      .nullable()
      .optional()
      .describe(
        'Of `GET /v1/sms/{id}`, where the category is `otp`: whose code it has. Null of a message of `POST /v1/sms`, and from an hour after the end of the one-time password.',
      ),
  })
  .openapi('OutboundSms');

export const inboundSms = z
  .object({
    id,
    object: z.literal('sms'),
    direction: z.literal('inbound'),
    status: z.literal('received'),
    to: z.string().openapi({ description: 'The number of yours it was sent to, as registered.', example: '16000' }),
    from: z
      .string()
      .openapi({ description: 'The subscriber, E.164 where the carrier names it.', example: '+8801712345678' }),
    text: z
      .string()
      .nullable()
      .describe(
        'Null unless the account keeps it (`inbound.keep_text` of its settings) and for binary messages; `[…]` replaces parts that never came.',
      ),
    binary: z.object({ data_coding: z.int(), octets: z.string() }).optional().describe('Eight-bit data, base64.'),
    keyword: z.enum(keywords).nullable().describe('What the whole text asked for, where it is a keyword.'),
    encoding: z.enum(['gsm7', 'ucs2']),
    segments: z.int(),
    segments_received: z.int().describe('Fewer than `segments`: the others never came.'),
    livemode: z.boolean(),
    carrier: z.string().nullable(),
    created_at: timeSchema,
  })
  .openapi('InboundSms');

export const sms = z.union([outboundSms, inboundSms]).openapi('Sms');

const refusedItem = z.object({
  code: z.string(),
  detail: z.string(),
  errors: z.array(z.object({ field: z.string(), code: z.string(), detail: z.string() })),
});

export const sendBatchBody = z
  .strictObject({
    messages: z
      .array(sendSmsBody)
      .min(1)
      .max(limits.http.batch.messagesMax)
      .describe('Each as in POST /v1/sms. A refused message does not affect the others.'),
  })
  .openapi('SendBatch');

export const acceptedBatch = z
  .object({
    accepted: z.int(),
    rejected: z.int(),
    results: z
      .array(
        z.union([
          z.object({ index: z.int(), id, status: z.enum(['accepted', 'scheduled']) }),
          z.object({ index: z.int(), error: refusedItem }),
        ]),
      )
      .describe('One for each message, in the order of the request.'),
  })
  .openapi('AcceptedBatch');

const gateVerdict = z.object({
  gate: z.string(),
  verdict: z.enum(['passed', 'refused', 'held', 'not_asked']),
  code: z.string().nullable(),
  field: z.string().nullable(),
  detail: z.string().nullable(),
});
const candidate = z.object({ carrier: z.string(), why: z.string() });

export const explainedSms = z
  .object({
    object: z.literal('sms_explanation'),
    would_send: z.boolean(),
    to: z.string(),
    from: z.string(),
    category,
    livemode: z.boolean(),
    gates: z.array(gateVerdict).describe('Every gate in its order.'),
    message: z.string().nullable(),
    encoding: z.enum(['gsm7', 'ucs2']).nullable(),
    segments: z.array(z.object({ text: z.string(), units: z.int() })),
    costly_characters: z
      .array(z.string())
      .describe('Characters that take two units, and so may cause another segment.'),
    ucs2_because: ucs2Because.optional(),
    national_tables: z
      .object({ available: z.array(z.string()), used: z.array(z.string()), why: z.string() })
      .nullable()
      .describe('GSM-7 shift tables that all carriers of the route have, those taken, and why.'),
    routes: z.array(candidate).describe('In the order they are tried.'),
    routes_excluded: z.array(candidate),
    earliest_at: timeSchema
      .nullable()
      .describe('When the rules of its category allow it to be sent; null: never to this number.'),
  })
  .openapi('ExplainedSms');

export const smsParams = z.strictObject({ id });

export const smsListQuery = z.strictObject({
  limit: z.int().min(1).max(100).default(20).optional(),
  cursor: z.string().optional(),
  status: smsStatus.optional(),
  direction: z
    .enum(['outbound', 'inbound'])
    .optional()
    .describe('Without it: messages to subscribers. `status=received` asks for those from them too.'),
  to: z.string().optional().describe('E.164, its plus sent as %2B.'),
  from: z.string().optional(),
  category: category.optional(),
  client_reference: reference.optional(),
  created_after: timeSchema.optional().describe('Inclusive.'),
  created_before: timeSchema.optional().describe('Exclusive.'),
});
