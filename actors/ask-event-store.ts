// Queries the event store, for code that must not repeat what was already done. The answer covers every event up to the
// time of the query. Every failure is `unavailable` or `unclear`, never `none` or `no`: the caller asks again, or
// leaves the message where it is.
import {
  type GetMessageReply,
  type MessageView,
  type PassedOn,
  type SentHop,
  type Unavailable,
  querySubjects,
  queryTimeoutMs,
} from '../analytics/contract.ts';
import type { Message } from '../model/message.ts';
import { isTerminal } from '../model/status.ts';
import { unreachable } from '../platform/assert.ts';
import { ignoring } from '../platform/errors.ts';
import type { Bus } from '../cluster/bus/connect.ts';

/** Never rejects: an event store that cannot be reached is `unavailable`. */
export async function queryEventStore<Reply>(
  { connection }: Pick<Bus, 'connection'>,
  subject: string,
  query: object,
): Promise<Reply | Unavailable> {
  try {
    const reply = await connection.request(subject, JSON.stringify(query), { timeout: queryTimeoutMs });
    return reply.json<Reply>();
  } catch (error) {
    ignoring(error, 'the event store did not answer');
    return { result: 'unavailable', why: 'away', detail: 'the event store did not answer' };
  }
}

export type EventStoreAnswer = 'yes' | 'no' | 'unclear';

/** `yes` when `isSo` holds, and for a message that has ended. */
export async function askEventStore(
  bus: Pick<Bus, 'connection'>,
  { accountId, messageId }: Message,
  isSo: (message: MessageView, passedOn: PassedOn | null, hops: readonly SentHop[]) => boolean,
): Promise<EventStoreAnswer> {
  const query = { accountId, messageId, upToDate: true, withHops: true };
  const reply = await queryEventStore<GetMessageReply>(bus, querySubjects.get, query);
  switch (reply.result) {
    case 'found':
      return isTerminal(reply.message.status) || isSo(reply.message, reply.passedOn ?? null, reply.hops ?? [])
        ? 'yes'
        : 'no';
    case 'none':
      return 'no';
    case 'unavailable':
      return 'unclear';
    default:
      return unreachable(reply);
  }
}
