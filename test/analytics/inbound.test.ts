// Messages from subscribers in the event store: listed separately from those to them, in the API's terms, with their
// text only where it is kept; and which account wrote last to a subscriber.
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type FindWriterReply,
  type GetMessageReply,
  type ListMessages,
  querySubjects,
} from '../../analytics/contract.ts';
import type { DeliveryEvent, InboundFacts } from '../../model/delivery-event.ts';
import { newAccountId, newMessageId } from '../../model/ids.ts';
import { optedEvent, receivedEvent } from '../../model/inbound-event.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { account, contextOf, lifeOf } from './support/events.ts';
import { type TestNode, startNode } from './support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await startNode();
});
afterAll(() => node.stop());

const list = async (query: Partial<ListMessages>) => (await node.list({ limit: 100, ...query })).messages;
const recorded = (count: number, condition: string) =>
  until(`${count} rows with ${condition}`, async () => {
    const [row] = await node.engine.rows(`SELECT count() FROM sms_events WHERE ${condition}`);
    return Number(row?.[0]) >= count;
  });

const subscriber = '+8801712340001';
let nth = 0;
const received = (more: Partial<InboundFacts> = {}, published: object = {}): DeliveryEvent => {
  nth += 1;
  const receivedAtMs = systemClock.nowMs() - 60_000 + nth * 10;
  return receivedEvent(
    {
      messageId: newMessageId(receivedAtMs),
      accountId: account,
      carrier: 'alpha',
      clientNumber: '16000',
      subscriber,
      livemode: true,
      receivedAtMs,
      ...published,
    },
    {
      encoding: 'gsm7',
      segments: 1,
      inbound: { sealedBody: Buffer.from('sealed words'), keepBody: false, keyword: null, parts: 1, ...more },
    },
  );
};

test('they are listed under their direction and nowhere else, held and recorded alike', async () => {
  const outbound = contextOf({ sender: '16000', recipient: subscriber });
  const inbound = [received(), received({ keyword: 'stop' })];
  const opted = optedEvent(
    {
      messageId: newMessageId(systemClock.nowMs()),
      accountId: account,
      carrier: 'alpha',
      clientNumber: '16000',
      subscriber,
      livemode: true,
      receivedAtMs: systemClock.nowMs(),
    },
    'stop',
    inbound[1]!.messageId,
  );
  await node.publish([...lifeOf(outbound), ...inbound, opted]);
  const expected = inbound.map(({ messageId }) => messageId).toReversed();
  const look = async () => {
    expect((await list({ direction: 'inbound' })).map(({ id }) => id)).toEqual(expected);
    expect((await list({ status: 'received' })).map(({ id }) => id)).toEqual(expected);
    expect((await list({})).map(({ id }) => id)).toEqual([outbound.messageId]);
    expect((await list({ status: 'blocked' })).map(({ id }) => id)).toEqual([]);
    expect((await list({ direction: 'inbound', from: subscriber, to: '16000' })).length).toBe(2);
    expect((await list({ direction: 'inbound', to: subscriber })).length).toBe(0);
    expect((await list({ to: subscriber, from: '16000' })).length).toBe(1);
    expect((await list({ direction: 'inbound', status: 'delivered' })).length).toBe(0);
  };
  await until('they arrive', async () => (await list({ direction: 'inbound' })).length === 2);
  await look();
  await recorded(2, "kind = 'received'");
  await recorded(1, "kind = 'opted_out'");
  await look();
  const [row] = await list({ direction: 'inbound', limit: 1 });
  expect(row).toMatchObject({
    direction: 'inbound',
    status: 'received',
    to: '16000',
    from: subscriber,
    carrier: 'alpha',
  });
  expect(row?.inbound).toEqual({ keyword: 'stop', parts: 1, sealedBody: null });
  const lone = await node.ask<GetMessageReply>(querySubjects.get, { accountId: account, messageId: opted.messageId });
  expect(lone).toMatchObject({ result: 'none' });
});

test('their text is kept, encrypted, only where the account wants it', async () => {
  const [kept, dropped] = [received({ keepBody: true }), received({ keepBody: false })];
  const incomplete = received({ keepBody: true, parts: 1 }, { clientNumber: '16999' });
  await node.publish([kept, dropped, { ...incomplete, segments: 3, error: 'incomplete' }]);
  const bodyOf = async (messageId: string) => {
    const reply = await node.ask<GetMessageReply>(querySubjects.get, { accountId: account, messageId });
    return 'message' in reply ? reply.message.inbound : null;
  };
  const sealedBody = Buffer.from('sealed words').toString('base64');
  const look = async () => {
    expect(await bodyOf(kept.messageId)).toEqual({ keyword: null, parts: 1, sealedBody });
    expect(await bodyOf(dropped.messageId)).toEqual({ keyword: null, parts: 1, sealedBody: null });
  };
  await until('they arrive', () => bodyOf(dropped.messageId));
  await look();
  await recorded(5, "kind = 'received'");
  await look();
  const rows = await node.engine.rows("SELECT count() FROM sms_events WHERE inbound LIKE '%body%'");
  expect(Number(rows[0]?.[0])).toBe(2);
  expect((await list({ direction: 'inbound', to: '16999' }))[0]).toMatchObject({ error: 'incomplete', segments: 3 });
});

test('the account that wrote last to a subscriber is found, held or recorded, by number and mode', async () => {
  const other = newAccountId(7);
  const to = '+8801712340002';
  const writer = async (senders: readonly string[], livemode = true) => {
    const sinceMs = systemClock.nowMs() - 3_600_000;
    const reply = await node.ask<FindWriterReply>(querySubjects.findWriter, {
      subscriber: to,
      senders,
      livemode,
      sinceMs,
    });
    if (reply.result === 'unavailable') throw new Error(reply.detail);
    return reply.result === 'found' ? reply.writer : null;
  };
  const at = systemClock.nowMs() - 30_000;
  const first = contextOf({ sender: '16000', recipient: to, acceptedAtMs: at, livemode: true });
  const second = contextOf({
    sender: '16000',
    recipient: to,
    acceptedAtMs: at + 5_000,
    accountId: other,
    livemode: true,
  });
  const test_ = contextOf({ sender: '+16000', recipient: to, acceptedAtMs: at + 9_000, livemode: false });
  expect(await writer(['16000'])).toBeNull();
  await node.publish(lifeOf(first));
  await until('the first is found', async () => (await writer(['16000'])) !== null);
  await recorded(1, `message_id = '${first.messageId}' AND kind = 'submitted'`);
  expect(await writer(['16000', '+16000'])).toEqual({ accountId: account, sender: '16000' });
  await node.publish([...lifeOf(second), ...lifeOf(test_)]);
  const isOther = async () => (await writer(['16000'])) as { accountId: string } | null;
  await until('the second is found', async () => (await isOther())?.accountId === other);
  await recorded(1, `message_id = '${test_.messageId}' AND kind = 'submitted'`);
  expect((await isOther())?.accountId).toBe(other);
  expect(await writer(['+16000'], false)).toEqual({ accountId: account, sender: '+16000' });
  expect(await writer(['17000'])).toBeNull();
  expect(await writer([])).toBeNull();
});
