// Turns zod's issues into the fields of a problem, with our texts and codes. Pure.
import type { z } from '@hono/zod-openapi';
import {
  type FieldProblem,
  type OrProblem,
  problemOfFields,
  problemOfNames,
  shortName,
  wrongField,
} from './problem.ts';
import { unknownNames } from './unknown-names.ts';

type ParameterKind = 'field' | 'query parameter';

/** Validates `raw`; without a schema it must be empty. */
export function check<T>(
  schema: z.ZodType | undefined,
  raw: Record<string, unknown>,
  withoutSchema: 'unknown_field' | 'invalid_field',
  what: ParameterKind = 'field',
): OrProblem<{ readonly value: T }> {
  if (schema === undefined) {
    const detail = what === 'field' ? 'this route takes no such field' : 'this route has no query parameters';
    const problem = problemOfNames(Object.keys(raw).map(shortName), withoutSchema, detail);
    return problem === null ? { ok: true, value: raw as T } : { ok: false, problem };
  }
  const parsed = schema.safeParse(raw);
  if (parsed.success) return { ok: true, value: parsed.data as T };
  const issues = withoutRepeats(parsed.error.issues);
  const errors = issues.flatMap((issue) => fieldProblemsOf(issue, raw, namesOf(schema), what));
  const count = issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
  // An error always has an issue, which its type does not say.
  const problem = problemOfFields(errors, count) ?? wrongField('', 'is not valid');
  return { ok: false, problem };
}

/** The query of a URL. A repeated parameter becomes a list, which no schema accepts and `check` refuses by its own text. */
export function rawQuery(url: string): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null);
  for (const [name, value] of new URL(url).searchParams) {
    const before = query[name];
    query[name] = before === undefined ? value : [before, value].flat();
  }
  return query;
}

/** Several rules of a field may refuse it with one text: 1e99 is no whole number, and too large. */
function withoutRepeats(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  const seen = new Set<string>();
  return issues.filter(({ path, message }) => {
    const before = seen.size;
    return seen.add(`${fieldOf(path)} ${message}`).size > before;
  });
}

const namesOf = (schema: z.ZodType) => ('shape' in schema ? Object.keys(schema.shape as object) : []);

const isNoneOf: Readonly<Record<ParameterKind, string>> = {
  field: 'is not a field of this request',
  'query parameter': 'is not a query parameter of this route',
};

function fieldProblemsOf(
  issue: z.core.$ZodIssue,
  raw: Record<string, unknown>,
  known: readonly string[],
  what: ParameterKind,
): FieldProblem[] {
  const field = fieldOf(issue.path);
  if (issue.code === 'unrecognized_keys') {
    if (field === '') return unknownNames(issue.keys, known, isNoneOf[what]);
    // What an object inside the body may have is not at hand here.
    return unknownNames(
      issue.keys.map((key) => `${field}.${key}`),
      [],
      `is not a field of ${field}`,
    );
  }
  const value = valueAt(raw, issue.path);
  if (value === undefined) return [{ field, code: 'missing_field', detail: 'is required' }];
  if (what === 'query parameter' && Array.isArray(value)) {
    return [{ field, code: 'invalid_field', detail: 'must be given only once' }];
  }
  const detail = issue.message.replace(/^Invalid input: /, '').replace(', received ', ', found ');
  return [{ field, code: 'invalid_field', detail }];
}

/** `['scopes', 0]` → `scopes[0]`. */
function fieldOf(path: readonly PropertyKey[]): string {
  return path
    .map((step, at) => (typeof step === 'number' ? `[${step}]` : `${at > 0 ? '.' : ''}${String(step)}`))
    .join('');
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[step] : undefined,
    raw,
  );
}
