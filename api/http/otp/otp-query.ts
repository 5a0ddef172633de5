// The query of GET /v1/otp: a number, how many, and where to go on.
import { type OtpId, isOtpId } from '../../../model/ids.ts';
import { type FieldProblem, type OrProblem, problemOfFields } from '../../problem.ts';
import { unknownNames } from '../../unknown-names.ts';

/** `before`: one-time passwords that were started before this one; null: from the newest on. */
export type OtpQuery = { readonly to: string; readonly limit: number; readonly before: OtpId | null };

const limitUsual = 20;
const limitMax = 100;

/** What each parameter must be; null: it is. */
const checks: Readonly<Record<string, (text: string) => string | null>> = {
  to: (text) => (/^\+[0-9]{1,15}$/.test(text) ? null : 'must be a number in E.164 form, its plus sent as %2B'),
  limit: (text) =>
    /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= limitMax
      ? null
      : `must be a whole number from 1 to ${limitMax}`,
  cursor: (text) => (isOtpId(text) ? null : 'must be the next_cursor of the previous page'),
};
const known = Object.keys(checks);

export function parseOtpQuery(query: string): OrProblem<OtpQuery> {
  const given = new Map<string, string>();
  const wrong: FieldProblem[] = [];
  const unknown: string[] = [];
  for (const [name, text] of new URLSearchParams(query)) {
    if (!known.includes(name)) unknown.push(name);
    else if (given.has(name)) wrong.push({ field: name, code: 'invalid_field', detail: 'must be given only once' });
    // An unescaped plus sign in a query arrives as a space.
    else given.set(name, name === 'to' ? text.replace(/^ /, '+') : text);
  }
  for (const [name, text] of given) {
    const detail = checks[name]?.(text) ?? null;
    if (detail !== null) wrong.push({ field: name, code: 'invalid_field', detail });
  }
  const to = given.get('to');
  if (to === undefined) {
    wrong.push({
      field: 'to',
      code: 'missing_field',
      detail: 'is required: one-time passwords are found by their number',
    });
  }
  const names = unknownNames(unknown, known, 'is not a parameter of this list');
  const problem = problemOfFields([...names, ...wrong], unknown.length + wrong.length);
  if (problem !== null || to === undefined) return { ok: false, problem: problem as NonNullable<typeof problem> };
  const before = (given.get('cursor') as OtpId | undefined) ?? null;
  return { ok: true, to, limit: Number(given.get('limit') ?? limitUsual), before };
}
