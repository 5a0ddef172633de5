// Asks the analytics role about messages: request/reply over core NATS with a deadline and a bound. Whatever goes
// wrong becomes `unavailable`; "none" is only ever what the event store itself said.
import {
  type GetMessage,
  type GetMessageReply,
  type ListMessages,
  type ListMessagesReply,
  type Unavailable,
  type UnavailableWhy,
  querySubjects,
} from '../../analytics/contract.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';

export type StatusQuestions = {
  get(question: GetMessage): Promise<GetMessageReply>;
  list(question: ListMessages): Promise<ListMessagesReply>;
};

export function statusQuestions(bus: Pick<Bus, 'connection'>): StatusQuestions {
  let inFlight = 0;

  async function ask<Reply>(subject: string, question: unknown): Promise<Reply | Unavailable> {
    if (inFlight >= limits.http.statusInFlightMax)
      return unavailable('busy', 'too many questions wait for their answer');
    inFlight += 1;
    try {
      const payload = JSON.stringify(question);
      const answer = await bus.connection.request(subject, payload, { timeout: limits.http.statusMs });
      return answer.json<Reply>();
    } catch (error) {
      ignoring(error, 'the event store did not answer');
      return unavailable('away', 'the event store did not answer');
    } finally {
      inFlight -= 1;
    }
  }

  return {
    get: (question) => ask<GetMessageReply>(querySubjects.get, question),
    list: (question) => ask<ListMessagesReply>(querySubjects.list, question),
  };
}

const unavailable = (why: UnavailableWhy, detail: string): Unavailable => ({ result: 'unavailable', why, detail });
