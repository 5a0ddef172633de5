// GET /v1/sms/{id} and GET /v1/sms: passes the query to the event store and its answer to the client. A key sees only
// messages of its account and mode; everything else is "not found", so that ids reveal nothing.
import type { HttpRequest } from 'uWebSockets.js';
import type { Principal } from '../../acceptance/principal.ts';
import type { GetMessageReply, ListMessages, MessageView } from '../../analytics/contract.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { isMessageId } from '../../model/ids.ts';
import { type Category, categories } from '../../model/message.ts';
import { momentOf, noSuchMoment, withPlus } from '../../model/moment.ts';
import { isMessageStatus, messageStatuses } from '../../model/status.ts';
import { unreachable } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import { type FieldProblem, type OrProblem, type Problem, problem, problemOfFields, wrongField } from '../problem.ts';
import { unknownNames } from '../unknown-names.ts';
import { type AccessParts, admitReader } from './access.ts';
import type { Exchange, AnswerThrown } from './exchange.ts';
import { inboundShape, messageNotFound, messageShape } from './sms-answer.ts';
import type { NoPlace, StatusQueryClient } from './status-query-client.ts';

type ReadSmsParts = {
  readonly access: AccessParts;
  readonly queries: StatusQueryClient;
  readonly answerThrown: AnswerThrown;
  /** Opens the texts of subscribers' messages, where the account keeps them. */
  readonly cipher: BodyCipher;
};

export function getSms(parts: ReadSmsParts, exchange: Exchange, req: HttpRequest): void {
  const id = req.getParameter(0) ?? '';
  const principal = readerOf(parts, exchange, req);
  if (principal === null) return;
  parts.answerThrown(exchange, async () => {
    if (!isMessageId(id)) return exchange.refuse(messageNotFound);
    const reply = await parts.queries.get({ accountId: principal.account.accountId, messageId: id });
    const found = foundMessage(reply, principal, statusUnavailable);
    if ('code' in found) exchange.refuse(found);
    else exchange.json(200, JSON.stringify(shapeOf(parts, found.message)));
  });
}

type FoundMessage = Extract<GetMessageReply, { readonly result: 'found' }>;

/** The message where it is of the mode of the key, or the refusal; `away`: the event store does not answer. */
export function foundMessage(
  reply: GetMessageReply | NoPlace,
  { livemode }: Principal,
  away: Problem,
): FoundMessage | Problem {
  switch (reply.result) {
    case 'found':
      return reply.message.livemode === livemode ? reply : messageNotFound;
    case 'none':
      return messageNotFound;
    case 'no_place':
      return reply.problem;
    case 'unavailable':
      return away;
    default:
      return unreachable(reply);
  }
}

export function listSms(parts: ReadSmsParts, exchange: Exchange, req: HttpRequest): void {
  const query = req.getQuery() ?? '';
  const principal = readerOf(parts, exchange, req);
  if (principal === null) return;
  parts.answerThrown(exchange, async () => {
    const parsed = parseListParameters(query);
    if (!parsed.ok) return exchange.refuse(parsed.problem);
    const { accountId } = principal.account;
    const reply = await parts.queries.list({ ...parsed.question, accountId, livemode: principal.livemode });
    const answer = (messages: readonly MessageView[], nextCursor: string | null) => {
      const data = messages.map((message) => shapeOf(parts, message));
      exchange.json(200, JSON.stringify({ data, next_cursor: nextCursor }));
    };
    switch (reply.result) {
      case 'found':
        return answer(reply.messages, reply.nextCursor);
      case 'none':
        return answer([], null);
      case 'no_place':
        return exchange.refuse(reply.problem);
      case 'unavailable':
        return exchange.refuse(statusUnavailable);
      case 'bad_request':
        return exchange.refuse(badCursor);
      default:
        return unreachable(reply);
    }
  });
}

function shapeOf({ cipher }: ReadSmsParts, view: MessageView): Record<string, unknown> {
  return view.inbound === null ? messageShape(view) : inboundShape(view, view.inbound, cipher);
}

