// GET /v1/events over the real API and a real nats-server: what a test account's endpoints would be sent, once, in
// order, for every client that listens; nothing of live messages or of others.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { TestEvents } from '../../../actors/webhook/listen/test-events.ts';
import { eventSubject, factSubjects } from '../../../cluster/bus/subjects.ts';
import { sandboxCarrierName } from '../../../config/configuration.ts';
import { type DeliveryEvent, type EventDraft, canceledEvent, eventOfMessage } from '../../../model/delivery-event.ts';
import type { OtpFact } from '../../../model/fact.ts';
import { type AccountId, type EventId, type OtpId, newAccountId, newMessageId } from '../../../model/ids.ts';
import type { Message } from '../../../model/message.ts';
import { encodeEvents } from '../../../model/records/event-record.ts';
import { encodeFact } from '../../../model/records/fact-record.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { messageWith } from '../../support/messages.ts';
import { until } from '../../support/until.ts';
import { type RunningApi, refusal, runApi } from './support/running-api.ts';

let running: RunningApi;
let account: AccountId;
let key: string;
beforeAll(async () => {
  running = await runApi();
});
beforeEach(async () => {
  account = await running.newAccount();
  key = await running.newKey(account, false);
});
afterAll(() => running?.stop());

const { listen } = limits.webhooks;
const poll = async (cursor?: string, wait = 0, as = key) => {
  const query = new URLSearchParams({ ...(cursor === undefined ? {} : { cursor }), wait_seconds: String(wait) });
  return running.call('GET', `/v1/events?${query.toString()}`, { key: as });
};
const message = (fields: Partial<Message> = {}) => {
  const nowMs = systemClock.nowMs();
  const shared = { accountId: account, livemode: false, carrier: sandboxCarrierName, segments: 1, acceptedAtMs: nowMs };
  return messageWith({ messageId: newMessageId(nowMs), ...shared, ...fields });
};
const event = (of: Message, draft: Partial<EventDraft> & Pick<EventDraft, 'kind'>) =>
  eventOfMessage(of, { atMs: systemClock.nowMs(), segment: 1, ...draft });
async function publish(...events: readonly DeliveryEvent[]): Promise<void> {
  await running.bus.jetstream.publish(eventSubject(events[0]?.carrier ?? '', 0), encodeEvents(events));
}
const kindsOf = (page: { data: readonly { type: string }[] }) => page.data.map(({ type }) => type);

test('an account receives what its test messages become, from its first request on, each once and in order', async () => {
  const mine = message();
  await publish(event(mine, { kind: 'submitted' }));
  const first = (await poll()).body;
  expect(first).toMatchObject({ data: [], missed: false });
  const next = message({ clientReference: 'order-7' });
  await publish(
    event(mine, { kind: 'delivered' }),
    event(next, { kind: 'intent' }),
    event(next, { kind: 'submitted' }),
  );
  await publish(event(next, { kind: 'delivered' }), event(next, { kind: 'delivered', attempt: 1 }));
  const received: { id: string; type: string; data: object }[] = [];
  let { cursor } = first;
  await until('all events are received', async () => {
    const page = (await poll(cursor)).body;
    received.push(...page.data);
    ({ cursor } = page);
    return received.length >= 3;
  });
  expect((await poll(cursor)).body).toMatchObject({ data: [], missed: false });
  expect(received.map(({ type }) => type)).toEqual(['sms.delivered', 'sms.submitted', 'sms.delivered']);
  expect(received[2]).toMatchObject({
    id: event(next, { kind: 'delivered' }).eventId,
    data: { id: next.messageId, object: 'sms', status: 'delivered', livemode: false, client_reference: 'order-7' },
  });
  // A cursor may be used again.
  await until('the same again', async () => kindsOf((await poll(first.cursor)).body).length === 3);
});

test('a request waits for the next event, and no longer than it asked to', async () => {
  const { cursor } = (await poll()).body;
  const beganMs = systemClock.monotonicMs();
  const waiting = poll(cursor, listen.waitSecondsMax);
  await publish(event(message(), { kind: 'rejected', error: 'sandbox' }));
  expect(kindsOf((await waiting).body)).toEqual(['sms.rejected']);
  expect(systemClock.monotonicMs() - beganMs).toBeLessThan(listen.waitSecondsMax * 1_000);
  const end = (await poll(cursor)).body.cursor;
  expect((await poll(end, 1)).body).toMatchObject({ data: [], missed: false });
});

test('live messages, other accounts’ and what no endpoint is sent are not received; a canceled one is', async () => {
  const { cursor } = (await poll()).body;
  const canceled = message();
  await publish(event(message({ livemode: true, carrier: 'alpha' }), { kind: 'delivered' }));
  await publish(event(message({ accountId: newAccountId(1) }), { kind: 'delivered' }));
  await publish(event(message(), { kind: 'deferred' }), event(message(), { kind: 'refused' }));
  await publish(canceledEvent(canceled, systemClock.nowMs()));
  const page = await until('the canceled one', async () => {
    const { body } = await poll(cursor, 1);
    return body.data.length > 0 && body;
  });
  expect(page.data.map(({ type, data }: any) => [type, data.id])).toEqual([['sms.canceled', canceled.messageId]]);
});

test('a message of two segments is delivered once, with its second segment', async () => {
  const { cursor } = (await poll()).body;
  const two = message({ segments: 2 });
  await publish(event(two, { kind: 'submitted' }), event(two, { kind: 'submitted', segment: 2 }));
  await publish(event(two, { kind: 'delivered', segment: 2 }));
  await publish(event(two, { kind: 'delivered' }));
  const received = await until('both', async () => {
    const { body } = await poll(cursor, 1);
    return body.data.length >= 2 && kindsOf(body);
  });
  expect(received).toEqual(['sms.submitted', 'sms.delivered']);
});

