// What is kept for endpoints in WEBHOOK_LOG: its counts follow what the stream removes itself, nothing is left of a deleted
// endpoint, and events with a time of their own are sent at that time, however many they are, after a restart as well.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { EndpointKey } from '../../../actors/webhook/delivery/parked-counts.ts';
import { LineReader } from '../../../actors/webhook/delivery/line-reader.ts';
import { ParkedLog } from '../../../actors/webhook/delivery/parked-log.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { parkedSubject, retrySubject } from '../../../cluster/bus/subjects.ts';
import { tenantEntities } from '../../../directory/tenant-entities.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import {
  type AccountId,
  type EventId,
  type WebhookEndpointId,
  newAccountId,
  newMessageId,
  newWebhookEndpointId,
} from '../../../model/ids.ts';
import { type WebhookRecord, encodeWebhook } from '../../../model/records/webhook-record.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { messageWith } from '../../support/messages.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';
import { until } from '../../support/until.ts';
import {
  type RunningWebhooks,
  type WebhookBus,
  putAccount,
  putEndpoint,
  runWebhooks,
  startWebhookBus,
} from '../../support/webhooks.ts';

const hourMs = 3_600_000;
/** For a thousand requests and more, on a machine that is busy. */
const limitMs = 200_000;

let bus: WebhookBus;
let publisher: Publisher;
let running: RunningWebhooks | null = null;

beforeAll(async () => {
  bus = await startWebhookBus();
  publisher = new Publisher(bus.bus, { deadlineMs: Number.POSITIVE_INFINITY, inFlightMax: 4_096 });
});
afterEach(async () => {
  await running?.stop();
  running = null;
  await bus.bus.manager.streams.purge(streamNames.webhookLog);
});
afterAll(async () => {
  publisher.close();
  await bus.stop();
});

async function start(clock: MovedClock, shares = defaultShares): Promise<void> {
  running = await runWebhooks(bus.bus, { clock, shares });
  await until('it delivers', () => running?.node.state === 'delivers');
}
const eventOf = (accountId: AccountId) =>
  eventOfMessage(messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) }), {
    kind: 'delivered',
    atMs: systemClock.nowMs(),
  });
