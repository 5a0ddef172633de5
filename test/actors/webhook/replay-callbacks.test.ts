// Replays of messages with a callback_url: their events go to it again, whatever its endpoint subscribes to, and to the other
// endpoints as they did.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Busy, type ReplayAnswer, webhookSubjects } from '../../../actors/webhook/contract.ts';
import type { WebhookEntry } from '../../../directory/contract.ts';
import { type DeliveryEvent, type EventContext, deliveryEvent } from '../../../model/delivery-event.ts';
import type { AccountId, WebhookEndpointId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { contextOf, lifeOf } from '../../analytics/support/events.ts';
import { type TestNode, startNode } from '../../analytics/support/node.ts';
import { until } from '../../support/until.ts';
import {
  type Receiver,
  type RunningWebhooks,
  putAccount,
  putEndpoint,
  runWebhooks,
  startReceiver,
} from '../../support/webhooks.ts';

let node: TestNode;
let running: RunningWebhooks;
let accountId: AccountId;
const receivers: Receiver[] = [];

beforeAll(async () => {
  node = await startNode();
  running = await runWebhooks(node.bus);
  await until('it delivers', () => running.node.state === 'delivers');
});
beforeEach(async () => {
  accountId = await putAccount(node.bus);
});
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});
afterAll(async () => {
  await running?.stop();
  await node?.stop();
});

const minuteMs = 60_000;
const sinceMs = systemClock.nowMs() - 60 * minuteMs;

type Hook = Receiver & { readonly endpoint: WebhookEntry; readonly endpointId: string };
async function hook(events: readonly string[]): Promise<Hook> {
  const made = await startReceiver();
  receivers.push(made);
  const { entry } = await putEndpoint(node.bus, { accountId, url: made.url, createdAtMs: sinceMs, events });
  await until('it is known', () => running.directory.webhookEndpoint(entry.id) !== undefined);
  return Object.assign(made, { endpoint: entry, endpointId: entry.id });
}

function replay({ endpoint, endpointId }: Hook, what: { eventId?: string } = {}): Promise<ReplayAnswer | Busy> {
  const time = { sinceMs, untilMs: systemClock.nowMs() + minuteMs };
  const asked = JSON.stringify({ accountId, endpointId, endpoint, eventId: null, ...time, ...what });
  // Earlier ones may still be on their way, and the event store of a busy machine late.
  return until('no other replay', async () => {
    const reply = await node.bus.connection.request(webhookSubjects.replay, asked, { timeout: 10_000 });
    const said = reply.json<ReplayAnswer | Busy>();
    const isLater = 'busy' in said || (!said.ok && (said.why === 'running' || said.why === 'event_store_away'));
    return isLater ? null : said;
  });
}
const sent = (events: number) => ({ ok: true, events });
const came = (to: Receiver, count: number) => until(`${count} events`, () => to.received.length >= count);

test('of messages with a callback_url: to that URL, whatever its endpoint subscribes to', async () => {
  const [own, other] = [await hook(['otp.verified']), await hook(['sms.delivered'])];
  const url = (nth: number) => new URL(`/orders/${nth}?x=${'y'.repeat(900)}`, own.url).href;
  // A page of them would not fit into a reply if each event had its URL.
  const messages = Array.from({ length: limits.queries.replayMessagesMax + 1 }, (_, nth) => {
    const callback = { endpointId: own.endpointId as WebhookEndpointId, url: url(nth) };
    return contextOf({ accountId, segments: 10, callback });
  });
  for (const each of messages) await node.publish(lifeOfSegments(each));
  await node.publish(lifeOf(contextOf({ accountId })));
  const count = 2 * messages.length;
  await came(own, count);
  await came(other, messages.length + 1);
  await until('all is recorded', async () => {
    const ofAccount = `SELECT toUInt32(count()) FROM sms_events WHERE account_id = {accountId:String} AND kind = 'delivered'`;
    return (await node.engine.rows(ofAccount, { accountId }))[0]?.[0] === 10 * messages.length + 1;
  });
  const first = withPath(own);
  expect(first.filter((each) => each.startsWith('/orders/'))).toHaveLength(count);

  expect(await replay(own)).toMatchObject({ ok: true });
  await came(own, 2 * count);
  expect(withPath(own, count)).toEqual(first);
  expect(await replay(other)).toMatchObject({ ok: true });
  await came(other, 2 * messages.length + 2);
  expect(withPath(other).filter((each) => !each.startsWith('/hook '))).toEqual([]);

  const { id, path } = own.received[0] as { id: string; path: string };
  const before = own.received.length;
  expect(await replay(own, { eventId: id })).toEqual(sent(1));
  await came(own, before + 1);
  expect(own.received.at(-1)).toMatchObject({ id, path });
});

const withPath = ({ received }: Receiver, from = 0) =>
  received
    .slice(from)
    .map(({ id, path }) => `${path} ${id}`)
    .sort();

/** accepted, and for each segment submitted and delivered. */
function lifeOfSegments(context: EventContext) {
  const [accepted, intent, submitted, delivered] = lifeOf(context);
  const each = Array.from({ length: context.segments }, (_, at) => at + 1);
  const ofSegments = (event: DeliveryEvent) =>
    each.map((segment) =>
      deliveryEvent(context, { ...event, segment, carrierMessageId: `${context.messageId}.${segment}` }),
    );
  return [accepted, intent, submitted, delivered].flatMap((event, at) =>
    event === undefined ? [] : at < 2 ? [event] : ofSegments(event),
  );
}
