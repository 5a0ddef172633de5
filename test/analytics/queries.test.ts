// Queries over NATS to a node in this process: real nats-server, real chDB.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  type FindSubmitted,
  type FindSubmittedReply,
  type GetMessageReply,
  type ListMessages,
  type ReplayEventsReply,
  querySubjects,
} from '../../analytics/contract.ts';
import { applySchema, schemaFiles } from '../../analytics/store/schema.ts';
import { trimRows } from '../../analytics/store/trim.ts';
import { retentionDefault } from '../../config/retention-schema.ts';
import {
  type EventDraft,
  type DeliveryEvent,
  type EventContext,
  acceptedEvent,
  deliveryEvent,
} from '../../model/delivery-event.ts';
import { newAccountId, newMessageId } from '../../model/ids.ts';
import { unpackEvent } from '../../model/records/event-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { sharedBounds } from '../../platform/limits-shares.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { account, contextOf, lifeOf } from './support/events.ts';
import { type TestNode, startNode } from './support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await startNode();
});
afterAll(() => node.stop());

const get = (messageId: string, accountId: string = account) =>
  node.ask<GetMessageReply>(querySubjects.get, { accountId, messageId });
const flushed = (messageId: string) =>
  until('the row', async () => {
    const rows = await node.engine.rows('SELECT 1 FROM sms_events WHERE message_id = {messageId:String}', {
      messageId,
    });
    return rows.length > 0;
  });

test('a new store gets every version of the schema, and none a second time', async () => {
  expect(node.applied).toEqual(schemaFiles().map(({ version }) => version));
  expect(await applySchema(node.engine)).toEqual([]);
});

test('a message is readable right after its event was published, before anything is flushed', async () => {
  const context = contextOf({ clientReference: "it's\ta \\ reference" });
  await node.publish([acceptedEvent(context)]);
  const reply = await get(context.messageId);
  expect(reply).toMatchObject({
    result: 'found',
    message: { status: 'accepted', to: context.recipient, clientReference: "it's\ta \\ reference", error: null },
  });
  await flushed(context.messageId);
  expect(await get(context.messageId)).toEqual({ ...reply, recordedTo: expect.any(Number) });
});

test('a query with every event returns the last record that was passed on, and no short deferral', async () => {
  const context = contextOf();
  const published = (draft: Partial<EventDraft>) =>
    deliveryEvent(context, { kind: 'deferred', atMs: context.acceptedAtMs + 1, ...draft });
  const ask = async () => {
    const query = { accountId: account, messageId: context.messageId, upToDate: true };
    return node.ask<GetMessageReply>(querySubjects.get, query);
  };
  await node.publish([acceptedEvent(context), published({ segment: 1, attempt: 1, detail: '1' })]);
  expect(await ask()).not.toHaveProperty('passedOn');
  await node.publish([published({ attempt: 2, detail: 'later' })]);
  expect(await ask()).toMatchObject({ passedOn: { kind: 'deferred', hop: 0, attempt: 2 } });
  await node.publish([published({ kind: 'rerouted', attempt: 17, error: 'to beta: no_bind' })]);
  expect(await ask()).toMatchObject({ passedOn: { kind: 'rerouted', hop: 0, attempt: 17 } });
  expect(await get(context.messageId)).not.toHaveProperty('passedOn');
});

test('what is recorded and what is only held are folded together in stream order', async () => {
  const context = contextOf();
  const [accepted, intent, submitted, delivered] = lifeOf(context);
  await node.publish([accepted!, intent!, submitted!]);
  await flushed(context.messageId);
  await node.publish([delivered!, deliveryEvent(context, { kind: 'expired', atMs: context.acceptedAtMs + 9 })]);
  const reply = await until('the end', async () => {
    const each = await get(context.messageId);
    return 'message' in each && each.message.status !== 'submitted' ? each : null;
  });
  expect(reply.message.status).toBe('delivered');
  expect(reply.message.history.map(({ status }) => status)).toEqual(['accepted', 'submitted', 'delivered']);
  expect(reply.message.deliveredAtMs).toBe(context.acceptedAtMs + 3);
});

