// What was sent and answered, kept in a stream: it is there after a restart, sealed, with what people look for; and an
// endpoint with many requests keeps a part of its successes and all of its failures.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { AttemptLog, type EndedRequest } from '../../../actors/webhook/attempts/attempt-log.ts';
import { type AttemptsAsked, readAttempts } from '../../../actors/webhook/attempts/read-attempts.ts';
import type { SendResult } from '../../../actors/webhook/send/http-sender.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { attemptSubject } from '../../../cluster/bus/subjects.ts';
import type { WebhookEntry } from '../../../directory/contract.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import { type AccountId, newMessageId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { recordsOf, startBus, type TestBus } from '../../support/bus.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { messageWith } from '../../support/messages.ts';
import { until } from '../../support/until.ts';
import {
  type Receiver,
  type RunningWebhooks,
  eventPublisher,
  putAccount,
  putEndpoint,
  runWebhooks,
  startReceiver,
  webhookCipher,
  isHandedOver,
  waitingInLog,
} from '../../support/webhooks.ts';

let bus: TestBus;
let events: ReturnType<typeof eventPublisher>;
let running: RunningWebhooks | null = null;
let receiver: Receiver | null = null;

beforeAll(async () => {
  bus = await startBus();
  events = eventPublisher(bus.bus);
});
afterEach(async () => {
  await running?.stop();
  await receiver?.close();
  running = receiver = null;
});
afterAll(async () => {
  events.close();
  await bus.stop();
});

const any: AttemptsAsked = {
  ...{ before: null, limit: 100, succeeded: null, error: null, eventId: null },
  ...{ type: null, sinceMs: null, untilMs: null },
};
const attemptsOf = ({ accountId, id }: WebhookEntry, asked: Partial<AttemptsAsked> = {}) =>
  readAttempts(bus.bus, webhookCipher, { accountId, endpointId: id }, { ...any, ...asked });
const newEvent = (accountId: AccountId) =>
  eventOfMessage(messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) }), {
    kind: 'delivered',
    atMs: systemClock.nowMs(),
  });
async function start(): Promise<void> {
  running = await runWebhooks(bus.bus);
  await until('it delivers', () => running?.node.state === 'delivers');
}

test('attempts outlive a restart, with what was sent and what was answered', async () => {
  const accountId = await putAccount(bus.bus);
  receiver = await startReceiver((_one, count) => ({
    status: count === 1 ? 500 : 202,
    headers: { 'x-served-by': `web${count}` },
  }));
  const { entry } = await putEndpoint(bus.bus, { accountId, url: receiver.url });
  await start();
  const event = newEvent(accountId);
  await events.publish([event]);
  await until('it is taken', () => receiver?.received.length === 2);
  // The request has arrived; without its answer a stop would abandon it.
  await until('nothing waits', async () => (await isHandedOver(bus.bus)) && (await waitingInLog(bus.bus)) === 0);
  await running?.stop();
  running = null;

  const { attempts, hasMore } = await attemptsOf(entry);
  expect(hasMore).toBe(false);
  expect(attempts.map(({ attempt, error, status }) => [attempt, error, status])).toEqual([
    [2, null, 202],
    [1, 'http_error', 500],
  ]);
  const [second, first] = attempts;
  const [sentFirst, sentSecond] = receiver.received;
  expect(first).toMatchObject({ webhookId: event.eventId, eventIds: [event.eventId], type: 'sms.delivered' });
  expect(first?.response?.headers['x-served-by']).toBe('web1');
  expect(second?.response?.headers['x-served-by']).toBe('web2');
  for (const [attempt, sent] of [
    [first, sentFirst],
    [second, sentSecond],
  ] as const) {
    expect(attempt?.request.body).toBe(sent?.body);
    expect(sent?.headers).toMatchObject(attempt?.request.headers ?? { missing: true });
    expect(attempt?.request.headers['webhook-signature']).toMatch(/^v1,/);
    expect(attempt?.latencyMs).toBeGreaterThanOrEqual(0);
  }
});

