// Accounts, API keys and senders as JSON. Developers read the messages of the rules: they say what was expected.
import { z } from '@hono/zod-openapi';
import { accountScopes, scopes } from '../../../model/api-key.ts';
import { whyNoMoment } from '../../../model/moment.ts';
import { senderKinds, senderKindOf, senderShape } from '../../../model/sender.ts';
import { categories } from '../../../model/message.ts';
import { timeSchema } from './common.ts';
import { ipAllowlist, rateLimit, text } from './gates.ts';

export const descriptionCharsMax = 200;

export const account = z
  .object({
    id: z.string().openapi({ example: 'acc_01K3Z8Q4T6W9XAB2CD3EF4GH5J' }),
    object: z.literal('account'),
    name: z.string(),
    status: z.enum(['active', 'suspended']),
    created_at: timeSchema,
  })
  .openapi('Account');

const scope = z.enum(scopes);
const expiresAt = z.iso
  .datetime({ offset: true, error: ({ input }) => whyNoMoment(input) })
  .nullish()
  .describe('In the future; null: never.');

const changeable = {
  description: text(0, descriptionCharsMax).optional(),
  expires_at: expiresAt,
  ip_allowlist: ipAllowlist.optional(),
  rate_limit: rateLimit.optional(),
};

export const apiKey = z
  .object({
    id: z.string().openapi({ example: 'key_01K3Z8Q4T6W9XAB2CD3EF4GH5J' }),
    object: z.literal('api_key'),
    hint: z.string().openapi({ description: 'How the key begins.', example: 'hk_live_a1B2c3D4e5F6_…' }),
    livemode: z.boolean(),
    scopes: z.array(scope),
    description: z.string(),
    created_at: timeSchema,
    expires_at: timeSchema.nullable(),
    revoked_at: timeSchema.nullable(),
    last_used_on: z.iso.date().nullable().openapi({
      description: 'The day in UTC on which the key was last used, a minute or two late; null: never.',
      example: '2026-11-22',
    }),
    ip_allowlist: ipAllowlist,
    rate_limit: rateLimit,
  })
  .openapi('ApiKey');

export const newApiKey = apiKey
  .extend({
    key: z.string().nullable().describe('The whole key. It is shown only once: null in a repeat of the request.'),
  })
  .openapi('NewApiKey');

export const createApiKeyBody = z
  .strictObject({
    livemode: z
      .boolean({ error: 'expected true (live) or false (test)' })
      .optional()
      .describe('Omitted: as the calling key. A test key can only create test keys.'),
    scopes: z
      .array(z.enum(accountScopes, { error: `expected one of ${accountScopes.join(', ')}` }), {
        error: 'expected a list of scopes',
      })
      .min(1, 'expected at least one scope')
      .max(accountScopes.length, 'expected every scope only once')
      .refine((list) => new Set(list).size === list.length, 'expected every scope only once')
      .openapi({ description: 'At most those of the calling key.', example: ['sms:send', 'sms:read'] }),
    ...changeable,
  })
  .openapi('CreateApiKey');

export const changeApiKeyBody = z.strictObject(changeable).openapi('ChangeApiKey');

export const sender = z
  .object({
    id: z.string().openapi({ example: 'snd_01K3Z8Q4T6W9XAB2CD3EF4GH5J' }),
    object: z.literal('sender'),
    name: z.string().openapi({ example: 'HELIOGRAPH' }),
    kind: z.enum(senderKinds),
    status: z.enum(['approved', 'pending', 'rejected']),
    categories: z.array(z.enum(categories)).nullable().describe('Categories it is approved for; null: every one.'),
    created_at: timeSchema,
  })
  .openapi('Sender');

export const createSenderBody = z
  .strictObject({
    name: z
      .string({ error: 'expected a text' })
      .refine((name) => senderKindOf(name) !== null, `expected ${senderShape}`)
      .openapi({ description: senderShape, example: 'HELIOGRAPH' }),
  })
  .openapi('CreateSender');
