// The query of a list (GET /v1/sms, GET /v1/otp): each parameter at most once, and every wrong one named.
import { type FieldProblem, type OrProblem, problemOfFields } from '../problem.ts';
import { unknownNames } from '../unknown-names.ts';

/** By parameter: the part of the query that its text gives, or what it must be. */
export type Reads<Query> = Readonly<Record<string, (text: string) => Partial<Query> | string>>;

const pageMax = 100;

/** `limit`: how many a page has. */
export function readLimit(text: string): { readonly limit: number } | string {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= pageMax ? { limit } : `must be a whole number from 1 to ${pageMax}`;
}

/** An unescaped plus sign in a query arrives as a space. */
export const withPlusSign = (text: string): string => text.replace(/^ /, '+');

export const numberForm = 'must be a number in E.164 form, its plus sent as %2B';

/** `check`: what is wrong with the parameters together; `given`: the names of those in the query, wrong ones too. */
export function readListQuery<Query extends object>(
  query: string,
  reads: Reads<Query>,
  check: (question: Partial<Query>, given: ReadonlySet<string>) => readonly FieldProblem[],
): OrProblem<{ readonly question: Partial<Query> }> {
  const parameters = new Map(Object.entries(reads));
  const seen = new Set<string>();
  const unknown: string[] = [];
  const wrong: FieldProblem[] = [];
  let question: Partial<Query> = {};
  for (const [name, text] of new URLSearchParams(query)) {
    const read = parameters.get(name);
    if (read === undefined) {
      unknown.push(name);
      continue;
    }
    const value = seen.has(name) ? 'must be given only once' : read(text);
    seen.add(name);
    if (typeof value === 'string') wrong.push({ field: name, code: 'invalid_field', detail: value });
    else question = { ...question, ...value };
  }
  wrong.push(...check(question, seen));
  const names = unknownNames(unknown, [...parameters.keys()], 'is not a parameter of this list');
  const problem = problemOfFields([...names, ...wrong], unknown.length + wrong.length);
  return problem === null ? { ok: true, question } : { ok: false, problem };
}
