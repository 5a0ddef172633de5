// Messages of several segments whose receipts are far apart, one-time passwords whose second copy was sent long ago, and ends
// that come after another one: the delivery process has forgotten the earlier events, or was started after them, and the
// event store says what they were. One event of each change is sent, under one id.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AnalyticsNode, startAnalytics } from '../../../analytics/analytics-node.ts';
import { type GetMessageReply, querySubjects } from '../../../analytics/contract.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { readWebhookPlace } from '../../../cluster/bus/webhook-place.ts';
import { type DeliveryEvent, type EventContext, acceptedEvent, deliveryEvent } from '../../../model/delivery-event.ts';
import type { AccountId } from '../../../model/ids.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import type { Engine } from '../../../analytics/store/engine.ts';
import { type EventStore, startEventStore } from '../../analytics/support/event-store.ts';
import { contextOf, lifeOf } from '../../analytics/support/events.ts';
import { askStore } from '../../analytics/support/node.ts';
import { until } from '../../support/until.ts';
import {
  type Receiver,
  type RunningWebhooks,
  putAccount,
  putEndpoint,
  runWebhooks,
  startReceiver,
} from '../../support/webhooks.ts';

let store: EventStore;
let analytics: AnalyticsNode | null = null;
let running: RunningWebhooks | null = null;
let hook: Receiver;
let accountId: AccountId;
let aheadMs = 0;
/** The system's, ahead by as much as a test wants to be forgotten. */
const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };

beforeAll(async () => {
  store = await startEventStore();
});
beforeEach(async () => {
  await startStore();
  accountId = await putAccount(store.bus);
  hook = await startReceiver();
  const { entry } = await putEndpoint(store.bus, { accountId, url: hook.url });
  await start();
  await until('it is known', () => running?.directory.webhookEndpoint(entry.id) !== undefined);
});
afterEach(async () => {
  await running?.stop();
  await hook.close();
  await analytics?.stop(5_000);
});
afterAll(async () => {
  await store.stop();
});

let [lookUps, answersOpen] = [0, Promise.resolve()];
/** Messages are looked up in so many statements, each answered when `answersOpen` is. */
async function startStore(): Promise<void> {
  const rows: Engine['rows'] = async (sql, ...rest) => {
    if (!sql.includes('message_id IN {messageIds:Array(String)}')) return store.engine.rows(sql, ...rest);
    lookUps += 1;
    await answersOpen;
    return store.engine.rows(sql, ...rest);
  };
  analytics = await startAnalytics(store.bus, { ...store.engine, rows });
}

async function start(): Promise<void> {
  running = await runWebhooks(store.bus, { clock });
  await until('it delivers', () => running?.node.state === 'delivers');
}

const longMessage = (): EventContext => contextOf({ accountId, segments: 2 });
const eventOf = (context: EventContext, kind: DeliveryEvent['kind'], segment: number): DeliveryEvent =>
  deliveryEvent(context, { kind, segment, attempt: 1, atMs: systemClock.nowMs() });
const begun = (context: EventContext) => [
  ...[acceptedEvent(context), eventOf(context, 'intent', 0)],
  ...[1, 2].map((segment) => eventOf(context, 'submitted', segment)),
];
/** The ids of what was sent of the message, of this type or of all. */
const sentOf = ({ messageId }: EventContext, type?: string) =>
  hook.received
    .filter(({ json }) => json.data['id'] === messageId && (type ?? json.type) === json.type)
    .map(({ id }) => id);

/** A message of one segment: its events are sent at once. */
async function another(): Promise<void> {
  const context = contextOf({ accountId });
  await store.publish(lifeOf(context));
  await until('another message is sent', () => sentOf(context).length === 2);
}

/** What was published is decided, and handed over. */
async function decided(): Promise<void> {
  const { state } = await store.bus.manager.streams.info(streamNames.events);
  const bucket = await openBucket(store.bus, 'webhooks');
  await until('everything is decided', async () => {
    return ((await readWebhookPlace(bucket))?.position.seq ?? 0) >= state.last_seq;
  });
}

/** Both halves of what is remembered are replaced. */
async function forget(): Promise<void> {
  for (let half = 0; half < 2; half += 1) {
    await decided();
    aheadMs += limits.delivery.rememberedMs + 1;
    await another();
  }
}

