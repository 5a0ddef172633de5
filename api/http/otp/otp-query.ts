// The query of GET /v1/otp: a number, how many, and where to go on.
import { type OtpId, isOtpId } from '../../../model/ids.ts';
import type { FieldProblem, OrProblem } from '../../problem.ts';
import { type Reads, numberForm, readLimit, readListQuery, withPlusSign } from '../list-query.ts';

/** `before`: one-time passwords that were started before this one; null: from the newest on. */
type OtpQuery = { readonly to: string; readonly limit: number; readonly before: OtpId | null };

const limitUsual = 20;

const reads: Reads<OtpQuery> = {
  to: (text) => (/^\+[0-9]{1,15}$/.test(withPlusSign(text)) ? { to: withPlusSign(text) } : numberForm),
  limit: readLimit,
  cursor: (text) => (isOtpId(text) ? { before: text } : 'must be the next_cursor of the previous page'),
};

const missing: FieldProblem = {
  field: 'to',
  code: 'missing_field',
  detail: 'is required: one-time passwords are found by their number',
};

export function parseOtpQuery(query: string): OrProblem<OtpQuery> {
  const read = readListQuery(query, reads, (_, given) => (given.has('to') ? [] : [missing]));
  if (!read.ok) return read;
  const { to = '', limit = limitUsual, before = null } = read.question;
  return { ok: true, to, limit, before };
}
