// The query parameters of GET /v1/sms as a query for the event store, or every invalid parameter by name. Pure.
import type { ListMessages } from '../../analytics/contract.ts';
import { type Category, categories } from '../../model/message.ts';
import { momentOf, noSuchMoment } from '../../model/moment.ts';
import { isMessageStatus, messageStatuses } from '../../model/status.ts';
import { limits } from '../../platform/limits.ts';
import { type FieldProblem, type Problem, problemOfFields } from '../problem.ts';

export type ListQuery = Omit<ListMessages, 'accountId' | 'livemode'>;
export type ParsedList =
  | { readonly ok: true; readonly question: ListQuery }
  | { readonly ok: false; readonly problem: Problem };

/** What a parameter adds to the query; a text: what it must be. */
type Read = Partial<ListQuery> | string;

const pageMax = 100;
const textCharsMax = 512;
/** A day, or a moment with its offset: without one, two readers would mean two moments. */
const moment = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

const reads: Readonly<Record<string, (text: string) => Read>> = {
  limit(text) {
    const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    return limit >= 1 && limit <= pageMax ? { limit } : `must be a whole number from 1 to ${pageMax}`;
  },
  cursor: (text) => (isText(text) ? { cursor: text } : 'must be the next_cursor of the page before'),
  status: (text) => (isMessageStatus(text) ? { status: text } : `must be one of ${messageStatuses.join(', ')}`),
  // In a query a plus sign that was not escaped arrives as a space.
  to: (text) => ({ to: text.replace(/^ /, '+') }),
  from: (text) => (isText(text) ? { from: text.replace(/^ /, '+') } : 'must be a sender'),
  direction: (text) =>
    text === 'inbound' || text === 'outbound' ? { direction: text } : 'must be outbound or inbound',
  category: (text) =>
    categories.includes(text as Category) ? { category: text as Category } : `must be one of ${categories.join(', ')}`,
  client_reference: (text) =>
    isText(text) && text.length <= limits.http.clientReferenceCharsMax
      ? { clientReference: text }
      : `must have 1–${limits.http.clientReferenceCharsMax} characters`,
  created_after: (text) => atMoment(text, (createdAfterMs) => ({ createdAfterMs })),
  created_before: (text) => atMoment(text, (createdBeforeMs) => ({ createdBeforeMs })),
};

const parameters = new Map(Object.entries(reads));

export function parseListParameters(query: string): ParsedList {
  const errors: FieldProblem[] = [];
  const seen = new Set<string>();
  let question: ListQuery = {};
  for (const [name, text] of new URLSearchParams(query)) {
    if (errors.length >= limits.http.fieldProblemsMax) break;
    const field = name.slice(0, 64).toWellFormed();
    const read = parameters.get(name);
    if (read === undefined) {
      const detail = `is not a parameter of this list; known are ${[...parameters.keys()].join(', ')}`;
      errors.push({ field, code: 'unknown_field', detail });
      continue;
    }
    const value = seen.has(name) ? 'must be given only once' : read(text);
    seen.add(name);
    if (typeof value === 'string') errors.push({ field, code: 'invalid_field', detail: value });
    else question = { ...question, ...value };
  }
  const { to } = question;
  if (to !== undefined && !isRecipient(to, question))
    errors.push({ field: 'to', code: 'invalid_field', detail: toForm });
  const problem = problemOfFields(errors);
  return problem === null ? { ok: true, question } : { ok: false, problem };
}

/** Messages from subscribers come to numbers and short codes as they were registered. */
function isRecipient(to: string, { direction, status }: ListQuery): boolean {
  const isInbound = direction === 'inbound' || status === 'received';
  return /^\+[0-9]{1,15}$/.test(to) || (isInbound && /^[0-9]{3,15}$/.test(to));
}

const toForm = 'must be a number in E.164 form, its plus sent as %2B';

function atMoment(text: string, value: (ms: number) => Partial<ListQuery>): Read {
  if (!moment.test(text)) return momentForm;
  // Written out: a day stands for its first moment in UTC, and seconds may be left out.
  const ms = momentOf(text.length === dayChars ? `${text}T00:00:00Z` : text.replace(/T\d{2}:\d{2}(?!:)/, '$&:00'));
  return ms === null ? noSuchMoment : value(ms);
}

const dayChars = '2026-01-31'.length;
const momentForm =
  'must be a time with its offset such as 2026-01-31T09:00:00Z, or a day such as 2026-01-31 (from 00:00 UTC)';

const isText = (text: string) => text.length > 0 && text.length <= textCharsMax;
