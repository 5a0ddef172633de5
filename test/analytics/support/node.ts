// The analytics node in this process, on an event store of its own, queried over NATS as by an entry point.
import { startAnalytics } from '../../../analytics/analytics-node.ts';
import {
  type ListMessages,
  type ListMessagesReply,
  type MessageView,
  querySubjects,
  queryTimeoutMs,
} from '../../../analytics/contract.ts';
import { ignoring } from '../../../platform/errors.ts';
import { until } from '../../support/until.ts';
import { type EventStore, startEventStore } from './event-store.ts';
import { account } from './events.ts';

export type TestNode = EventStore & {
  ask<Reply>(subject: string, query: object): Promise<Reply>;
  /** A page of the test account's messages; throws when the query is refused. */
  list(query: Partial<ListMessages>): Promise<Page>;
};

type Page = { readonly messages: readonly MessageView[]; readonly nextCursor: string | null };

export async function startNode(): Promise<TestNode> {
  const store = await startEventStore();
  const node = await startAnalytics(store.bus, store.engine);
  async function ask<Reply>(subject: string, query: object): Promise<Reply> {
    return until(`an answer to ${subject}`, async () => {
      try {
        const request = { timeout: queryTimeoutMs };
        return (await store.bus.connection.request(subject, JSON.stringify(query), request)).json<Reply>();
      } catch (error) {
        ignoring(error, 'a busy machine did not answer in time: it is asked again');
        return null;
      }
    });
  }
  return {
    ...store,
    ask,
    async list(query) {
      // What is not known in time is unavailable for a moment.
      const reply = await until('an answer of the event store', async () => {
        const answer = await ask<ListMessagesReply>(querySubjects.list, { accountId: account, ...query });
        return answer.result !== 'unavailable' && answer;
      });
      if (reply.result === 'none') return { messages: [], nextCursor: null };
      if (reply.result !== 'found') throw new Error(reply.detail);
      return reply;
    },
    async stop() {
      await node.stop(5_000);
      await store.stop();
    },
  };
}
