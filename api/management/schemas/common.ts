// Schemas that many routes share: the problem, times, lists and their parameters.
import { z } from '@hono/zod-openapi';
import { limits } from '../../../platform/limits.ts';
import { problemCatalogue } from '../../problem-catalogue.ts';

const codes = Object.keys(problemCatalogue) as [string, ...string[]];

export const problemSchema = z
  .object({
    type: z.string().openapi({ example: '/docs/errors#invalid_field' }),
    title: z.string(),
    status: z.int(),
    code: z.enum(codes).describe('Stable; every code is explained at /docs/errors.'),
    detail: z.string(),
    errors: z.array(z.object({ field: z.string(), code: z.string(), detail: z.string() })),
    request_id: z.string(),
  })
  .openapi('Problem', { description: 'RFC 9457 problem details.' });

/** For the documentation of answers; a request's times use `futureTime`. */
export const timeSchema = z.iso.datetime().openapi({ example: '2026-01-31T09:00:00.000Z' });

/** The same text as that of GET /v1/sms. */
const pageSize = `must be a whole number from 1 to ${limits.management.pageMax}`;

export const pageQuery = z.strictObject({
  limit: z
    .string({ error: 'must be given only once' })
    .regex(/^\d{1,3}$/, pageSize)
    .transform(Number)
    .pipe(z.number().min(1, pageSize).max(limits.management.pageMax, pageSize))
    .optional()
    .openapi({
      type: 'integer',
      minimum: 1,
      maximum: limits.management.pageMax,
      default: limits.management.pageDefault,
    } as object),
  cursor: z.string().max(100).optional().describe('The `next_cursor` of the previous page.'),
});

export const listOf = <T extends z.ZodType>(name: string, item: T) =>
  z
    .object({
      data: z.array(item),
      next_cursor: z
        .string()
        .nullable()
        .describe('null on the last page, and only there: an earlier page may be short, even empty.'),
    })
    .openapi(name);

/** An id of the path; one of another form is simply not found. */
export const idParams = z.strictObject({ id: z.string() });

export const deletedOf = (kind: string) =>
  z
    .object({ id: z.string(), object: z.literal(kind), deleted: z.literal(true) })
    .openapi(`Deleted${kind.charAt(0).toUpperCase()}${kind.slice(1)}`);
