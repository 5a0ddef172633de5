// How events come from EVENTS to their endpoints: after a kill each endpoint gets what it had not taken and no more, however
// long another one hangs; order holds when memory has no room; a line is left when all of it is in memory; and what a
// version with a queue left there is sent.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import {
  type WebhookPlace,
  neededAfter,
  readWebhookPlace,
  writeWebhookPlace,
} from '../../../cluster/bus/webhook-place.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import { type AccountId, type WebhookEndpointId, newMessageId } from '../../../model/ids.ts';
import { encodeWebhook } from '../../../model/records/webhook-record.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { messageWith } from '../../support/messages.ts';
import { until } from '../../support/until.ts';
import {
  type Receiver,
  type WebhookBus,
  deliveredNow,
  isHandedOver,
  putAccount,
  putEndpoint,
  runWebhooks,
  startDelivery,
  startWebhookBus,
  waitingInLog,
} from '../../support/webhooks.ts';

let bus: WebhookBus;
beforeAll(async () => {
  bus = await startWebhookBus();
});
afterAll(() => bus.stop());

const messageOf = (accountId: AccountId) => messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) });
const idsOf = ({ received }: Receiver) => received.map(({ id }) => id);
const parkedEver = async () => (await bus.bus.manager.streams.info(streamNames.webhookLog)).state.last_seq;
const placeNow = async () => readWebhookPlace(await openBucket(bus.bus, 'webhooks'));

test('kill -9 while one endpoint hangs: the others get nothing again that they took before the place was stored', async () => {
  const accountId = await putAccount(bus.bus);
  const hangs = await bus.receiver(() => null);
  const works = await bus.receiver();
  const { entry } = await putEndpoint(bus.bus, { accountId, url: hangs.url });
  await putEndpoint(bus.bus, { accountId, url: works.url });
  const kill = await startDelivery(bus.nats.url);
  const ids = await bus.publishMany(accountId, 40);
  await until('the one that works has all', () => works.received.length === ids.length);
  await until('that is stored', async () => {
    const place = await placeNow();
    const { state } = await bus.bus.manager.streams.info(streamNames.events);
    return place?.position.seq === state.last_seq && [...place.pending.keys()].join() === entry.id;
  });
  await kill();
  hangs.answer = () => ({ status: 200 });
  const tried = hangs.received.length;
  const killNext = await startDelivery(bus.nats.url);
  await until('the other one has all', () => new Set(idsOf(hangs).slice(tried)).size === ids.length);
  await until('nothing waits', () => isHandedOver(bus.bus));
  expect(idsOf(hangs).slice(tried).toSorted()).toEqual(ids.toSorted());
  expect(idsOf(works).toSorted()).toEqual(ids.toSorted());
  await killNext();
});

test('with ordering per_message, an account with more events than its share of memory gets those of a message in order', async () => {
  const accountId = await putAccount(bus.bus);
  const taken = new Map<string, string[]>();
  const hook = await bus.receiver(async ({ json: { type, data } }) => {
    await systemClock.sleep(3);
    const id = String(data['id']);
    taken.set(id, [...(taken.get(id) ?? []), type]);
    return { status: 200 };
  });
  await putEndpoint(bus.bus, { accountId, url: hook.url, ordering: 'per_message' });
  // No room for the first events of all messages, whose last ones come when there is room again.
  const webhook_held = { total: 60, perAccount: 30, reserve: 0 };
  const running = await runWebhooks(bus.bus, { shares: { ...defaultShares, webhook_held } });
  await until('it delivers', () => running.node.state === 'delivers');
  const messages = Array.from({ length: 150 }, () => messageOf(accountId));
  const kinds = ['submitted', 'unknown', 'delivered'] as const;
  for (const kind of kinds) {
    const some = messages.map((message) => eventOfMessage(message, { kind, atMs: systemClock.nowMs() }));
    for (let at = 0; at < some.length; at += 10) await bus.events.publish(some.slice(at, at + 10));
  }
  await until('all of them', () => [...taken.values()].flat().length >= messages.length * kinds.length);
  const inOrder = kinds.map((kind) => `sms.${kind}`);
  expect([...taken.values()].filter((types) => types.join() !== inOrder.join())).toEqual([]);
  await running.stop();
});

