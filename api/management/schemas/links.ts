// Schemas of short links.
import { z } from '@hono/zod-openapi';
import { timeSchema } from './common.ts';

export const link = z
  .object({
    id: z.string().openapi({ example: 'lnk_01M7VQWTBKXY1V7R' }),
    object: z.literal('link'),
    url: z.string().describe('Where its short links lead.'),
    livemode: z.boolean(),
    status: z.enum(['enabled', 'disabled']),
    created_at: timeSchema,
    expires_at: timeSchema.describe('When the last of its short links that are out expires.'),
  })
  .openapi('Link');