test('a message of another account is not found for this one', async () => {
  const context = contextOf();
  await node.publish(lifeOf(context));
  expect(await get(context.messageId)).toMatchObject({ result: 'found' });
  expect(await get(context.messageId, newAccountId(1))).toMatchObject({ result: 'none' });
  await flushed(context.messageId);
  expect(await get(context.messageId, newAccountId(1))).toMatchObject({ result: 'none' });
});

test('an unknown young message is never reported as absent: its first event may still be in transit', async () => {
  const young = newMessageId(systemClock.nowMs() - limits.queries.youngMs + 5_000);
  expect(await get(young)).toMatchObject({ result: 'unavailable', why: 'young' });
  const oldEnough = newMessageId(systemClock.nowMs() - limits.queries.youngMs);
  expect(await get(oldEnough)).toMatchObject({ result: 'none' });
});

test('an unknown young message is waited for; an old or malformed one is not', async () => {
  const context = contextOf();
  const early = get(context.messageId);
  await node.publish([acceptedEvent(context)]);
  expect(await early).toMatchObject({ result: 'found' });

  // Five of each: a wait for either would take longer than any stall of a busy machine.
  const startedAtMs = systemClock.monotonicMs();
  for (let times = 0; times < 5; times += 1) {
    expect(await get(newMessageId(systemClock.nowMs() - 60_000))).toMatchObject({ result: 'none' });
    expect(await get("sms_'; DROP TABLE sms_events")).toMatchObject({ result: 'none' });
  }
  expect(systemClock.monotonicMs() - startedAtMs).toBeLessThan(5 * limits.queries.youngWaitMs);
});

