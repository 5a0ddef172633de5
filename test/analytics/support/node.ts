// The analytics node in this process, on an event store of its own, queried over NATS as by an entry point.
import { startAnalytics } from '../../../analytics/analytics-node.ts';
import {
  type ListMessages,
  type ListMessagesReply,
  type MessageView,
  querySubjects,
  queryTimeoutMs,
} from '../../../analytics/contract.ts';
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
    const reply = await store.bus.connection.request(subject, JSON.stringify(query), { timeout: queryTimeoutMs });
    return reply.json<Reply>();
  }
  return {
    ...store,
    ask,
    async list(query) {
      const reply = await ask<ListMessagesReply>(querySubjects.list, { accountId: account, ...query });
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
