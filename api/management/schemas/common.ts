// Shapes that many routes share: the problem, times, lists and their parameters.
import { z } from '@hono/zod-openapi';
import { limits } from '../../../platform/limits.ts';
import { problemCatalogue } from '../../problem-catalogue.ts';

const codes = Object.keys(problemCatalogue) as [string, ...string[]];

export const problemSchema = z
  .object({
    type: z.string().openapi({ example: '/docs/errors#invalid_field' }),
    title: z.string(),
    status: z.int(),
    code: z.enum(codes).openapi({ description: 'Stable; every code is explained at /docs/errors.' }),
    detail: z.string(),
    errors: z.array(z.object({ field: z.string(), code: z.string(), detail: z.string() })),
    request_id: z.string(),
  })
  .openapi('Problem', { description: 'RFC 9457 problem details.' });

/** For documentation of answers; a request's times go through `futureTime`. */
export const timeSchema = z.iso.datetime().openapi({ example: '2026-01-31T09:00:00.000Z' });

export const pageQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'expected a whole number')
    .transform(Number)
    .pipe(
      z
        .number()
        .min(1, 'expected at least 1')
        .max(limits.management.pageMax, `expected at most ${limits.management.pageMax}`),
    )
    .optional()
    .openapi({
      type: 'integer',
      minimum: 1,
      maximum: limits.management.pageMax,
      default: limits.management.pageDefault,
    } as object),
  cursor: z.string().max(100).optional().openapi({ description: 'The `next_cursor` of the page before.' }),
});

export const listOf = <T extends z.ZodType>(name: string, item: T) =>
  z
    .object({
      data: z.array(item),
      next_cursor: z.string().nullable().openapi({
        description: 'null on the last page. Only that ends the list: a page before it may be short, even empty.',
      }),
    })
    .openapi(name);