test('what is stored is sealed', async () => {
  const { state } = await bus.bus.manager.streams.info(streamNames.webhookAttempts);
  expect(state.messages).toBeGreaterThan(0);
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const stored = await bus.bus.manager.streams.getMessage(streamNames.webhookAttempts, { seq });
    for (const clear of ['+880', 'sms.delivered', 'webhook-signature'])
      expect(Buffer.from(stored?.data ?? []).includes(clear)).toBe(false);
  }
});

const answer = (error: SendResult['error'], status: number | null): SendResult => ({
  ...{ error, status, detail: '', headers: { server: 'x'.repeat(4_000), date: 'now' }, response: 'no' },
  ...{ retryAfterMs: null, latencyMs: 7.4 },
});

/** A log with a clock moved by hand, and what makes it keep a request that ended. */
async function newLog() {
  const accountId = await putAccount(bus.bus);
  const { entry } = await putEndpoint(bus.bus, { accountId, url: 'https://example.com/' });
  const clock = new ManualClock(systemClock.nowMs());
  const publisher = new Publisher(bus.bus);
  const log = new AttemptLog(publisher, webhookCipher, clock);
  const add = (eventId: string, result: SendResult, more: Partial<EndedRequest> = {}) =>
    log.add({
      ...{ endpoint: entry, webhookId: eventId, eventIds: [eventId], type: 'sms.delivered', url: entry.url },
      ...{ headers: { 'webhook-id': eventId }, body: `{"id":"${eventId}"}`, attempt: 1, atMs: clock.nowMs(), result },
      ...more,
    });
  const end = async () => {
    await log.stop();
    publisher.close();
  };
  return { entry, clock, log, add, end };
}

test('they are asked for by result, error, event, type and time, in pages, the newest first', async () => {
  const { entry, clock, add, end } = await newLog();
  const beganMs = clock.nowMs();
  for (let count = 0; count < 30; count += 1) {
    add(`evt_${count}`, count % 3 === 0 ? answer('timeout', null) : answer(null, 200));
    clock.advance(1_000);
  }
  add('evb_1', answer('http_error', 500), { eventIds: ['evt_a', 'evt_b'], type: 'webhook.batch' });
  await end();
  const idsOf = async (asked: Partial<AttemptsAsked>) =>
    (await attemptsOf(entry, asked)).attempts.map(({ webhookId }) => webhookId);
  const all = ['evb_1', ...Array.from({ length: 30 }, (_, at) => `evt_${29 - at}`)];
  expect(await idsOf({})).toEqual(all);
  expect(await idsOf({ succeeded: false })).toEqual(
    all.filter((id) => id === 'evb_1' || Number(id.slice(4)) % 3 === 0),
  );
  expect(await idsOf({ succeeded: true })).toHaveLength(20);
  expect(await idsOf({ error: 'timeout' })).toHaveLength(10);
  expect(await idsOf({ error: 'gone' })).toEqual([]);
  expect(await idsOf({ eventId: 'evt_7' })).toEqual(['evt_7']);
  expect(await idsOf({ eventId: 'evt_b' })).toEqual(['evb_1']);
  expect(await idsOf({ eventId: 'evb_1' })).toEqual(['evb_1']);
  expect(await idsOf({ type: 'webhook.batch' })).toEqual(['evb_1']);
  expect(await idsOf({ sinceMs: beganMs + 5_000, untilMs: beganMs + 7_000 })).toEqual(['evt_6', 'evt_5']);
  const seen: string[] = [];
  for (let before: string | null = null; ; ) {
    const page = await attemptsOf(entry, { before, limit: 7 });
    seen.push(...page.attempts.map(({ webhookId }) => webhookId));
    if (!page.hasMore) break;
    before = page.attempts.at(-1)?.id ?? null;
  }
  expect(seen).toEqual(all);
});