function recordOf({ accountId, endpointId }: EndpointKey, of: Partial<WebhookRecord> = {}): WebhookRecord {
  const event = eventOf(accountId);
  const nothing = { url: null, sequence: 0, tries: 0, dueAtMs: 0, group: null };
  return { ...nothing, eventId: event.eventId, endpointId, content: { event }, ...of };
}
async function stored(subject = '>'): Promise<number> {
  const info = await bus.bus.manager.streams.info(streamNames.webhookLog, { subjects_filter: subject });
  return Object.values(info.state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
}

/** With room for five events of the account, all of it taken by a disabled endpoint; and another one that works. */
async function fullAccount() {
  const accountId = await putAccount(bus.bus);
  const [idle, hook] = [await bus.receiver(), await bus.receiver()];
  const { entry } = await putEndpoint(bus.bus, {
    accountId,
    url: idle.url,
    status: 'disabled',
    disabledReason: 'client',
  });
  await start(movedClock(), { ...defaultShares, webhook_parked: { total: 100, perAccount: 5, reserve: 0 } });
  await bus.events.publish(Array.from({ length: 5 }, () => eventOf(accountId)));
  await until('all of it is parked', async () => (await stored(parkedSubject(accountId, entry.id))) === 5);
  return { accountId, entry, hook };
}

test('of a deleted endpoint nothing is left, and its account has its room again', async () => {
  const { accountId, entry, hook } = await fullAccount();
  const { webhook } = tenantEntities;
  await (await openBucket(bus.bus, 'directory')).delete(webhook.nameOf(webhook.idOf(entry)));
  await until('it is gone', async () => (await stored()) === 0);
  const waits = await putEndpoint(bus.bus, { accountId, url: hook.url, status: 'disabled', disabledReason: 'client' });
  await until('the other one is known', () => running?.directory.webhookEndpoint(waits.entry.id) !== undefined);
  const all = Array.from({ length: 5 }, () => eventOf(accountId));
  await bus.events.publish(all);
  await until('they are parked', async () => (await stored(parkedSubject(accountId, waits.entry.id))) === all.length);
});

test('what the stream removes by itself takes no room any more', async () => {
  const { accountId, entry } = await fullAccount();
  const subject = parkedSubject(accountId, entry.id);
  // As when the events are too old.
  await bus.bus.manager.streams.purge(streamNames.webhookLog, { filter: subject });
  await until('there is room for another one', async () => {
    await bus.events.publish([eventOf(accountId)]);
    return (await stored(subject)) > 0;
  });
});

test('what is being stored while the counts are compared counts on; a deleted endpoint found then is removed', async () => {
  const share = { total: 1_000, perAccount: 1_000, reserve: 0 };
  const log = new ParkedLog(bus.bus, publisher, share, systemClock);
  const [accountId, nowMs] = [newAccountId(systemClock.nowMs()), systemClock.nowMs()];
  const [kept, deleted] = [newWebhookEndpointId(nowMs), newWebhookEndpointId(nowMs)];
  const park = (endpointId: WebhookEndpointId) =>
    new Promise((resolve) => log.park(accountId, recordOf({ accountId, endpointId }), resolve));
  await Promise.all([park(kept), park(kept), park(deleted)]);
  await bus.bus.manager.streams.purge(streamNames.webhookLog, { filter: parkedSubject(accountId, kept), keep: 1 });
  const before = [park(kept), park(kept)];
  const comparing = log.compare((endpointId) => endpointId === kept);
  const meanwhile = [park(kept), park(kept)];
  expect(log.countOf(kept)).toBe(6);
  await Promise.all([comparing, ...before, ...meanwhile]);
  expect(log.countOf(kept)).toBeGreaterThanOrEqual(5);
  expect(log.countOf(deleted)).toBe(0);
  expect(await stored(parkedSubject(accountId, deleted))).toBe(0);
  await log.compare(() => true);
  expect(log.countOf(kept)).toBe(5);
});

test('what the stream dropped while it is in memory counts until it is delivered, and then not once more', async () => {
  const share = { total: 1_000, perAccount: 1_000, reserve: 0 };
  const log = new ParkedLog(bus.bus, publisher, share, systemClock);
  const accountId = newAccountId(systemClock.nowMs());
  const endpointId = newWebhookEndpointId(systemClock.nowMs());
  const key = { accountId, endpointId };
  const park = () => new Promise<number | null>((resolve) => log.park(accountId, recordOf(key), resolve));
  const [first] = await Promise.all([park(), park(), park()]);
  await bus.bus.manager.streams.purge(streamNames.webhookLog, {
    filter: parkedSubject(accountId, endpointId),
    keep: 2,
  });
  log.watch({ parked: () => {}, inMemory: () => 1, wrongCounts: () => {} });
  await log.compare(() => true);
  expect(log.countOf(endpointId)).toBe(3);
  await log.remove(key, first ?? 0);
  expect(log.countOf(endpointId)).toBe(2);
  log.foundEnd(key, 1);
  expect(log.countOf(endpointId)).toBe(1);
});

test('a place of another endpoint is known as such, and a place that is gone', async () => {
  const share = { total: 1_000, perAccount: 1_000, reserve: 0 };
  const log = new ParkedLog(bus.bus, publisher, share, systemClock);
  const accountId = newAccountId(systemClock.nowMs());
  const keys = [0, 1].map(() => ({ accountId, endpointId: newWebhookEndpointId(systemClock.nowMs()) }));
  const [mine, other] = [keys[0]!, keys[1]!];
  const seq = (await new Promise<number | null>((resolve) => log.park(accountId, recordOf(mine), resolve))) ?? 0;
  expect(await log.at(mine, seq)).toMatchObject({ seq });
  expect(await log.at(other, seq)).toBe('other');
  await log.remove(mine, seq);
  expect(await log.at(mine, seq)).toBe(null);
});

test('a line is read to its end when the answers to its appends come out of order, while it is read', async () => {
  const share = { total: 1_000, perAccount: 1_000, reserve: 0 };
  const log = new ParkedLog(bus.bus, publisher, share, systemClock);
  const accountId = newAccountId(systemClock.nowMs());
  const key = { accountId, endpointId: newWebhookEndpointId(systemClock.nowMs()) };
  const reader = new LineReader(key, log, systemClock);
  const read: number[] = [];
  const park = () => new Promise<number | null>((resolve) => log.park(accountId, recordOf(key), resolve));
  const [first = 0, second = 0, third = 0] = (await Promise.all([park(), park(), park()])).map(Number);
  const reading = { room: () => (reader.waiting > 0 ? 10 : 0), add: ({ seq }: { seq: number }) => read.push(seq) };
  // The publish of the first one handed over was repeated, and is stored last.
  reader.appended(third, true);
  reader.read(reading);
  reader.appended(first, true);
  reader.appended(second, true);
  await until('all are read', () => {
    reader.read(reading);
    return read.length === 3;
  });
  expect(read.toSorted((one, other) => one - other)).toEqual([first, second, third]);
});

test('of thousands that are parked at once so many are published at a time, and the line has them in their order', async () => {
  const share = { total: 10_000, perAccount: 10_000, reserve: 0 };
  const log = new ParkedLog(bus.bus, publisher, share, systemClock);
  const nowMs = systemClock.nowMs();
  const key = { accountId: newAccountId(nowMs), endpointId: newWebhookEndpointId(nowMs) };
  const count = 2_000;
  const [places, atOnce]: [number[], number[]] = [[], []];
  for (let sequence = 0; sequence < count; sequence += 1) {
    log.append(key, recordOf(key, { sequence }), (seq) => {
      if (seq !== null) places.push(seq);
      atOnce.push(publisher.inFlight);
    });
  }
  expect(publisher.inFlight).toBe(limits.delivery.parkingInFlightMax);
  await until('all of them are stored', () => places.length === count);
  expect(Math.max(...atOnce)).toBeLessThanOrEqual(limits.delivery.parkingInFlightMax);
  const found = await Promise.all(places.map((seq) => log.at(key, seq)));
  expect(found.map((each) => (each === null || each === 'other' ? each : each.record.sequence))).toEqual([
    ...Array(count).keys(),
  ]);
});

test('a stop waits until all that was handed over is stored, though not all of it was published yet', async () => {
  const share = { total: 10_000, perAccount: 10_000, reserve: 0 };
  const log = new ParkedLog(bus.bus, publisher, share, systemClock);
  const nowMs = systemClock.nowMs();
  const key = { accountId: newAccountId(nowMs), endpointId: newWebhookEndpointId(nowMs) };
  const count = 2 * limits.delivery.parkingInFlightMax;
  let done = 0;
  for (let sequence = 0; sequence < count; sequence += 1)
    log.append(key, recordOf(key, { sequence }), () => (done += 1));
  await log.settled();
  expect(done).toBe(count);
});

test('what another process stored in a line is found by the comparison', async () => {
  const share = { total: 1_000, perAccount: 1_000, reserve: 0 };
  const [mine, other] = [0, 1].map(() => new ParkedLog(bus.bus, publisher, share, systemClock));
  const accountId = newAccountId(systemClock.nowMs());
  const key = { accountId, endpointId: newWebhookEndpointId(systemClock.nowMs()) };
  for (let count = 0; count < 2; count += 1)
    await new Promise((resolve) => other!.park(accountId, recordOf(key), resolve));
  expect(mine!.countOf(key.endpointId)).toBe(0);
  const more = await mine!.compare(() => true);
  expect(more.filter(({ endpointId }) => endpointId === key.endpointId)).toEqual([key]);
  expect(mine!.countOf(key.endpointId)).toBe(2);
});

/** More than are in memory of one endpoint. */
const count = limits.delivery.retriesPerEndpointMax + 150;

/** Events with a time of their own, stored as by an earlier process. */
async function manyRetries(dueAtMs: (at: number) => number) {
  const accountId = await putAccount(bus.bus);
  const hook = await bus.receiver();
  const { entry } = await putEndpoint(bus.bus, { accountId, url: hook.url });
  const results = Array.from({ length: count }, (_, at) => {
    const of = { eventId: `evt_${at}` as EventId, tries: 2, dueAtMs: dueAtMs(at) };
    const record = recordOf({ accountId, endpointId: entry.id }, of);
    return publisher.publishOne(retrySubject(accountId, entry.id), encodeWebhook(record), null);
  });
  expect((await Promise.all(results)).every(({ ok }) => ok)).toBe(true);
  return hook;
}

test('more events that are due again than an endpoint has in memory: each is sent once after a restart', async () => {
  const hook = await manyRetries(() => 0);
  await start(movedClock());
  await until('all of them', async () => (await stored()) === 0, { limitMs });
  expect(hook.received).toHaveLength(count);
  expect(new Set(hook.received.map(({ id }) => id)).size).toBe(count);
}, 240_000);

test('those that are due first are sent first, wherever they are stored', async () => {
  const nowMs = systemClock.nowMs();
  const [clock, last] = [movedClock(), count - 10];
  clock.to(nowMs);
  // The later it is due the earlier it is stored; the last ten are due now.
  const hook = await manyRetries((at) => (at >= last ? nowMs : nowMs + hourMs + (last - at) * 1_000));
  await start(clock);
  await until('those that are due', async () => (await stored()) === last);
  expect(hook.received.map(({ id }) => Number(id.slice('evt_'.length))).every((at) => at >= last)).toBe(true);
  clock.to(nowMs + 2 * hourMs);
  await until('the others', async () => (await stored()) === 0, { limitMs });
  expect(hook.received).toHaveLength(count);
}, 300_000);