test('a list is newest first, pages through everything once and obeys its filters', async () => {
  const sender = 'PAGED';
  const base = systemClock.nowMs() - 100_000;
  const contexts = Array.from({ length: 45 }, (_, n) =>
    contextOf({
      sender,
      acceptedAtMs: base + n * 1_000,
      recipient: n % 2 ? '+8801811111111' : '+8801922222222',
      livemode: n % 3 > 0,
    }),
  );
  const newestFirst = contexts.map(({ messageId }) => messageId).toReversed();
  await node.publish(contexts.slice(0, 30).flatMap(lifeOf));
  await flushed(newestFirst[44]!);
  await node.publish(contexts.slice(30).map(acceptedEvent));
  await until(
    'the held ones',
    async () => (await node.list({ from: sender, limit: 1 })).messages[0]?.id === newestFirst[0],
  );

  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Awaited<ReturnType<TestNode['list']>> = await node.list({
      from: sender,
      ...(cursor ? { cursor } : {}),
    });
    seen.push(...page.messages.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  expect(seen).toEqual(newestFirst);
  const ids = async (query: Partial<ListMessages>) =>
    (await node.list({ from: sender, limit: 100, ...query })).messages.map(({ id }) => id);
  expect(await ids({ status: 'accepted' })).toEqual(newestFirst.slice(0, 15));
  expect(await ids({ status: 'delivered' })).toEqual(newestFirst.slice(15));
  expect(await ids({ to: '+8801811111111' })).toHaveLength(22);
  expect(await ids({ livemode: false })).toHaveLength(15);
  expect(await ids({ createdAfterMs: base + 10_000, createdBeforeMs: base + 20_000 })).toHaveLength(10);
  expect(await ids({ from: 'NOBODY' })).toEqual([]);
});

test('a malformed query is refused with the reason', async () => {
  const refused = (query: object) => node.ask<object>(querySubjects.list, { accountId: account, ...query });
  expect(await refused({ limit: 101 })).toMatchObject({ result: 'bad_request' });
  expect(await refused({ limit: 0 })).toMatchObject({ result: 'bad_request' });
  expect(await refused({ cursor: 'nonsense' })).toMatchObject({ result: 'bad_request' });
});

test('a hundred queries at once are all answered', async () => {
  const contexts = Array.from({ length: 100 }, () => contextOf());
  await node.publish(contexts.map(acceptedEvent));
  const replies = await Promise.all(contexts.map(({ messageId }) => get(messageId)));
  expect(replies.every((reply) => reply.result === 'found')).toBe(true);
});

test('a flood of receipts finds its submits, held or recorded, each by recipient and id', async () => {
  const lives = Array.from({ length: 300 }, (_, at) => {
    const context = contextOf({ recipient: `+88018${String(10_000_000 + at)}` });
    // The carrier's ids repeat: each is one of three.
    return { context, submitted: submittedOf(context, `00A${at % 3}`) };
  });
  await node.publish(lives.slice(0, 200).map(({ submitted }) => submitted));
  await flushed(lives[199]!.context.messageId);
  await node.publish(lives.slice(200).map(({ submitted }) => submitted));

  const find = (query: FindSubmitted) => node.ask<FindSubmittedReply>(querySubjects.findSubmitted, query);
  const last = lives.at(-1)!.context;
  await until('the last is known', async () => {
    const reply = await find({ carrier: 'sandbox', recipients: [last.recipient], carrierMessageIds: ['a2'] });
    return reply.result === 'found';
  });
  const replies = await Promise.all(
    lives.map(({ context }, at) =>
      find({ carrier: 'sandbox', recipients: [context.recipient], carrierMessageIds: [`a${at % 3}`, '170'] }),
    ),
  );
  expect(replies).toMatchObject(lives.map(({ submitted }) => ({ result: 'found', submitted })));
});

test('a receipt finds nothing by the wrong carrier, recipient or id', async () => {
  const context = contextOf({ recipient: '+8801999999999' });
  await node.publish([submittedOf(context, '77')]);
  await flushed(context.messageId);
  const right: FindSubmitted = { carrier: 'sandbox', recipients: [context.recipient], carrierMessageIds: ['77'] };
  const find = (query: FindSubmitted) => node.ask<FindSubmittedReply>(querySubjects.findSubmitted, query);
  expect(await find(right)).toMatchObject({ submitted: { messageId: context.messageId } });
  expect(await find({ ...right, carrier: 'other' })).toMatchObject({ result: 'none' });
  expect(await find({ ...right, recipients: ['+8801999999998'] })).toMatchObject({ result: 'none' });
  expect(await find({ ...right, carrierMessageIds: ['78'] })).toMatchObject({ result: 'none' });
});

function submittedOf(context: EventContext, carrierMessageId: string): DeliveryEvent {
  return deliveryEvent(context, {
    kind: 'submitted',
    atMs: context.acceptedAtMs + 2,
    attempt: 1,
    segment: 1,
    carrierMessageId,
  });
}

test('an account at its share of queries is refused with that reason, and others and receipts are answered meanwhile', async () => {
  const { perAccount } = sharedBounds.store_queries;
  const context = contextOf({ recipient: '+8801888888888' });
  await node.publish([submittedOf(context, '4711')]);
  await flushed(context.messageId);
  const other = newAccountId(systemClock.nowMs());
  // Each query waits: its message is unknown, and its event may still be in transit.
  const young = Array.from({ length: perAccount + 20 }, () => get(newMessageId(systemClock.nowMs()), other));
  const query: FindSubmitted = { carrier: 'sandbox', recipients: [context.recipient], carrierMessageIds: ['4711'] };
  expect(await get(context.messageId)).toMatchObject({ result: 'found' });
  expect(await node.ask<FindSubmittedReply>(querySubjects.findSubmitted, query)).toMatchObject({ result: 'found' });
  const cancel = { accountId: other, messageId: context.messageId, use: 'urgent' };
  const canceled = await node.ask<GetMessageReply>(querySubjects.get, cancel);
  expect(canceled.result === 'unavailable' ? canceled.why : canceled.result).not.toBe('busy');
  const replies = await Promise.all(young);
  const whys = replies.map((reply) => (reply.result === 'unavailable' ? reply.why : reply.result));
  const busy = whys.filter((why) => why === 'busy').length;
  expect(busy).toBeGreaterThan(0);
  expect(busy).toBeLessThanOrEqual(20);
});

test('queries that fail are one line in ten seconds, with how many had none', async () => {
  const warn = vi.spyOn(log, 'warn');
  const lines = () => warn.mock.calls.filter(([, what]) => what === 'a query could not be answered');
  const beganAtMs = systemClock.monotonicMs();
  const bad = () => node.bus.connection.request(querySubjects.get, '{', { timeout: 10_000 });
  for (let count = 0; count < 20; count += 1) expect((await bad()).json()).toMatchObject({ result: 'unavailable' });
  const tens = Math.floor((systemClock.monotonicMs() - beganAtMs) / 10_000);
  expect(lines().length).toBeLessThanOrEqual(1 + tens);
  warn.mockRestore();
});

test('a message is found by its number after the number was cut to its last four digits, and shows those', async () => {
  const recipient = '+8801999000123';
  const acceptedAtMs = systemClock.nowMs() - 91 * 86_400_000 - 3_600_000;
  const context = contextOf({ recipient, acceptedAtMs });
  await node.publish(lifeOf(context));
  await flushed(context.messageId);
  const found = async () => (await node.list({ to: recipient })).messages.map(({ id, to }) => ({ id, to }));
  expect(await found()).toEqual([{ id: context.messageId, to: recipient }]);
  await trimRows(node.engine, retentionDefault, systemClock);
  expect(await found()).toEqual([{ id: context.messageId, to: '**********0123' }]);
  expect(await get(context.messageId)).toMatchObject({ message: { status: 'delivered', to: '**********0123' } });
  expect((await node.list({ to: '+8801999000124' })).messages).toEqual([]);
});

test('an account joins the messages to one number by `recipient_key`, also after the cut, and two accounts do not', async () => {
  const acceptedAtMs = systemClock.nowMs() - 91 * 86_400_000 - 3_600_000;
  const other = newAccountId(systemClock.nowMs());
  const to = (recipient: string, accountId = account) => contextOf({ recipient, acceptedAtMs, accountId });
  const contexts = [to('+8801999000201'), to('+8801999000201'), to('+8801999000202'), to('+8801999000201', other)];
  await node.publish(contexts.flatMap(lifeOf));
  for (const { messageId } of contexts) await flushed(messageId);
  const keys = async () => {
    const ids = contexts.map(({ messageId }) => messageId);
    const rows = await node.engine.rows(
      'SELECT DISTINCT message_id, toString(recipient_key) FROM sms_events WHERE message_id IN {ids:Array(String)}',
      { ids },
    );
    expect(rows).toHaveLength(ids.length);
    return ids.map((id) => rows.find(([messageId]) => messageId === id)?.[1]);
  };
  const before = await keys();
  const [one, again, second, elsewhere] = before;
  expect(again).toBe(one);
  expect(new Set(['0', one, second, elsewhere]).size).toBe(4);
  await trimRows(node.engine, retentionDefault, systemClock);
  expect(await keys()).toEqual(before);
});

test('messages are sent again page by page: each once', async () => {
  const own = newAccountId(systemClock.nowMs());
  const sinceMs = systemClock.nowMs();
  const contexts = Array.from({ length: 2 * limits.queries.replayMessagesMax + 1 }, () =>
    contextOf({ accountId: own, acceptedAtMs: sinceMs }),
  );
  await node.publish(contexts.flatMap(lifeOf));
  for (const { messageId } of contexts) await flushed(messageId);
  const time = { accountId: own, livemode: true, sinceMs, untilMs: sinceMs + 1_000 };
  const messageIds: string[] = [];
  for (let afterMessageId: string | null = ''; afterMessageId !== null; ) {
    const reply: FoundAgain = await askAgain({ ...time, afterMessageId });
    const published = reply.events.map((packed) => unpackEvent(Buffer.from(packed, 'base64')));
    messageIds.push(...new Set(published.map(({ messageId }) => messageId)));
    afterMessageId = reply.nextMessageId;
  }
  expect(messageIds).toEqual(contexts.map(({ messageId }) => messageId).toSorted());
  const { eventId, messageId } = lifeOf(contexts[0]!)[3]!;
  const one = await askAgain({ ...time, eventId, beforeMs: null });
  expect(one).toMatchObject({ nextMessageId: null, openBeforeMs: null });
  const ids = one.events.map((packed) => unpackEvent(Buffer.from(packed, 'base64')).messageId);
  expect(new Set(ids)).toEqual(new Set([messageId]));
});

type FoundAgain = Extract<ReplayEventsReply, { readonly result: 'found' }>;
/** Asked until a busy machine answers in time. */
function askAgain(query: object): Promise<FoundAgain> {
  return until('an answer of the event store', async () => {
    const reply = await node.ask<ReplayEventsReply>(querySubjects.replayEvents, query);
    return reply.result === 'found' && reply;
  });
}
