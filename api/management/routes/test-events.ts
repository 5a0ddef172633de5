// Events of test messages, asked for instead of sent: for developers whose machine no webhook reaches. `heliograph
// listen` is its client.
import { testEventCursor } from '../../../actors/webhook/listen/test-events.ts';
import { problem, wrongField } from '../../problem.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { aboutWebhooks } from '../own-webhook.ts';
import { testEventPage, testEventsQuery } from '../schemas/webhooks.ts';

export const testEventEndpoints: readonly Endpoint[] = [
  endpoint({
    ...aboutWebhooks,
    waitsForOthers: true,
    method: 'get',
    path: '/v1/events',
    summary: 'Events of test messages as they happen',
    description:
      'Under a test key: the events of messages that the account’s test endpoints get, from the first request on. Each request names the ' +
      '`cursor` of the answer before it and may wait for the next event. Nothing is kept for a listener who stays away ' +
      'longer than half a minute: `missed` says so. Live events only go to webhooks.',
    query: testEventsQuery,
    answer: { status: 200, description: 'What happened since the cursor; perhaps nothing.', schema: testEventPage },
    async handle({ parts: { testEvents }, principal, account, query }) {
      if (principal.livemode) return { problem: onlyTestKeys };
      const { cursor = null, wait_seconds: waitS = 0 } = query;
      if (cursor !== null && !testEventCursor.test(cursor)) {
        return { problem: wrongField('cursor', 'expected the cursor of the previous answer') };
      }
      const page = await testEvents.poll(account.accountId, cursor, waitS * 1_000);
      if (page === null) return { problem: problem(503, 'overloaded', 'too many accounts listen at the moment', 10) };
      const data = page.events.map(({ id, body }) => ({ id, ...(JSON.parse(body) as object) }));
      return { body: { data, cursor: page.cursor, missed: page.missed } };
    },
  }),
];

const onlyTestKeys = problem(403, 'scope_missing', 'only events of test messages can be listened to: use a test key');
