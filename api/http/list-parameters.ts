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

type Parsed =
  | { readonly ok: true; readonly value: Partial<ListQuery> }
  | { readonly ok: false; readonly expected: string };

const pageMax = 100;
const textCharsMax = 512;
/** A day, or a moment with its offset: without one, two readers would mean two moments. */
const moment = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

const parameters: Readonly<Record<string, (text: string) => Parsed>> = {
  limit(text) {
    const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    return limit >= 1 && limit <= pageMax ? yes({ limit }) : no(`must be a whole number from 1 to ${pageMax}`);
  },
  cursor: (text) => (isText(text) ? yes({ cursor: text }) : no('must be the next_cursor of the page before')),
  status: (text) =>
    isMessageStatus(text) ? yes({ status: text }) : no(`must be one of ${messageStatuses.join(', ')}`),
  // In a query a plus sign that was not escaped arrives as a space.
  to: (text) => yes({ to: text.replace(/^ /, '+') }),
  from: (text) => (isText(text) ? yes({ from: text.replace(/^ /, '+') }) : no('must be a sender')),
  direction: (text) =>
    text === 'inbound' || text === 'outbound' ? yes({ direction: text }) : no('must be outbound or inbound'),
  category: (text) =>
    categories.includes(text as Category)
      ? yes({ category: text as Category })
      : no(`must be one of ${categories.join(', ')}`),
  client_reference: (text) =>
    isText(text) && text.length <= limits.http.clientReferenceCharsMax
      ? yes({ clientReference: text })
      : no(`must have 1–${limits.http.clientReferenceCharsMax} characters`),
  created_after: (text) => atMoment(text, (createdAfterMs) => ({ createdAfterMs })),
  created_before: (text) => atMoment(text, (createdBeforeMs) => ({ createdBeforeMs })),
};

export function parseListParameters(query: string): ParsedList {
  const errors: FieldProblem[] = [];
  const seen = new Set<string>();
  let question: ListQuery = {};
  for (const [name, text] of new URLSearchParams(query)) {
    if (errors.length >= limits.http.fieldProblemsMax) break;
    const field = name.slice(0, 64).toWellFormed();
    if (!Object.hasOwn(parameters, name)) {
      const detail = `is not a parameter of this list; known are ${Object.keys(parameters).join(', ')}`;
      errors.push({ field, code: 'unknown_field', detail });
      continue;
    }
    const parsed = seen.has(name) ? no('must be given only once') : parameters[name]?.(text);
    seen.add(name);
    if (parsed === undefined) continue;
    if (parsed.ok) question = { ...question, ...parsed.value };
    else errors.push({ field, code: 'invalid_field', detail: parsed.expected });
  }
  const { to } = question;
  if (to !== undefined && !isRecipient(to, question))
    errors.push({ field: 'to', code: 'invalid_field', detail: toForm });
  const [first, ...more] = errors;
  if (first !== undefined) return { ok: false, problem: problemOfFields(422, [first, ...more]) };
  return { ok: true, question };
}

/** Messages from subscribers come to numbers and short codes as they were registered. */
function isRecipient(to: string, { direction, status }: ListQuery): boolean {
  const isInbound = direction === 'inbound' || status === 'received';
  return /^\+[0-9]{1,15}$/.test(to) || (isInbound && /^[0-9]{3,15}$/.test(to));
}

const toForm = 'must be a number in E.164 form, its plus sent as %2B';

function atMoment(text: string, value: (ms: number) => Partial<ListQuery>): Parsed {
  if (!moment.test(text)) return no(momentForm);
  // Written out: a day stands for its first moment in UTC, and seconds may be left out.
  const ms = momentOf(text.length === dayChars ? `${text}T00:00:00Z` : text.replace(/T\d{2}:\d{2}(?!:)/, '$&:00'));
  return ms === null ? no(noSuchMoment) : yes(value(ms));
}

const dayChars = '2026-01-31'.length;
const momentForm =
  'must be a time with its offset such as 2026-01-31T09:00:00Z, or a day such as 2026-01-31 (from 00:00 UTC)';

const isText = (text: string) => text.length > 0 && text.length <= textCharsMax;
const yes = (value: Partial<ListQuery>): Parsed => ({ ok: true, value });
const no = (expected: string): Parsed => ({ ok: false, expected });
