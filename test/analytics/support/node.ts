// The analytics node in this process, on an event store of its own, queried over NATS as by an entry point.
import { startAnalytics } from '../../../analytics/analytics-node.ts';
import {
  type ListMessages,
  type ListMessagesReply,
  type MessageView,
  querySubjects,
  queryTimeoutMs,
} from '../../../analytics/contract.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
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

/** Repeats the query while a busy machine does not answer in time. */
export function askStore<Reply>({ connection }: Bus, subject: string, query: object): Promise<Reply> {
  return until(`an answer to ${subject}`, async () => {
    try {
      const answer = await connection.request(subject, JSON.stringify(query), { timeout: queryTimeoutMs });
      return answer.json<Reply>();
    } catch (error) {
      ignoring(error, 'there was no answer in time');
      return null;
    }
  });
}

export async function startNode(): Promise<TestNode> {
  const store = await startEventStore();
  const node = await startAnalytics(store.bus, store.engine);
  const ask = <Reply>(subject: string, query: object) => askStore<Reply>(store.bus, subject, query);
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