test('what becomes of a test one-time password is received among the events of its message', async () => {
  const { cursor } = (await poll()).body;
  const otp = (name: string, livemode = false, accountId: string = account): OtpFact => ({
    ...{ kind: 'otp', eventId: `evt_${name}` as EventId, atMs: systemClock.nowMs(), accountId, livemode, version: 2 },
    ...{ id: `otp_${name}` as OtpId, to: '+8801712340000', status: 'verified', reason: null, purpose: 'default' },
    ...{ language: 'en', ownCode: false, sender: 'X', clientReference: null, createdAtMs: 1, expiresAtMs: 2 },
    ...{ endedAtMs: 2, attempts: 1, messageIds: [] },
  });
  const put = (fact: OtpFact) => running.bus.jetstream.publish(factSubjects.otp, encodeFact(fact));
  await publish(event(message(), { kind: 'submitted' }));
  await until('the first', async () => (await poll(cursor)).body.data.length === 1);
  for (const fact of [otp('live', true), otp('other', false, newAccountId(2)), otp('one')]) await put(fact);
  await put({ ...otp('waits'), status: 'pending' });
  const received = await until('both', async () => {
    const { body } = await poll(cursor, 1);
    return body.data.length >= 2 && body;
  });
  expect(kindsOf(received)).toEqual(['sms.submitted', 'otp.verified']);
  expect(received.data[1]).toMatchObject({ id: 'evt_one', data: { id: 'otp_one', status: 'verified' } });
  await put(otp('two'));
  const next = await until('the next', async () => {
    const { body } = await poll(received.cursor, 1);
    return body.data.length >= 1 && body;
  });
  expect(next.data.map(({ id }: { id: string }) => id)).toEqual(['evt_two']);
  expect((await poll(next.cursor)).body.data).toEqual([]);
});

test('a live key, another scope and a wrong cursor are refused', async () => {
  const live = await running.newKey(account, true);
  const blind = await running.newKey(account, false, ['sms:send', 'sms:read']);
  for (const other of [live, blind])
    expect(refusal(await poll(undefined, 0, other))).toMatchObject({ status: 403, code: 'scope_missing' });
  for (const cursor of ['', '1', '1-2', 'a-b-c', '1-2-3-4', '-1-2-3'])
    expect(refusal(await poll(cursor)).fields).toEqual(['cursor invalid_field']);
  expect(refusal(await poll('1-1-1', listen.waitSecondsMax + 1)).fields).toEqual(['wait_seconds invalid_field']);
});

describe('a listener', () => {
  const events = (clock = new ManualClock()) => new TestEvents(running.bus, running.cipher, clock);

  test('goes on where it was after the process was replaced', async () => {
    const [before, after] = [events(), events()];
    const start = await before.poll(account, null, 0);
    const known = message();
    await publish(event(known, { kind: 'submitted' }));
    const received = await until('the first', async () => {
      const page = await before.poll(account, start?.cursor ?? '', 0);
      return page?.events.length === 1 && page;
    });
    before.stop();
    await publish(event(known, { kind: 'delivered' }));
    const page = await after.poll(account, received.cursor, 0);
    expect(page?.events.map(({ body }) => JSON.parse(body).type)).toEqual(['sms.delivered']);
    expect(page?.missed).toBe(false);
    after.stop();
  });

  test('of another stream, or one who comes long after, is informed that events were missed', async () => {
    const one = events();
    const { cursor = '' } = (await one.poll(account, null, 0)) ?? {};
    const [seq, at, made] = cursor.split('-').map(Number) as [number, number, number];
    expect(await one.poll(account, `${seq}-${at}-${made + 1}`, 0)).toMatchObject({ missed: true, events: [] });
    expect((await one.poll(account, cursor, 0))?.missed).toBe(false);
    const late = newAccountId(systemClock.nowMs());
    expect(await one.poll(late, `${Math.max(0, seq - 1)}-0-${made}`, 0)).toMatchObject({ missed: true, events: [] });
    one.stop();
  });

  test('who is behind by more than is kept gets the newest, and is informed', async () => {
    const one = events();
    const { cursor = '' } = (await one.poll(account, null, 0)) ?? {};
    const many = Array.from({ length: listen.eventsMax + 1 }, () => event(message(), { kind: 'submitted' }));
    await publish(...many.slice(0, 300));
    await publish(...many.slice(300));
    const page = await until('the last', async () => {
      const found = await one.poll(account, cursor, 0);
      return found?.missed === true && found;
    });
    expect(page.events.length).toBe(listen.pageMax);
    expect(page.events[0]?.id).toBe(many[1]?.eventId);
    let next = await one.poll(account, page.cursor, 0);
    let count = page.events.length;
    while (next !== null && next.events.length > 0) {
      expect(next.missed).toBe(false);
      count += next.events.length;
      next = await one.poll(account, next.cursor, 0);
    }
    expect(count).toBe(listen.eventsMax);
    one.stop();
  });

  test('is one of so many accounts, and one that stays away gives its place back', async () => {
    const clock = new ManualClock();
    const one = events(clock);
    const accounts = Array.from({ length: listen.accountsMax + 1 }, () => newAccountId(systemClock.nowMs()));
    for (const each of accounts.slice(0, -1)) expect(await one.poll(each, null, 0)).not.toBeNull();
    const last = accounts.at(-1) ?? account;
    expect(await one.poll(last, null, 0)).toBeNull();
    clock.advance(listen.idleMs + listen.sweepEveryMs);
    expect(await one.poll(last, null, 0)).not.toBeNull();
    one.stop();
  });
});