/** Null when the request has been refused. */
function readerOf(parts: ReadSmsParts, exchange: Exchange, req: HttpRequest): Principal | null {
  const authenticated = admitReader(parts.access, exchange, req, 'sms:read');
  if (authenticated.ok) return authenticated.principal;
  exchange.refuse(authenticated.problem);
  return null;
}

// The only parameter checked by the event store; all others are checked before.
const badCursor = wrongField('cursor', 'must be the next_cursor of the previous page, unchanged');
const statusUnavailable = problem(
  503,
  'status_unavailable',
  'the status of messages cannot be read now; messages are still sent',
  2,
);

type ListQuery = Omit<ListMessages, 'accountId' | 'livemode'>;

/** The part of the query that a parameter gives, or a text: what the parameter must be. */
type Read = Partial<ListQuery> | string;

const pageMax = 100;
const textCharsMax = 512;
/** A day, or a time with its offset: without one, its meaning would depend on the reader. */
const moment = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

const reads: Readonly<Record<string, (text: string) => Read>> = {
  limit(text) {
    const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    return limit >= 1 && limit <= pageMax ? { limit } : `must be a whole number from 1 to ${pageMax}`;
  },
  cursor: (text) => (isText(text) ? { cursor: text } : 'must be the next_cursor of the previous page'),
  status: (text) => (isMessageStatus(text) ? { status: text } : `must be one of ${messageStatuses.join(', ')}`),
  // An unescaped plus sign in a query arrives as a space.
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
const known = [...parameters.keys()];

/** The query of GET /v1/sms as one for the event store, or every invalid parameter by name. */
export function parseListParameters(query: string): OrProblem<{ readonly question: ListQuery }> {
  const errors: FieldProblem[] = [];
  let count = 0;
  const wrong = (field: string, code: FieldProblem['code'], detail: string) => {
    count += 1;
    if (errors.length < limits.http.fieldProblemsMax) errors.push({ field, code, detail });
  };
  const seen = new Set<string>();
  const unknown: string[] = [];
  let question: ListQuery = {};
  for (const [name, text] of new URLSearchParams(query)) {
    const read = parameters.get(name);
    if (read === undefined) {
      unknown.push(name);
      continue;
    }
    const value = seen.has(name) ? 'must be given only once' : read(text);
    seen.add(name);
    if (typeof value === 'string') wrong(name, 'invalid_field', value);
    else question = { ...question, ...value };
  }
  const { to } = question;
  if (to !== undefined && !isRecipient(to, question)) wrong('to', 'invalid_field', toForm);
  const names = unknownNames(unknown, known, 'is not a parameter of this list');
  const problem = problemOfFields([...names, ...errors], count + unknown.length);
  return problem === null ? { ok: true, question } : { ok: false, problem };
}

/** Messages from subscribers are addressed to numbers and short codes as registered, not in E.164 form. */
function isRecipient(to: string, { direction, status }: ListQuery): boolean {
  const isInbound = direction === 'inbound' || status === 'received';
  return /^\+[0-9]{1,15}$/.test(to) || (isInbound && /^[0-9]{3,15}$/.test(to));
}

const toForm = 'must be a number in E.164 form, its plus sent as %2B';

function atMoment(given: string, value: (ms: number) => Partial<ListQuery>): Read {
  const text = withPlus(given);
  if (!moment.test(text)) return momentForm;
  // Completes the form: a day means its start in UTC, and seconds are optional.
  const ms = momentOf(text.length === dayChars ? `${text}T00:00:00Z` : text.replace(/T\d{2}:\d{2}(?!:)/, '$&:00'));
  return ms === null ? noSuchMoment : value(ms);
}

const dayChars = '2026-01-31'.length;
const momentForm =
  'must be a time with its offset such as 2026-01-31T09:00:00Z, or a day such as 2026-01-31 (from 00:00 UTC)';

const isText = (text: string) => text.length > 0 && text.length <= textCharsMax;
