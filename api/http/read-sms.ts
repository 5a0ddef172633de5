// GET /v1/sms/{id} and GET /v1/sms: passes the query to the event store and its answer to the client. A key sees the
// messages of its own account and mode; everything else is "not found", so that ids reveal nothing.
import type { HttpRequest } from 'uWebSockets.js';
import type { Principal } from '../../acceptance/principal.ts';
import type { MessageView } from '../../analytics/contract.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { isMessageId } from '../../model/ids.ts';
import { unreachable } from '../../platform/assert.ts';
import { problem, wrongField } from '../problem.ts';
import { type AccessParts, admitReader } from './access.ts';
import type { Exchange, Guard } from './exchange.ts';
import { parseListParameters } from './list-parameters.ts';
import { inboundShape, messageNotFound, messageShape } from './sms-answer.ts';
import type { StatusQueryClient } from './status-query-client.ts';

export type ReadSmsParts = {
  readonly access: AccessParts;
  readonly queries: StatusQueryClient;
  readonly guard: Guard;
  /** For what subscribers wrote, where the account keeps it. */
  readonly cipher: BodyCipher;
};

export function getSms(parts: ReadSmsParts, exchange: Exchange, req: HttpRequest): void {
  const id = req.getParameter(0) ?? '';
  const principal = readerOf(parts, exchange, req);
  if (principal === null) return;
  parts.guard(exchange, async () => {
    if (!isMessageId(id)) return exchange.refuse(messageNotFound);
    const reply = await parts.queries.get({ accountId: principal.account.accountId, messageId: id });
    switch (reply.result) {
      case 'found':
        if (reply.message.livemode !== principal.livemode) return exchange.refuse(messageNotFound);
        return exchange.json(200, JSON.stringify(shapeOf(parts, reply.message)));
      case 'none':
        return exchange.refuse(messageNotFound);
      case 'no_place':
        return exchange.refuse(reply.problem);
      case 'unavailable':
        return exchange.refuse(statusUnavailable);
      default:
        return unreachable(reply);
    }
  });
}

export function listSms(parts: ReadSmsParts, exchange: Exchange, req: HttpRequest): void {
  const query = req.getQuery() ?? '';
  const principal = readerOf(parts, exchange, req);
  if (principal === null) return;
  parts.guard(exchange, async () => {
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

/** Null when the request was refused. */
function readerOf(parts: ReadSmsParts, exchange: Exchange, req: HttpRequest): Principal | null {
  const authenticated = admitReader(parts.access, exchange, req, 'sms:read');
  if (authenticated.ok) return authenticated.principal;
  exchange.refuse(authenticated.problem);
  return null;
}

// All other parameters were checked before the question was asked.
const badCursor = wrongField('cursor', 'must be the next_cursor of the page before, unchanged');
const statusUnavailable = problem(
  503,
  'status_unavailable',
  'messages still go out, but their status cannot be read now',
  [],
  2,
);
