// Schemas that many routes share: the problem, times, lists and their parameters.
import { z } from '@hono/zod-openapi';
import { limits } from '../../../platform/limits.ts';
import { problemCatalogue } from '../../problem-catalogue.ts';
import { problemFacts } from '../../problem-facts.ts';

const codes = Object.keys(problemCatalogue) as [string, ...string[]];

export const problemSchema = z
  .object({
    type: z.string().openapi({ example: '/docs/errors#invalid_field' }),
    title: z.string(),
    status: z.int(),
    code: z.enum(codes).describe('Stable; every code is explained at /docs/errors.'),
    detail: z.string(),
    errors: z.array(z.object({ field: z.string(), code: z.string(), detail: z.string() })),
    ...problemFacts,
    request_id: z.string(),
  })
  .openapi('Problem', { description: 'RFC 9457 problem details.' });

/** For the documentation of answers; a request's times use `futureTime`. */
export const timeSchema = z.iso.datetime().openapi({ example: '2026-01-31T09:00:00.000Z' });

/** A whole number of a query, with the same text as that of GET /v1/sms. */
export function wholeInQuery(min: number, max: number, preset: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(new RegExp(`^\\d{1,${String(max).length}}$`), error)
    .transform(Number)
    .pipe(z.number().min(min, error).max(max, error))
    .optional()
    .openapi({ type: 'integer', minimum: min, maximum: max, default: preset } as object);
}

export const pageQuery = z.strictObject({
  limit: wholeInQuery(1, limits.management.pageMax, limits.management.pageDefault),
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
    .openapi(`Deleted${capitalized(kind)}`);

export const capitalized = (word: string) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
