// An endpoint that fails, by the clock: one request at each step of the schedule and none between them, its account
// notified after an hour and a day, disabled after five days and ten tries, at once by a 410, and enabled again by its
// owner.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { disableSubject } from '../../../actors/webhook/contract.ts';
import type { Failing } from '../../../actors/webhook/delivery/schedule.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import type { WebhookEntry } from '../../../directory/contract.ts';
import { type DeliveryEvent, eventOfMessage } from '../../../model/delivery-event.ts';
import { type AccountId, newMessageId } from '../../../model/ids.ts';
import type { WebhookDisabledReason } from '../../../model/webhook-endpoint.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { startBus, type TestBus } from '../../support/bus.ts';
import { messageWith } from '../../support/messages.ts';
import { movedClock, someLooks } from '../../support/moved-clock.ts';
import { until } from '../../support/until.ts';
import {
  type Receiver,
  type RunningWebhooks,
  eventPublisher,
  putAccount,
  putEndpoint,
  runWebhooks,
  startReceiver,
  isHandedOver,
} from '../../support/webhooks.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let bus: TestBus;
let events: ReturnType<typeof eventPublisher>;
let running: RunningWebhooks | null = null;
const receivers: Receiver[] = [];
/** Asked to be disabled. */
const asked: WebhookDisabledReason[] = [];
let disabling: { readonly entry: WebhookEntry } | null = null;

beforeAll(async () => {
  bus = await startBus();
  events = eventPublisher(bus.bus);
  // The control role.
  bus.bus.connection.subscribe(disableSubject, {
    callback: (_error, msg) => {
      const { reason } = msg.json<{ reason: WebhookDisabledReason }>();
      asked.push(reason);
      if (disabling !== null)
        void putEndpoint(bus.bus, { ...disabling.entry, status: 'disabled', disabledReason: reason });
      msg.respond('{"ok":true}');
    },
  });
});
afterEach(async () => {
  await running?.stop();
  running = null;
  for (const receiver of receivers.splice(0)) await receiver.close();
  asked.length = 0;
  disabling = null;
  await bus.bus.manager.streams.purge(streamNames.webhookLog);
});
afterAll(async () => {
  events.close();
  await bus.stop();
});

async function receiverOf(...given: Parameters<typeof startReceiver>): Promise<Receiver> {
  const made = await startReceiver(...given);
  receivers.push(made);
  return made;
}

/** An account with an endpoint that answers with `status` and one that takes everything; the first one fails now. */
async function failingEndpoint(status: number) {
  const accountId = await putAccount(bus.bus);
  const [broken, other] = [await receiverOf(() => ({ status })), await receiverOf()];
  const { entry } = await putEndpoint(bus.bus, { accountId, url: broken.url });
  await putEndpoint(bus.bus, { accountId, url: other.url });
  const clock = movedClock();
  running = await runWebhooks(bus.bus, { clock });
  await until('it delivers', () => running?.node.state === 'delivers');
  const all = Array.from({ length: 20 }, () => eventOf(accountId));
  await events.publish(all);
  await until('it fails', async () => (await stateOf(entry)) !== null);
  await until('the other one has all', () => other.received.length === all.length);
  await until('all of it is parked', () => isHandedOver(bus.bus));
  const published = (type: string) => other.received.filter(({ json }) => json.type === type);
  return { entry, broken, other, clock, all, published };
}

const eventOf = (accountId: AccountId): DeliveryEvent =>
  eventOfMessage(messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) }), {
    kind: 'delivered',
    atMs: systemClock.nowMs(),
  });
async function stateOf({ id }: WebhookEntry): Promise<Failing | null> {
  const entry = await (await openBucket(bus.bus, 'webhooks')).get(`failing.${id}`);
  return entry === null || entry.operation !== 'PUT' ? null : entry.json<Failing>();
}