async function recorded({ messageId }: EventContext, status: string): Promise<void> {
  await until(`it is recorded as ${status}`, async () => {
    const query = { accountId, messageId, upToDate: true };
    const reply = await askStore<GetMessageReply>(store.bus, querySubjects.get, query);
    return reply.result === 'found' && reply.message.status === status;
  });
}

/** As long after its events, for a process that begins now: none of them is read again. */
async function purgeEvents(): Promise<void> {
  await decided();
  await store.bus.manager.streams.purge(streamNames.events);
}

test('delivered, when the second receipt comes after the first was forgotten', async () => {
  const message = longMessage();
  const [first, second] = [1, 2].map((segment) => eventOf(message, 'delivered', segment));
  await store.publish([...begun(message), first!]);
  await forget();
  expect(sentOf(message, 'sms.delivered')).toEqual([]);
  await store.publish([second!]);
  await until('it is sent', () => sentOf(message, 'sms.delivered').length > 0);
  expect(sentOf(message, 'sms.delivered')).toEqual([second?.eventId]);
});

test('what was sent is not sent once more under another id', async () => {
  const message = longMessage();
  const [first, second] = [1, 2].map((segment) => eventOf(message, 'undelivered', segment));
  await store.publish([...begun(message), first!]);
  await forget();
  await store.publish([second!]);
  await decided();
  await another();
  expect(sentOf(message, 'sms.undelivered')).toEqual([first?.eventId]);
});

test('a process that starts between the receipts and after the submits waits for the last one', async () => {
  const message = longMessage();
  const [first, second] = [1, 2].map((segment) => eventOf(message, 'delivered', segment));
  await store.publish(begun(message));
  await recorded(message, 'submitted');
  await purgeEvents();
  await running?.stop();
  await start();
  await store.publish([second!]);
  await decided();
  await another();
  expect(sentOf(message, 'sms.delivered')).toEqual([]);
  await store.publish([first!]);
  await until('it is sent', () => sentOf(message, 'sms.delivered').length > 0);
  expect(sentOf(message, 'sms.delivered')).toEqual([first?.eventId]);
});

test('while the event store is away it waits, over a restart; other messages do not', async () => {
  const message = longMessage();
  const [first, second] = [1, 2].map((segment) => eventOf(message, 'delivered', segment));
  await store.publish([...begun(message), first!]);
  await recorded(message, 'submitted');
  await purgeEvents();
  await running?.stop();
  await analytics?.stop(5_000);
  analytics = null;
  await start();
  await store.publish([second!]);
  await another();
  await running?.stop();
  await start();
  await another();
  expect(sentOf(message, 'sms.delivered')).toEqual([]);
  await startStore();
  await until('it is sent', () => sentOf(message, 'sms.delivered').length > 0);
  await decided();
  expect(sentOf(message, 'sms.delivered')).toEqual([second?.eventId]);
});

describe('a one-time password with two copies, of which the process that starts later knows nothing', () => {
  const copyOf = (message: EventContext, hop: number): EventContext => ({ ...message, hop, carrier: `carrier_${hop}` });
  const hedged = (message: EventContext) => [
    ...[acceptedEvent(message), eventOf(message, 'intent', 0), eventOf(message, 'submitted', 1)],
    deliveryEvent(message, { kind: 'hedged', attempt: 1, atMs: systemClock.nowMs(), error: 'to beta: no_receipt' }),
    eventOf(copyOf(message, 1), 'submitted', 1),
  ];
  async function restart(): Promise<void> {
    await purgeEvents();
    await running?.stop();
    await start();
  }

  test('is delivered when one copy fails and the other is delivered, as the status query says', async () => {
    const message = contextOf({ accountId, category: 'otp' });
    await store.publish(hedged(message));
    await recorded(message, 'submitted');
    await restart();
    const delivered = eventOf(copyOf(message, 1), 'delivered', 1);
    await store.publish([eventOf(message, 'undelivered', 1), delivered]);
    await until('it is sent', () => sentOf(message, 'sms.delivered').length > 0);
    await recorded(message, 'delivered');
    expect(sentOf(message, 'sms.delivered')).toEqual([delivered.eventId]);
    expect(sentOf(message, 'sms.undelivered')).toEqual([]);
  });

  test('whose end was sent is sent no second one by the other copy', async () => {
    const message = contextOf({ accountId, category: 'otp' });
    const delivered = eventOf(message, 'delivered', 1);
    await store.publish([...hedged(message), delivered]);
    await until('it is sent', () => sentOf(message, 'sms.delivered').length > 0);
    await recorded(message, 'delivered');
    await restart();
    const late = (['submitted', 'delivered', 'expired'] as const).map((kind) =>
      eventOf({ ...copyOf(message, 1), carrier: 'carrier_2' }, kind, 1),
    );
    await store.publish(late);
    await decided();
    await another();
    expect(sentOf(message).length).toBe(2);
    expect(sentOf(message, 'sms.delivered')).toEqual([delivered.eventId]);
  });
});

