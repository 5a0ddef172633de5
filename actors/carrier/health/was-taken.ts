// Asks the event store whether a carrier has begun with a message. Asked only about what an earlier life may or may not
// have published, long enough ago for the stream to have forgotten: a reroute, or the copy of a record that was set
// aside. Then a moment does not matter.
import { type GetMessageReply, type MessageView, querySubjects, queryTimeoutMs } from '../../../analytics/contract.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { Message } from '../../../model/message.ts';
import { isTerminal } from '../../../model/status.ts';
import { ignoring } from '../../../platform/errors.ts';

type Answer = 'yes' | 'no' | 'unclear';

/** Whether the carrier a message was rerouted to knows of it. */
export function wasTaken(bus: Pick<Bus, 'connection'>, message: Message, by: string): Promise<Answer> {
  return ask(bus, message, ({ history }) => history.some((entry) => entry.carrier === by));
}

/** Whether the carrier that has it has submitted any part of it. What it was only given is not begun. */
export function wasBegun(bus: Pick<Bus, 'connection'>, message: Message): Promise<Answer> {
  return ask(bus, message, ({ history }) =>
    history.some(({ status, carrier }) => status === 'submitted' && carrier === message.carrier),
  );
}

async function ask(
  bus: Pick<Bus, 'connection'>,
  { accountId, messageId }: Message,
  isWhatWasAsked: (message: MessageView) => boolean,
): Promise<Answer> {
  try {
    const question = JSON.stringify({ accountId, messageId });
    const answer = await bus.connection.request(querySubjects.get, question, { timeout: queryTimeoutMs });
    const reply = answer.json<GetMessageReply>();
    if ('refused' in reply) return 'unclear';
    if (!reply.found) return 'no';
    return isTerminal(reply.message.status) || isWhatWasAsked(reply.message) ? 'yes' : 'no';
  } catch (error) {
    ignoring(error, 'the event store did not answer about a message, it is asked again');
    return 'unclear';
  }
}