test('a record is stored under an id, and one that was stored twice all the same is read once', async () => {
  const { entry, add, end } = await newLog();
  for (let count = 0; count < 3; count += 1) add(`evt_${count}`, answer('timeout', null));
  await end();
  const { attempts: once } = await attemptsOf(entry);
  const filter = attemptSubject(entry.accountId, entry.id, false);
  const [record = expect.fail('nothing is stored')] = await recordsOf(bus.bus, streamNames.webhookAttempts, filter);
  const id = record.header('Nats-Msg-Id');
  expect(once.map((each) => each.id)).toContain(id);
  const repeat = (msgID: string) => bus.bus.jetstream.publish(filter, record.data, { msgID });
  expect(await repeat(id)).toMatchObject({ duplicate: true });
  expect(await repeat(`${id} again`)).toMatchObject({ duplicate: false });
  expect((await attemptsOf(entry)).attempts).toEqual(once);
  expect(await attemptsOf(entry, { limit: 3 })).toEqual({ attempts: once, hasMore: false });
});

test('long headers and bodies are cut', async () => {
  const { entry, add, end } = await newLog();
  const { requestBodyChars, responseHeadersChars } = limits.webhookAttempts;
  add('evt_1', answer('http_error', 400), { body: 'y'.repeat(requestBodyChars + 1) });
  await end();
  const [attempt] = (await attemptsOf(entry)).attempts;
  expect(attempt?.request).toMatchObject({ body: 'y'.repeat(requestBodyChars), bodyChars: requestBodyChars + 1 });
  expect(JSON.stringify(attempt?.response?.headers).length).toBeLessThan(responseHeadersChars);
});

test('of many successes a part is kept, of failures many more; both are stored in few records', async () => {
  const { entry, clock, add, end } = await newLog();
  const { succeededBurst, succeededEveryMs, failedBurst, perRecordMax } = limits.webhookAttempts;
  const stored = async () =>
    (await bus.bus.manager.streams.info(streamNames.webhookAttempts, { subjects_filter: `wha.*.${entry.id}.*` })).state;
  for (let count = 0; count < 1_000; count += 1) add(`evt_${count}`, answer(null, 200));
  for (let count = 0; count < failedBurst; count += 1) add(`evt_f${count}`, answer('timeout', null));
  expect((await attemptsOf(entry, { limit: 1_000 })).attempts.length % perRecordMax).toBe(0);
  clock.advance(succeededEveryMs * 2 + 1);
  for (let count = 0; count < 100; count += 1) add(`evt_later${count}`, answer(null, 200));
  await end();
  const { attempts } = await attemptsOf(entry, { limit: 1_000 });
  expect(attempts.filter(({ error }) => error === null)).toHaveLength(succeededBurst + 2);
  expect(attempts.filter(({ error }) => error !== null)).toHaveLength(failedBurst);
  const records = Object.values((await stored()).subjects ?? {}).reduce((sum, each) => sum + each, 0);
  expect(records).toBeLessThan((succeededBurst + failedBurst) / perRecordMax + 5);
});

test('failures are stored within a second, successes within ten', async () => {
  const { entry, clock, add, end } = await newLog();
  const { failedStoredAfterMs, succeededStoredAfterMs } = limits.webhookAttempts;
  const found = async () => (await attemptsOf(entry)).attempts.map(({ webhookId }) => webhookId);
  add('evt_ok', answer(null, 200));
  add('evt_failed', answer('timeout', null));
  clock.advance(failedStoredAfterMs - 1);
  expect(await found()).toEqual([]);
  clock.advance(1);
  await until('the failure', async () => (await found()).includes('evt_failed'));
  clock.advance(succeededStoredAfterMs - failedStoredAfterMs - 1);
  expect(await found()).toEqual(['evt_failed']);
  clock.advance(1);
  await until('the success', async () => (await found()).includes('evt_ok'));
  await end();
});
