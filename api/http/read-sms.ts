// GET /v1/sms/{id} and GET /v1/sms: passes the query to the event store and its answer to the client. A key sees only
// messages of its account and mode; everything else is "not found", so that ids reveal nothing.
import type { HttpRequest } from 'uWebSockets.js';
import { type OtpParts, ownerOf } from '../../acceptance/otp/send.ts';
import type { Principal } from '../../acceptance/principal.ts';
import type { GetMessageReply, ListMessages, MessageView } from '../../analytics/contract.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { type OtpId, isMessageId } from '../../model/ids.ts';
import { type Category, categories } from '../../model/message.ts';
import { momentOf, noSuchMoment, withPlus } from '../../model/moment.ts';
import { isMessageStatus, messageStatuses } from '../../model/status.ts';
import { unreachable } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import { type FieldProblem, type OrProblem, type Problem, problem, wrongField } from '../problem.ts';
import { type AccessParts, admitReader } from './access.ts';
import type { Exchange, AnswerThrown } from './exchange.ts';
import { type Reads, numberForm, readLimit, readListQuery, withPlusSign } from './list-query.ts';
import { inboundShape, messageNotFound, messageShape } from './sms-answer.ts';
import type { NoPlace, StatusQueryClient } from './status-query-client.ts';

type ReadSmsParts = {
  readonly access: AccessParts;
  readonly queries: StatusQueryClient;
  readonly answerThrown: AnswerThrown;
  /** Opens the texts of subscribers' messages, where the account keeps them. */
  readonly cipher: BodyCipher;
};

type GetSmsParts = ReadSmsParts & Pick<OtpParts, 'otps' | 'clock'>;

export function getSms(parts: GetSmsParts, exchange: Exchange, req: HttpRequest): void {
  const id = req.getParameter(0) ?? '';
  const principal = readerOf(parts, exchange, req);
  if (principal === null) return;
  parts.answerThrown(exchange, async () => {
    if (!isMessageId(id)) return exchange.refuse(messageNotFound);
    const reply = await parts.queries.get({ accountId: principal.account.accountId, messageId: id });
    const found = foundMessage(reply, principal, statusUnavailable);
    if ('code' in found) return exchange.refuse(found);
    const { message } = found;
    const ofOtp = message.category === 'otp' ? { otp_id: await otpIdOfMessage(parts, principal, message) } : {};
    exchange.json(200, JSON.stringify({ ...shapeOf(parts, message), ...ofOtp }));
  });
}

const otpKeptMs = limits.otp.ttlSecondsMax * 1_000 + limits.otp.keptMs;

/** Of which one-time password it is, as far as the record of its number knows: for an hour after its end. */
async function otpIdOfMessage(
  { otps, clock }: GetSmsParts,
  principal: Principal,
  { id, to, acceptedAtMs }: MessageView,
): Promise<OtpId | null> {
  if (clock.nowMs() - acceptedAtMs > otpKeptMs) return null;
  const owner = ownerOf(principal);
  const number = await otps.read(owner, otps.placeOf(owner, to));
  return number?.otps.find(({ sends }) => sends.some(({ messageId }) => messageId === id))?.id ?? null;
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

const textCharsMax = 512;
/** A day, or a time with its offset: without one, its meaning would depend on the reader. */
const moment = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

const reads: Reads<ListQuery> = {
  limit: readLimit,
  cursor: (text) => (isText(text) ? { cursor: text } : 'must be the next_cursor of the previous page'),
  status: (text) => (isMessageStatus(text) ? { status: text } : `must be one of ${messageStatuses.join(', ')}`),
  to: (text) => ({ to: withPlusSign(text) }),
  from: (text) => (isText(text) ? { from: withPlusSign(text) } : 'must be a sender'),
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

/** The query of GET /v1/sms as one for the event store, or every invalid parameter by name. */
export const parseListParameters = (query: string): OrProblem<{ readonly question: ListQuery }> =>
  readListQuery(query, reads, (question) =>
    question.to === undefined || isRecipient(question.to, question) ? [] : [wrongNumber],
  );

const wrongNumber: FieldProblem = { field: 'to', code: 'invalid_field', detail: numberForm };

/** Messages from subscribers are addressed to numbers and short codes as registered, not in E.164 form. */
function isRecipient(to: string, { direction, status }: ListQuery): boolean {
  const isInbound = direction === 'inbound' || status === 'received';
  return /^\+[0-9]{1,15}$/.test(to) || (isInbound && /^[0-9]{3,15}$/.test(to));
}

function atMoment(given: string, value: (ms: number) => Partial<ListQuery>): Partial<ListQuery> | string {
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
