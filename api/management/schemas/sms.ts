// The hot routes as the documentation shows them. They are served by api/http with checks of its own; the bounds
// come from the same limits. Nothing is validated with these schemas at run time.
import { z } from '@hono/zod-openapi';
import { categories } from '../../../model/message.ts';
import { messageStatuses } from '../../../model/status.ts';
import { limits } from '../../../platform/limits.ts';
import { timeSchema } from './common.ts';

const id = z.string().openapi({ example: 'sms_01K3Z8Q4T6W9XAB2CD3EF4GH5J' });
const recipient = z.string().openapi({ description: 'E.164 with the leading plus.', example: '+8801712345678' });
const sender = z.string().openapi({
  description: 'An approved sender of the account; a test key may use any well-formed one.',
  example: 'HELIOGRAPH',
});
const category = z.enum(categories);
const reference = z.string().max(limits.http.clientReferenceCharsMax);

export const sendSmsBody = z
  .strictObject({
    to: recipient,
    from: sender,
    message: z
      .string()
      .min(1)
      .optional()
      .openapi({
        description: `The text, unless a template gives it: at most ${limits.message.segmentsMax} segments.`,
        example: 'Your code is 493817',
      }),
    template_id: z.string().optional().openapi({
      description: 'An approved template of the account. It gives the text, so `message` is left out.',
      example: 'tpl_01K3Z8Q4T6W9XAB2CD3EF4GH5J',
    }),
    variables: z
      .record(z.string(), z.unknown())
      .optional()
      .openapi({ description: 'A value for each variable of the template.', example: { code: '493817' } }),
    category: category.default('transactional'),
    client_reference: reference.nullish().openapi({ description: 'Yours; returned wherever the message is shown.' }),
    validity_seconds: z
      .int()
      .min(limits.message.validitySecondsMin)
      .max(limits.message.validitySecondsMax)
      .optional()
      .openapi({
        description:
          'How long it may still be submitted. ' +
          `Without it: ${limits.message.validityOtpMs / 1_000} s for otp, ${limits.message.validityDefaultMs / 1_000} s otherwise.`,
      }),
    encoding: z.enum(['auto', 'gsm7', 'ucs2']).default('auto'),
    transliterate: z
      .boolean()
      .default(false)
      .openapi({
        description:
          'Write characters outside GSM-7 as look-alikes (“ as ", — as -, é stays, ő as o) where the whole text then ' +
          'fits GSM-7 and takes no more segments. Else the text stays as it is. No effect with encoding ucs2.',
      }),
    quiet_hours: z
      .enum(['hold', 'reject'])
      .default('hold')
      .openapi({ description: 'What happens to a message that comes in quiet hours of its category.' }),
  })
  .refine((body) => (body.template_id === undefined) === (body.message !== undefined), {
    error: 'expected either message or template_id',
  })
  .refine((body) => body.variables === undefined || body.template_id !== undefined, {
    error: 'expected variables only beside template_id',
  })
  .openapi('SendSms');

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

export const acceptedSms = z
  .object({
    ...shared,
    status: z.literal('accepted'),
    ucs2_because: z
      .object({ character: z.string(), index: z.int().min(0) })
      .optional()
      .openapi({
        description:
          'With encoding auto: the character that made the text UCS-2 (with transliterate: one that has no look-alike) ' +
          'and its position in UTF-16 units.',
        example: { character: 'আ', index: 0 },
      }),
  })
  .openapi('AcceptedSms');

export const smsStatus = z.enum(messageStatuses).openapi('SmsStatus');

export const sms = z
  .object({
    ...shared,
    object: z.enum(['sms', 'refused_request']).openapi({
      description: 'A `refused_request` was refused at the door and never was a message; its `to` is masked.',
    }),
    status: smsStatus,
    history: z.array(
      z.object({
        status: z.string(),
        at: timeSchema,
        carrier: z.string().nullable(),
        error: z.string().nullable(),
      }),
    ),
    timing_ms: z.object({
      accepted_to_submitted: z.int().nullable(),
      submitted_to_delivered: z.int().nullable(),
    }),
    error: z.string().nullable(),
  })
  .openapi('Sms');

export const smsParams = z.strictObject({ id });

export const smsListQuery = z.strictObject({
  limit: z.int().min(1).max(100).default(20).optional(),
  cursor: z.string().optional(),
  status: smsStatus.optional(),
  to: z.string().optional().openapi({ description: 'E.164, its plus sent as %2B.' }),
  from: z.string().optional(),
  category: category.optional(),
  client_reference: reference.optional(),
  created_after: timeSchema.optional().openapi({ description: 'Inclusive.' }),
  created_before: timeSchema.optional().openapi({ description: 'Exclusive.' }),
});
