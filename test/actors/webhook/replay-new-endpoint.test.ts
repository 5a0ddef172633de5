// Replays to an endpoint that was made a moment ago, which the directory of the delivery process does not have yet: the
// request has it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ReplayAnswer, webhookSubjects } from '../../../actors/webhook/contract.ts';
import { querySubjects } from '../../../analytics/contract.ts';
import { systemClock } from '../../../platform/clock.ts';
import { contextOf, lifeOf } from '../../analytics/support/events.ts';
import { type TestNode, startNode } from '../../analytics/support/node.ts';
import { until } from '../../support/until.ts';
import {
  type Receiver,
  type RunningWebhooks,
  newEndpoint,
  putAccount,
  putEntry,
  runWebhooks,
  startReceiver,
} from '../../support/webhooks.ts';

let node: TestNode;
let running: RunningWebhooks;
let receiver: Receiver;
beforeAll(async () => {
  node = await startNode();
  running = await runWebhooks(node.bus);
  receiver = await startReceiver();
  await until('it delivers', () => running.node.state === 'delivers');
});
afterAll(async () => {
  await running?.stop();
  await receiver?.close();
  await node?.stop();
});

test('one event, and all of a time, are sent as soon as the directory has it', async () => {
  const accountId = await putAccount(node.bus);
  const sinceMs = systemClock.nowMs() - 60_000;
  const life = lifeOf(contextOf({ accountId }));
  await node.publish(life);
  const [submitted, delivered] = ['submitted', 'delivered'].map(
    (kind) => life.find((event) => event.kind === kind)?.eventId,
  );
  await until('it is recorded', async () => {
    const ended = `SELECT toUInt32(count()) FROM sms_events WHERE account_id = {accountId:String} AND kind = 'delivered'`;
    return (await node.engine.rows(ended, { accountId }))[0]?.[0] === 1;
  });
  let searches = 0;
  const searching = node.bus.connection.subscribe(querySubjects.replayEvents, { callback: () => void (searches += 1) });
  let endpoints = 0;
  const replay = async (what: object) => {
    const path = `/hook/${(endpoints += 1)}`;
    const { entry } = newEndpoint({ accountId, url: new URL(path, receiver.url).href });
    const time = { sinceMs, untilMs: systemClock.nowMs() };
    const request = JSON.stringify({ accountId, endpointId: entry.id, endpoint: entry, ...time, ...what });
    const before = searches;
    const asked = node.bus.connection.request(webhookSubjects.replay, request, { timeout: 10_000 });
    await until('it searches', () => searches > before);
    expect(running.directory.webhookEndpoint(entry.id)).toBeUndefined();
    await putEntry(node.bus, entry);
    return { path, said: (await asked).json<ReplayAnswer>() };
  };
  for (const [eventId, expected] of [
    [delivered, [delivered]],
    [null, [submitted, delivered]],
  ] as const) {
    const { path, said } = await until('an answer of an event store in time', async () => {
      const answer = await replay({ eventId });
      const isAway = !answer.said.ok && (answer.said.why === 'event_store_away' || answer.said.why === 'behind');
      return isAway ? null : answer;
    });
    expect(said).toEqual({ ok: true, events: expected.length });
    // An endpoint that is known before the fan-out has read the events gets them by that way, too.
    await until('they came', () => {
      const ids = receiver.received.filter((each) => each.path === path).map(({ id }) => id);
      return expected.every((id) => id !== undefined && ids.includes(id));
    });
  }
  searching.unsubscribe();
});
