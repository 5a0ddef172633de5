// Asks the event store about one message, for those who must not do once more what was done already. Whatever goes
// wrong is `unclear`, never `no`: the asker asks again, or leaves the message where it is.
import { type GetMessageReply, type MessageView, querySubjects, queryTimeoutMs } from '../../analytics/contract.ts';
import type { Message } from '../../model/message.ts';
import { isTerminal } from '../../model/status.ts';
import { ignoring } from '../../platform/errors.ts';
import type { Bus } from './connect.ts';

export type EventStoreAnswer = 'yes' | 'no' | 'unclear';

/** `yes` when `isSo`, and for a message that has ended. */
export async function askEventStore(
  bus: Pick<Bus, 'connection'>,
  { accountId, messageId }: Message,
  isSo: (message: MessageView) => boolean,
): Promise<EventStoreAnswer> {
  try {
    const question = JSON.stringify({ accountId, messageId });
    const answer = await bus.connection.request(querySubjects.get, question, { timeout: queryTimeoutMs });
    const reply = answer.json<GetMessageReply>();
    if ('refused' in reply) return 'unclear';
    if (!reply.found) return 'no';
    return isTerminal(reply.message.status) || isSo(reply.message) ? 'yes' : 'no';
  } catch (error) {
    ignoring(error, 'the event store did not answer about a message');
    return 'unclear';
  }
}
