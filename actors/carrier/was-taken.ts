// Asks the event store whether a carrier has begun with a message. Asked only about a reroute that an earlier life
// may or may not have published, long enough ago for the stream to have forgotten; then a moment does not matter.
import { type GetMessageReply, querySubjects, queryTimeoutMs } from '../../analytics/contract.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Message } from '../../model/message.ts';
import { isTerminal } from '../../model/status.ts';
import { ignoring } from '../../platform/errors.ts';

export async function wasTaken(
  bus: Pick<Bus, 'connection'>,
  { accountId, messageId }: Message,
  by: string,
): Promise<'yes' | 'no' | 'unclear'> {
  try {
    const question = JSON.stringify({ accountId, messageId });
    const answer = await bus.connection.request(querySubjects.get, question, { timeout: queryTimeoutMs });
    const reply = answer.json<GetMessageReply>();
    if ('refused' in reply) return 'unclear';
    if (!reply.found) return 'no';
    const { status, history } = reply.message;
    return isTerminal(status) || history.some((entry) => entry.carrier === by) ? 'yes' : 'no';
  } catch (error) {
    ignoring(error, 'the event store did not answer about a rerouted message, it is asked again');
    return 'unclear';
  }
}