describe('an end of a message of one segment that has ended before', () => {
  const sent = (context: EventContext) => [
    ...[acceptedEvent(context), eventOf(context, 'intent', 0), eventOf(context, 'submitted', 1)],
  ];
  async function restart(): Promise<void> {
    await purgeEvents();
    await running?.stop();
    await start();
  }

  test('is not sent when the first one was forgotten: the webhooks say what the status query says', async () => {
    const message = contextOf({ accountId });
    const undelivered = eventOf(message, 'undelivered', 1);
    await store.publish([...sent(message), undelivered]);
    await forget();
    await store.publish([eventOf(message, 'delivered', 1)]);
    await decided();
    await another();
    await recorded(message, 'undelivered');
    expect(sentOf(message, 'sms.undelivered')).toEqual([undelivered.eventId]);
    expect(sentOf(message, 'sms.delivered')).toEqual([]);
  });

  test('is recognised among the first ends of many messages after a restart, which are looked up together', async () => {
    const messages = Array.from({ length: 300 }, () => contextOf({ accountId }));
    const ended = messages.slice(0, 20);
    await store.publish([...messages.flatMap(sent), ...ended.map((each) => eventOf(each, 'undelivered', 1))]);
    await until('all that was sent is', () => ended.every((each) => sentOf(each, 'sms.undelivered').length === 1));
    await recorded(messages.at(-1)!, 'submitted');
    await restart();
    lookUps = 0;
    await store.publish(messages.map((each) => eventOf(each, 'delivered', 1)));
    const open = messages.slice(ended.length);
    await until('the others are sent', () => open.every((each) => sentOf(each, 'sms.delivered').length === 1));
    await decided();
    await another();
    expect(ended.flatMap((each) => sentOf(each, 'sms.delivered'))).toEqual([]);
    expect(lookUps).toBeLessThan(messages.length / 10);
  });

  test('waits with the first ends of others while the event store is away', async () => {
    const [ended, open] = [contextOf({ accountId }), contextOf({ accountId })];
    await store.publish([...sent(ended), ...sent(open), eventOf(ended, 'expired', 1)]);
    await recorded(ended, 'expired');
    await restart();
    await analytics?.stop(5_000);
    analytics = null;
    const delivered = [ended, open].map((each) => eventOf(each, 'delivered', 1));
    await store.publish(delivered);
    await another();
    expect([ended, open].flatMap((each) => sentOf(each, 'sms.delivered'))).toEqual([]);
    await startStore();
    await until('it is sent', () => sentOf(open, 'sms.delivered').length > 0);
    await decided();
    await another();
    expect([ended, open].map((each) => sentOf(each, 'sms.delivered'))).toEqual([[], [delivered[1]?.eventId]]);
  });

  test('does not make a clean stop repeat what was sent after it', async () => {
    const message = contextOf({ accountId });
    await store.publish(sent(message));
    await recorded(message, 'submitted');
    await restart();
    let answer = () => {};
    answersOpen = new Promise<void>((resolve) => (answer = resolve));
    lookUps = 0;
    const delivered = eventOf(message, 'delivered', 1);
    await store.publish([delivered]);
    await until('it is looked up', () => lookUps === 1);
    const later = contextOf({ accountId });
    await store.publish(lifeOf(later));
    await until('what came later is sent', () => sentOf(later).length === 2);
    const stopped = running?.stop();
    answer();
    await stopped;
    await start();
    await decided();
    await another();
    expect(sentOf(message, 'sms.delivered')).toEqual([delivered.eventId]);
    expect(sentOf(later).length).toBe(2);
  });
});