test('one request at each step and none between; reported after an hour and a day; disabled after five days; enabled again', async () => {
  const { entry, broken, clock, all, published } = await failingEndpoint(500);
  disabling = { entry };
  const began = await stateOf(entry);
  const { sinceMs } = began as Failing;
  expect(began).toMatchObject({ tries: 1, error: 'http_error' });

  /** At this time nothing is due: neither a request nor a word. */
  const quietAt = async (ms: number, what: () => number) => {
    clock.to(ms);
    const before = [broken.received.length, what()];
    await someLooks(clock);
    expect([broken.received.length, what()]).toEqual(before);
  };
  let requests = broken.received.length;
  const step = async () => {
    const before = (await stateOf(entry)) as Failing;
    await quietAt(before.nextTryAtMs - 1_000, () => published('webhook.disabled').length);
    clock.to(before.nextTryAtMs);
    await until('one more try', async () => ((await stateOf(entry))?.tries ?? 0) > before.tries);
    requests += 1;
    expect(broken.received).toHaveLength(requests);
  };
  const failingReported = () => published('webhook.failing').length;
  // Tries 2 to 4 are at 5 s, 5 min and 35 min.
  for (let tries = 2; tries <= 4; tries += 1) await step();
  await quietAt(sinceMs + hourMs - 500, failingReported);
  clock.to(sinceMs + hourMs);
  await until('reported after an hour', () => failingReported() === 1);
  // Tries 5 to 8 are at 2.6, 7.6, 17.6 and 31.6 hours.
  for (let tries = 5; tries <= 7; tries += 1) await step();
  await quietAt(sinceMs + dayMs - 500, failingReported);
  clock.to(sinceMs + dayMs);
  await until('reported after a day', () => failingReported() === 2);
  const [first, second] = published('webhook.failing');
  expect(first?.json.data).toMatchObject({
    id: entry.id,
    url: entry.url,
    failing_since: new Date(sinceMs).toISOString(),
  });
  expect(first?.id).not.toBe(second?.id);

  for (let tries = 8; ((await stateOf(entry)) as Failing).nextTryAtMs < sinceMs + 5 * dayMs; tries += 1) await step();
  expect(((await stateOf(entry)) as Failing).tries).toBeGreaterThanOrEqual(limits.delivery.disableAfterTries);
  await quietAt(sinceMs + 5 * dayMs - 500, () => asked.length);
  expect(asked).toEqual([]);
  clock.to(sinceMs + 5 * dayMs);
  await until('the others are notified', () => published('webhook.disabled').length === 1);
  expect(new Set(asked)).toEqual(new Set(['failing']));
  expect(published('webhook.disabled')[0]?.json.data).toMatchObject({ id: entry.id, disabled_reason: 'failing' });
  await quietAt(sinceMs + 30 * dayMs, () => published('webhook.disabled').length + failingReported());
  // Nothing was sent to the endpoint itself.
  expect(broken.received.filter(({ json }) => json.type.startsWith('webhook.'))).toEqual([]);

  broken.answer = () => ({ status: 200 });
  const from = broken.received.length;
  await putEndpoint(bus.bus, { ...entry, status: 'enabled', disabledReason: null });
  await until('everything that waited', () => broken.received.length === from + all.length);
  const sequences = broken.received.slice(from).map(({ json }) => Number(json.data['sequence']));
  expect(new Set(broken.received.slice(from).map(({ id }) => id))).toEqual(
    new Set(all.map(({ eventId }) => eventId as string)),
  );
  expect(sequences).toHaveLength(all.length);
  await until('it does not fail any more', async () => (await stateOf(entry)) === null);
}, 60_000);

test('after five days with fewer than ten tries it is not disabled, with the tenth it is', async () => {
  const { entry, clock } = await failingEndpoint(500);
  const { sinceMs } = (await stateOf(entry)) as Failing;
  const { disableAfterMs, disableAfterTries } = limits.delivery;
  clock.to(sinceMs + disableAfterMs);
  for (let tries = 2; tries < disableAfterTries; tries += 1) {
    await until('one more try', async () => ((await stateOf(entry))?.tries ?? 0) >= tries);
    clock.to(((await stateOf(entry)) as Failing).nextTryAtMs - 1_000);
    await someLooks(clock);
    expect(asked).toEqual([]);
    clock.to(((await stateOf(entry)) as Failing).nextTryAtMs);
  }
  await until('asked', () => asked.length > 0);
  expect(((await stateOf(entry)) as Failing).tries).toBe(disableAfterTries);
}, 60_000);

