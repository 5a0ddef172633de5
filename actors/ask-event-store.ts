// Asks the event store about one message, for code that must not repeat what was already done. The answer covers
// every event up to the time of asking. Every failure is `unclear`, never `no`: the caller asks again, or leaves the
// message where it is.
import {
  type GetMessageReply,
  type MessageView,
  type PassedOn,
  querySubjects,
  queryTimeoutMs,
} from '../analytics/contract.ts';
import type { Message } from '../model/message.ts';
import { isTerminal } from '../model/status.ts';
import { unreachable } from '../platform/assert.ts';
import { ignoring } from '../platform/errors.ts';
import type { Bus } from '../cluster/bus/connect.ts';

export type EventStoreAnswer = 'yes' | 'no' | 'unclear';

/** `yes` when `isSo`, and for a message that has ended. */
export async function askEventStore(
  bus: Pick<Bus, 'connection'>,
  { accountId, messageId }: Message,
  isSo: (message: MessageView, passedOn: PassedOn | null) => boolean,
): Promise<EventStoreAnswer> {
  let reply: GetMessageReply;
  try {
    const query = JSON.stringify({ accountId, messageId, upToDate: true });
    const answer = await bus.connection.request(querySubjects.get, query, { timeout: queryTimeoutMs });
    reply = answer.json<GetMessageReply>();
  } catch (error) {
    ignoring(error, 'the event store did not answer about a message');
    return 'unclear';
  }
  switch (reply.result) {
    case 'found':
      return isTerminal(reply.message.status) || isSo(reply.message, reply.passedOn ?? null) ? 'yes' : 'no';
    case 'none':
      return 'no';
    case 'unavailable':
      return 'unclear';
    default:
      return unreachable(reply);
  }
}