test('an endpoint leaves its line when all of it is in memory, although one of its requests hangs', async () => {
  const accountId = await putAccount(bus.bus);
  let hanging = (_id: string) => true;
  const waiting: (() => void)[] = [];
  const hook = await bus.receiver(async ({ id }) => {
    if (hanging(id)) await new Promise<void>((resolve) => waiting.push(resolve));
    return { status: 200 };
  });
  await putEndpoint(bus.bus, { accountId, url: hook.url });
  const running = await runWebhooks(bus.bus);
  await until('it delivers', () => running.node.state === 'delivers');
  const before = await parkedEver();
  const ids = [...(await bus.publishMany(accountId, limits.delivery.queueMax + 500))];
  await until('all of them are in the line', async () => (await parkedEver()) === before + ids.length);
  const last = ids.at(-1);
  hanging = (id) => id === last;
  for (const go of waiting.splice(0)) go();
  await until('all but one', () => hook.received.length === ids.length && waiting.length === 1);
  await until('one is left in the line', async () => (await waitingInLog(bus.bus)) === 1);
  const more = await bus.publishMany(accountId, 50);
  await until('the next ones', () => hook.received.length === ids.length + more.length);
  expect(await parkedEver()).toBe(before + ids.length);
  for (const go of waiting) go();
  await until('the line is empty', async () => (await waitingInLog(bus.bus)) === 0);
  expect(idsOf(hook).toSorted()).toEqual([...ids, ...more].toSorted());
  await running.stop();
});

test('one slow request does not hold back the place: after a crash what others took since is not sent again', async () => {
  const accountId = await putAccount(bus.bus);
  const hangs = new Set<string>();
  const hook = await bus.receiver(({ id }) => (hangs.has(id) ? null : { status: 200 }));
  await putEndpoint(bus.bus, { accountId, url: hook.url });
  const running = await runWebhooks(bus.bus);
  await until('it delivers', () => running.node.state === 'delivers');
  const slow = deliveredNow(accountId);
  hangs.add(slow.eventId);
  await bus.events.publish([slow]);
  await until('it hangs', () => hook.received.length === 1);
  const ids = await bus.publishMany(accountId, 30);
  await until('the others pass', () => hook.received.length === 1 + ids.length);
  // While its request is in flight still.
  await until('nothing is pending', () => isHandedOver(bus.bus), { limitMs: limits.delivery.firstByteMs - 2_000 });
  expect([hook.received.length, await waitingInLog(bus.bus)]).toEqual([1 + ids.length, 1]);
  const before = await parkedEver();
  const more = await bus.publishMany(accountId, 5);
  await until('the next ones pass', () => hook.received.length === 1 + ids.length + more.length);
  expect(await parkedEver()).toBe(before);
  await hook.close();
  await running.stop();
  await bus.bus.manager.streams.purge(streamNames.webhookLog);
});

test('what has no room in the lines at a stop is handed over again by the next process', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await bus.receiver(() => null);
  await putEndpoint(bus.bus, { accountId, url: hook.url });
  const running = await runWebhooks(bus.bus);
  await until('it delivers', () => running.node.state === 'delivers');
  const ids = await bus.publishMany(accountId, 20);
  await until('some are in flight', () => hook.received.length === limits.delivery.concurrencyFirst);
  const { config } = await bus.bus.manager.streams.info(streamNames.webhookLog);
  await bus.bus.manager.streams.update(streamNames.webhookLog, { ...config, max_msgs: 1 });
  await bus.bus.jetstream.publish('whl.full.full', 'x');
  try {
    await running.node.stop(0);
    expect((await placeNow())?.pending.size).toBe(1);
  } finally {
    await running.stop();
    await bus.bus.manager.streams.update(streamNames.webhookLog, config);
    await bus.bus.manager.streams.purge(streamNames.webhookLog);
  }
  hook.answer = () => ({ status: 200 });
  const tried = hook.received.length;
  const next = await runWebhooks(bus.bus);
  await until('all of them', () => hook.received.length >= tried + ids.length);
  expect(idsOf(hook).slice(tried).toSorted()).toEqual(ids.toSorted());
  await next.stop();
});

