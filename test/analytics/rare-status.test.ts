// A list by status finds its messages among those that have another: real nats-server, real chDB. Rare ones must be
// found without an empty page for every thousand messages before them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acceptedEvent, deliveryEvent } from '../../model/delivery-event.ts';
import { newAccountId, newMessageId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { contextOf } from './support/events.ts';
import { type TestNode, startNode } from './support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await startNode();
});
afterAll(() => node.stop());

test('the one blocked message behind three thousand accepted ones is on the first page, and no page is empty before the last', async () => {
  const base = systemClock.nowMs() - 100_000;
  const count = 3 * limits.queries.listScannedMax;
  const blocked = contextOf({ acceptedAtMs: base });
  await node.publish([
    acceptedEvent(blocked),
    deliveryEvent(blocked, { kind: 'blocked', atMs: base + 1, error: 'expired' }),
  ]);
  const others = Array.from({ length: count }, (_, n) => contextOf({ acceptedAtMs: base + 1 + n }));
  for (let at = 0; at < count; at += 500) await node.publish(others.slice(at, at + 500).map(acceptedEvent));
  await until('all of them', async () => {
    const [row] = await node.engine.rows('SELECT uniqExact(message_id) FROM sms_events', {});
    return Number(row?.[0]) === count + 1;
  });

  const startedAtMs = systemClock.monotonicMs();
  const first = await node.list({ status: 'blocked' });
  expect(first.messages.map(({ id }) => id)).toEqual([blocked.messageId]);
  expect(systemClock.monotonicMs() - startedAtMs).toBeLessThan(limits.queries.deadlineMs);
  expect(first.nextCursor).toBeNull();
  expect(await node.list({ status: 'delivered' })).toEqual({ messages: [], nextCursor: null });
});

test('rare ones are found once and in order on either side of where one window of rows ends', async () => {
  const base = systemClock.nowMs();
  const oldest = contextOf({ acceptedAtMs: base - 1_000 });
  await node.publish([deliveryEvent(oldest, { kind: 'failed', atMs: base, error: 'old' })]);
  const ofIt = "SELECT 1 FROM sms_events WHERE kind = 'failed'";
  await until('its row', async () => (await node.engine.rows(ofIt)).length === 1);
  // Copies of its row under later ids, as many as two windows and a half hold; five of them have failed too.
  const rows = 2.5 * limits.queries.listWindowRows;
  const apart = rows / 5;
  await node.engine.command(
    `INSERT INTO sms_events SELECT one.* REPLACE(
       concat('sms_7', leftPad(toString(number), 25, '0')) AS message_id,
       if(number % ${apart} = 0, 'failed', 'accepted') AS kind,
       leftPad(toString(number), 26, '0') AS event_id)
     FROM (SELECT * FROM sms_events WHERE kind = 'failed' LIMIT 1) AS one CROSS JOIN numbers(${rows}) AS copies`,
  );
  const expected = [4, 3, 2, 1, 0].map((at) => `sms_7${String(at * apart).padStart(25, '0')}`);
  const all = await node.list({ status: 'failed' });
  expect(all).toMatchObject({ nextCursor: null });
  expect(all.messages.map(({ id }) => id)).toEqual([...expected, oldest.messageId]);

  const paged: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Awaited<ReturnType<TestNode['list']>> = await node.list({
      status: 'failed',
      limit: 2,
      ...(cursor === '' ? {} : { cursor }),
    });
    paged.push(...page.messages.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  expect(paged).toEqual([...expected, oldest.messageId]);
});

test('by time a message is found whatever its id says within a day, and no other', async () => {
  const dayMs = 24 * 3_600_000;
  const accountId = newAccountId(systemClock.nowMs());
  const atMs = systemClock.nowMs() - 10 * dayMs;
  const made = (acceptedAtMs: number, idMs: number) =>
    contextOf({ accountId, acceptedAtMs, messageId: newMessageId(idMs), livemode: acceptedAtMs !== atMs });
  // Of a client's key that is ahead, of a request repeated a day later under its key, and of the usual kind.
  const wanted = [made(atMs, atMs + 30_000), made(atMs, atMs), made(atMs, atMs - dayMs)];
  const others = [
    made(atMs - 1, atMs - 1),
    made(atMs + 1, atMs + 1),
    made(atMs + 1, atMs - dayMs),
    made(atMs - 1, atMs + 9),
  ];
  await node.publish([...wanted, ...others].map(acceptedEvent));
  const idsOf = async (query: object) => {
    const { messages, nextCursor } = await node.list({ accountId, ...query });
    expect(nextCursor).toBeNull();
    return messages.map(({ id }) => id);
  };
  const ids = wanted.map(({ messageId }) => messageId);
  const from = 'SELECT 1 FROM sms_events WHERE account_id = {accountId:String} HAVING count() = 7';
  for (const isRecorded of [false, true]) {
    if (isRecorded) await until('their rows', async () => (await node.engine.rows(from, { accountId })).length === 1);
    expect(await idsOf({ createdAfterMs: atMs, createdBeforeMs: atMs + 1 })).toEqual(ids);
    expect(await idsOf({ livemode: false })).toEqual(ids);
    expect((await idsOf({ createdAfterMs: atMs })).length).toBe(5);
    expect((await idsOf({ createdBeforeMs: atMs })).length).toBe(2);
  }
});
