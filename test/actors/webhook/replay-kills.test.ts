// The delivery process is killed or stopped in the middle of a replay: the next one goes on where it was, and every event of the time
// is sent under the id it had.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ReplayAnswer, type ReplayRequest, webhookSubjects } from '../../../actors/webhook/contract.ts';
import { ignoring } from '../../../platform/errors.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { contextOf, lifeOf } from '../../analytics/support/events.ts';
import { type TestNode, startNode } from '../../analytics/support/node.ts';
import { until } from '../../support/until.ts';
import { putAccount, putEndpoint, runWebhooks, startDelivery, startReceiver } from '../../support/webhooks.ts';

const page = limits.queries.replayMessagesMax;
let node: TestNode;
beforeAll(async () => {
  node = await startNode();
});
afterAll(() => node?.stop());

/** An endpoint made after the events of its account happened: it gets them by a replay alone. */
async function endpointAfterEvents() {
  const accountId = await putAccount(node.bus);
  const sinceMs = systemClock.nowMs() - 3_600_000;
  const contexts = Array.from({ length: 10 * page }, () => contextOf({ accountId, acceptedAtMs: sinceMs }));
  for (let at = 0; at < contexts.length; at += page) {
    await node.publish(contexts.slice(at, at + page).flatMap(lifeOf));
  }
  // A replay reads what is in the store.
  const ended = "SELECT toInt32(countIf(kind = 'delivered')) FROM sms_events WHERE account_id = {accountId:String}";
  await until('everything is recorded', async () => {
    return (await node.engine.rows(ended, { accountId }))[0]?.[0] === contexts.length;
  });
  const receiver = await startReceiver();
  const { entry } = await putEndpoint(node.bus, { accountId, url: receiver.url, events: ['sms.delivered'] });
  return {
    close: () => receiver.close(),
    received: () => new Set(receiver.received.map(({ id }) => id)),
    all: new Set(contexts.map((context) => lifeOf(context).at(-1)?.eventId as string)),
    request: { accountId, endpointId: entry.id, endpoint: entry, eventId: null, sinceMs, untilMs: systemClock.nowMs() },
  };
}

test('kill -9 in the middle of a replay, twice: all of the time is sent', async () => {
  const { request, received, all, close } = await endpointAfterEvents();
  let kill = await startDelivery(node.nats.url);
  expect(await replayed(request)).toEqual({ ok: true, events: null });
  for (const some of [1, 3 * page]) {
    await until('some of them', () => received().size >= some);
    await kill();
    kill = await startDelivery(node.nats.url);
  }
  await until('all of them', () => received().size >= all.size);
  expect(received()).toEqual(all);
  // The next one is admitted when it has ended.
  expect(await replayed({ ...request, sinceMs: 0, untilMs: 1 })).toEqual({ ok: true, events: 0 });
  await kill();
  await close();
});

test('a stop right after the answer: all of the time is sent by the next process', async () => {
  const { request, received, all, close } = await endpointAfterEvents();
  let running = await runWebhooks(node.bus);
  expect(await replayed(request)).toEqual({ ok: true, events: null });
  await running.stop();
  running = await runWebhooks(node.bus);
  await until('all of them', () => received().size >= all.size);
  expect(received()).toEqual(all);
  await running.stop();
  await close();
});

/** Asked again while the process starts, its event store is late, or the replay before runs. */
function replayed(request: ReplayRequest): Promise<ReplayAnswer> {
  return until('an answer to the replay', async () => {
    try {
      const reply = await node.bus.connection.request(webhookSubjects.replay, JSON.stringify(request), {
        timeout: 10_000,
      });
      const answer = reply.json<ReplayAnswer>();
      return answer.ok || !(answer.why === 'running' || answer.why === 'event_store_away') ? answer : null;
    } catch (error) {
      ignoring(error, 'it does not listen yet');
      return null;
    }
  });
}
