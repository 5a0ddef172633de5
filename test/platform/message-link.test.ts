// Requests for metrics over messages: each answer goes to its own request, and a peer that does not answer is left out.
import { expect, test } from 'vitest';
import { type FromLinked, MetricsRequests, type ToLinked } from '../../platform/message-link.ts';

test('answers reach their requests, in any order, and a late one none', async () => {
  const requests = new MetricsRequests<string>();
  const sent: ToLinked[] = [];
  const ask = (withinMs: number) => requests.ask('a thread', withinMs, (message) => void sent.push(message));
  const [first, second, silent] = [ask(1_000), ask(1_000), ask(1)];
  const answer = (index: number, metrics: string): FromLinked<string> => {
    const message = sent[index];
    if (message?.type !== 'ask') throw new Error('no request was sent');
    return { type: 'metrics', id: message.id, metrics };
  };
  requests.take(answer(1, 'of the second'));
  requests.take(answer(0, 'of the first'));
  expect(await Promise.all([first, second, silent])).toEqual(['of the first', 'of the second', null]);
  requests.take(answer(2, 'late'));
});