test('a 410 disables at once, and is reported once over a restart', async () => {
  const { entry, broken, clock, published } = await failingEndpoint(410);
  disabling = { entry };
  await until('reported', () => published('webhook.disabled').length === 1);
  expect(published('webhook.disabled')[0]?.json.data).toMatchObject({ disabled_reason: 'gone', error: 'gone' });
  const requests = broken.received.length;
  await until('it is stored that they were notified', async () => (await stateOf(entry))?.isDisabledPublished === true);
  await running?.stop();
  running = await runWebhooks(bus.bus, { clock });
  await until('it delivers', () => running?.node.state === 'delivers');
  clock.to(clock.nowMs() + 10 * dayMs);
  await someLooks(clock);
  expect(published('webhook.disabled')).toHaveLength(1);
  expect(broken.received).toHaveLength(requests);
}, 30_000);

test.each([429, 503])(
  '%i with Retry-After: nothing is sent for that long; then the schedule begins',
  async (status) => {
    const accountId = await putAccount(bus.bus);
    const waitS = 90;
    let refused = 0;
    const hook = await receiverOf(() => {
      if (refused === 3) return { status: 500 };
      refused += 1;
      return { status, headers: { 'retry-after': String(waitS) } };
    });
    const { entry } = await putEndpoint(bus.bus, { accountId, url: hook.url });
    const clock = movedClock();
    clock.to(systemClock.nowMs());
    running = await runWebhooks(bus.bus, { clock });
    await until('it delivers', () => running?.node.state === 'delivers');
    await events.publish([eventOf(accountId)]);
    for (let tries = 1; tries <= 3; tries += 1) {
      await until('it waits', async () => (await stateOf(entry))?.tries === tries);
      const { nextTryAtMs } = (await stateOf(entry)) as Failing;
      expect(nextTryAtMs).toBe(clock.nowMs() + waitS * 1_000);
      clock.to(nextTryAtMs - 1);
      await someLooks(clock);
      expect(hook.received).toHaveLength(tries);
      clock.to(nextTryAtMs);
      await until('the next try', () => hook.received.length === tries + 1);
    }
    await until('it is refused otherwise', async () => (await stateOf(entry))?.tries === 4);
    const waitMs = ((await stateOf(entry)) as Failing).nextTryAtMs - clock.nowMs();
    const [, first] = limits.delivery.scheduleMs;
    expect(waitMs).toBeGreaterThanOrEqual(first);
    expect(waitMs).toBeLessThanOrEqual(first * (1 + limits.delivery.scheduleJitter));
  },
  60_000,
);

test.each(['while it runs', 'before a restart'])(
  'disabled and enabled again within one look, %s: it begins again',
  async (when) => {
    const { entry, broken, clock } = await failingEndpoint(500);
    const { sinceMs } = (await stateOf(entry)) as Failing;
    clock.to(sinceMs + hourMs);
    await until('two tries', async () => ((await stateOf(entry))?.tries ?? 0) >= 2);
    const before = (await stateOf(entry)) as Failing;
    broken.answer = () => ({ status: 200 });
    if (when === 'before a restart') await running?.stop();
    // It is seen enabled both times: the entry is written once.
    await putEndpoint(bus.bus, { ...entry, enabledAtMs: systemClock.nowMs() });
    if (when === 'before a restart') running = await runWebhooks(bus.bus, { clock });
    await until('it does not fail any more', async () => (await stateOf(entry)) === null);
    expect(clock.nowMs()).toBeLessThan(before.nextTryAtMs);
  },
  60_000,
);