test('a process that another one takes over from ends its requests, stores nothing, and sends nothing more', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await bus.receiver(() => null);
  await putEndpoint(bus.bus, { accountId, url: hook.url });
  const running = await runWebhooks(bus.bus, { alone: false });
  await until('it delivers', () => running.node.state === 'delivers', { limitMs: 20_000 });
  await bus.publishMany(accountId, 20);
  await until('some are in flight', () => hook.received.length === limits.delivery.concurrencyFirst);
  const before = await parkedEver();
  await (await openBucket(bus.bus, 'webhooks')).put('owner', 'another process');
  await until('it is a standby', () => running.node.state === 'standby');
  const place = await placeNow();
  await running.stop();
  expect([await parkedEver(), hook.received.length]).toEqual([before, limits.delivery.concurrencyFirst]);
  expect(await placeNow()).toEqual(place);
  await (await openBucket(bus.bus, 'webhooks')).delete('owner');
});

test('what a version with a queue left there is sent, once, and the queue is removed', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await bus.receiver();
  const { entry } = await putEndpoint(bus.bus, { accountId, url: hook.url });
  await bus.bus.manager.streams.add({ name: 'WEBHOOKS', subjects: ['wh.>'] });
  const events = Array.from({ length: 20 }, () => deliveredNow(accountId));
  for (const [sequence, event] of events.entries()) {
    const record = {
      ...{ eventId: event.eventId, endpointId: entry.id, url: null, sequence, content: { event } },
      ...{ tries: 0, dueAtMs: 0, group: null },
    };
    await bus.bus.jetstream.publish(`wh.3.${accountId}`, encodeWebhook(record));
    if (sequence === 10) await bus.bus.jetstream.publish(`wh.3.${accountId}`, 'not a record');
  }
  const running = await runWebhooks(bus.bus);
  await until('all of them', () => hook.received.length === events.length);
  await until('the line is empty', async () => (await waitingInLog(bus.bus)) === 0);
  expect(idsOf(hook).toSorted()).toEqual(events.map(({ eventId }) => eventId as string).toSorted());
  const names: string[] = [];
  for await (const name of bus.bus.manager.streams.names()) names.push(name);
  expect(names).not.toContain('WEBHOOKS');
  await running.stop();
});

test('the place: a version that does not know what is pending goes on with the first event of it', async () => {
  const bucket = await openBucket(bus.bus, 'webhooks');
  const base = 5_000_000;
  const pendingOf = (count: number) =>
    new Map(
      Array.from(
        { length: count },
        (_, at) => [`whe_${at}` as WebhookEndpointId, base + (700 + at) * 1_024 + 3] as const,
      ),
    );
  const placeWith = (count: number): WebhookPlace => ({
    position: { made: 'then', seq: 900, storedAtNs: 5n },
    ...{ pending: pendingOf(count), sequenceBase: base, idle: false },
  });
  const stored = async () => JSON.parse(new TextDecoder().decode((await bucket.get('place'))?.value)) as object;
  for (const [count, seq, storedAtNs] of [
    [0, 900, '5'],
    [1, 699, null],
    [2, 699, null],
  ] as const) {
    await writeWebhookPlace(bucket, placeWith(count));
    expect(await stored()).toMatchObject({ made: 'then', seq, storedAtNs, base });
    expect(await readWebhookPlace(bucket)).toEqual(placeWith(count));
    expect(neededAfter(placeWith(count))).toBe(seq);
  }
  // Too many for an entry: all is handed over again from the first one on.
  await writeWebhookPlace(bucket, placeWith(limits.delivery.pendingEndpointsMax + 1));
  expect(await readWebhookPlace(bucket)).toEqual({
    ...placeWith(0),
    position: { made: 'then', seq: 699, storedAtNs: null },
  });
  await bucket.delete('place');
});
