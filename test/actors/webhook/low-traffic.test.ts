// An endpoint that gets an event now and then and refuses everything: between two events nothing of it is in memory, and
// it fails nevertheless, over a restart too. What it refuses alone does not hold up what it would take.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { disableSubject } from '../../../actors/webhook/contract.ts';
import type { Failing, FailureStreak } from '../../../actors/webhook/delivery/schedule.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { parkedFilter, retryFilter } from '../../../cluster/bus/subjects.ts';
import { tenantEntities } from '../../../directory/tenant-entities.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import { type AccountId, newMessageId } from '../../../model/ids.ts';
import type { WebhookOrdering } from '../../../model/webhook-endpoint.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { messageWith } from '../../support/messages.ts';
import { type MovedClock, movedClock, someLooks } from '../../support/moved-clock.ts';
import { until } from '../../support/until.ts';
import {
  type Received,
  type RunningWebhooks,
  type WebhookBus,
  putAccount,
  putEndpoint,
  runWebhooks,
  startWebhookBus,
} from '../../support/webhooks.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

let bus: WebhookBus;
let running: RunningWebhooks | null = null;
/** Asked to be disabled. */
const asked: string[] = [];

beforeAll(async () => {
  bus = await startWebhookBus();
  bus.bus.connection.subscribe(disableSubject, {
    callback: (_error, msg) => {
      asked.push(msg.json<{ reason: string }>().reason);
      msg.respond('{"ok":true}');
    },
  });
});
afterEach(async () => {
  await running?.stop();
  running = null;
  asked.length = 0;
  await bus.bus.manager.streams.purge(streamNames.webhookLog);
});
afterAll(() => bus.stop());

async function start(clock: MovedClock): Promise<void> {
  await running?.stop();
  running = await runWebhooks(bus.bus, { clock });
  await until('it delivers', () => running?.node.state === 'delivers');
}

async function endpointWith(answer: (request: Received) => number, ordering: WebhookOrdering = 'none') {
  const accountId = await putAccount(bus.bus);
  const [hook, other] = [await bus.receiver((request) => ({ status: answer(request) })), await bus.receiver()];
  const { entry } = await putEndpoint(bus.bus, { accountId, url: hook.url, ordering });
  await putEndpoint(bus.bus, { accountId, url: other.url, events: ['webhook.failing'] });
  const bucket = await openBucket(bus.bus, 'webhooks');
  const stateOf = async <State>(prefix: string): Promise<State | null> => {
    const stored = await bucket.get(`${prefix}.${entry.id}`);
    return stored === null || stored.operation !== 'PUT' ? null : stored.json<State>();
  };
  return {
    ...{ accountId, entry, hook, warnings: other.received },
    failing: () => stateOf<Failing>('failing'),
    streak: () => stateOf<FailureStreak>('streak'),
  };
}

async function publish(accountId: AccountId): Promise<string> {
  const message = messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) });
  const event = eventOfMessage(message, { kind: 'delivered', atMs: systemClock.nowMs() });
  await bus.events.publish([event]);
  return event.eventId;
}

async function retriesStored(): Promise<number> {
  const info = await bus.bus.manager.streams.info(streamNames.webhookLog, { subjects_filter: retryFilter });
  return Object.values(info.state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
}

/** Its only event has been refused four times, at 0 s, 5 s, 5 min and 35 min, and it fails as a whole. */
async function refusesOne(of: Awaited<ReturnType<typeof endpointWith>>) {
  const beganMs = systemClock.nowMs();
  const clock = movedClock();
  clock.to(beganMs);
  await start(clock);
  const eventId = await publish(of.accountId);
  await until('two tries', () => of.hook.received.length === 2);
  await until('the next try is stored', async () => (await retriesStored()) === 1);
  clock.to(beganMs + 6 * minuteMs);
  await until('the third try', () => of.hook.received.length === 3);
  await until('the failures are stored', async () => (await of.streak())?.failures === 3);
  await start(clock);
  clock.to(beganMs + 40 * minuteMs);
  await until('it fails', async () => (await of.failing()) !== null);
  expect(of.hook.received).toHaveLength(4);
  expect(await of.failing()).toMatchObject({ sinceMs: beganMs, tries: 1, onlyWebhookId: eventId });
  return { clock, beganMs, eventId };
}

test('one event that is refused at every try: reported after an hour and a day, disabled after five days', async () => {
  const of = await endpointWith(() => 500);
  const { clock, beganMs } = await refusesOne(of);
  expect(await of.streak()).toBeNull();
  clock.to(beganMs + hourMs - 1);
  await someLooks(clock);
  expect(of.warnings).toEqual([]);
  clock.to(beganMs + hourMs);
  await until('reported after an hour', () => of.warnings.length === 1);
  expect(of.warnings[0]?.json.data).toMatchObject({ failing_since: new Date(beganMs).toISOString() });
  clock.to(beganMs + dayMs);
  await until('reported after a day', () => of.warnings.length === 2);
  for (let state = await of.failing(); state !== null && asked.length === 0; ) {
    const { tries, nextTryAtMs } = state;
    clock.to(Math.max(clock.nowMs(), nextTryAtMs));
    await until('one more try, or the end', async () => {
      state = await of.failing();
      return (state?.tries ?? 0) > tries || asked.length > 0;
    });
  }
  expect(asked[0]).toBe('failing');
  expect(clock.nowMs() - beganMs).toBeGreaterThanOrEqual(limits.delivery.disableAfterMs);
  expect(of.hook.received.length).toBeGreaterThanOrEqual(limits.delivery.disableAfterTries);
});

test('one event that is refused does not hold up the next one, which is tried at once', async () => {
  let refused = '';
  const of = await endpointWith(({ id }) => (refused === '' || id === refused ? 400 : 204));
  const { eventId } = await refusesOne(of);
  refused = eventId;
  // The next step of the schedule is not due: the clock stands still.
  const taken = await publish(of.accountId);
  await until('it works', async () => (await of.failing()) === null);
  expect(of.hook.received.find(({ id }) => id === taken)).toBeDefined();
  // From the line the other one is tried again by itself.
  await until('the next try is stored', async () => (await retriesStored()) === 1);
});

test('a success between two failures begins another streak', async () => {
  let status = 500;
  const of = await endpointWith(() => status);
  const clock = movedClock();
  const beganMs = systemClock.nowMs();
  clock.to(beganMs);
  await start(clock);
  await publish(of.accountId);
  await until('the failures are stored', async () => (await of.streak())?.failures === 2);
  status = 204;
  await publish(of.accountId);
  await until('no failure is stored', async () => (await of.streak()) === null);
  status = 500;
  clock.to(beganMs + 6 * minuteMs);
  await until('another streak', async () => (await of.streak())?.failures === 1);
  expect(await of.streak()).toMatchObject({ sinceMs: beganMs + 6 * minuteMs });
  expect(await of.failing()).toBeNull();
});

test('with ordering per_message an event that is given up is no success: the endpoint goes on failing', async () => {
  const of = await endpointWith(() => 500, 'per_message');
  const beganMs = systemClock.nowMs();
  const clock = movedClock();
  clock.to(beganMs);
  await start(clock);
  const first = await publish(of.accountId);
  await until('it fails', async () => (await of.failing()) !== null);
  const second = await publish(of.accountId);
  for (let state = await of.failing(); state !== null && !of.hook.received.some(({ id }) => id === second); ) {
    const { tries, nextTryAtMs } = state;
    clock.to(Math.max(clock.nowMs(), nextTryAtMs));
    await until('one more try', async () => {
      state = await of.failing();
      return (state?.tries ?? 0) > tries;
    });
  }
  expect(of.hook.received.filter(({ id }) => id === first).length).toBeGreaterThanOrEqual(
    limits.delivery.scheduleMs.length,
  );
  expect(await of.failing()).toMatchObject({ sinceMs: beganMs });
});

test('with ordering per_message an event has all its tries, however long the endpoint was away before', async () => {
  let isAway = true;
  const of = await endpointWith(() => 500, 'per_message');
  of.hook.answer = () => (isAway ? { status: 503, headers: { 'retry-after': '1' } } : { status: 500 });
  const clock = movedClock();
  clock.to(systemClock.nowMs());
  await start(clock);
  const first = await publish(of.accountId);
  await until('it fails', async () => (await of.failing()) !== null);
  const nextTry = async () => {
    const { tries, nextTryAtMs } = (await of.failing()) as Failing;
    clock.to(Math.max(clock.nowMs(), nextTryAtMs));
    await until('one more try', async () => ((await of.failing())?.tries ?? 0) > tries);
    return ((await of.failing()) as Failing).nextTryAtMs - clock.nowMs();
  };
  const second = await publish(of.accountId);
  // As after an absence of days: the schedule of the endpoint is at its end.
  await until('both are in the line', async () => (await linesStored()) === 2);
  await running?.stop();
  running = null;
  const { scheduleMs } = limits.delivery;
  const away = { ...(await of.failing()), tries: 30, scheduledTries: scheduleMs.length, error: 'timeout' };
  await (await openBucket(bus.bus, 'webhooks')).put(`failing.${of.entry.id}`, JSON.stringify(away));
  isAway = false;
  of.hook.received.length = 0;
  await start(clock);

  for (let times = 1; times < scheduleMs.length; times += 1) {
    const waitMs = await nextTry();
    expect([times, waitMs >= (scheduleMs[times] ?? 0)]).toEqual([times, true]);
    expect([times, waitMs <= (scheduleMs[times] ?? 0) * 1.1]).toEqual([times, true]);
    expect(of.hook.received.map(({ id }) => id)).toEqual(Array.from({ length: times }, () => first));
    // Over a restart as well.
    if (times === 3) await start(clock);
  }
  await nextTry();
  await until('the next one is tried', () => of.hook.received.some(({ id }) => id === second));
  expect(of.hook.received.filter(({ id }) => id === first)).toHaveLength(scheduleMs.length);
});

async function linesStored(): Promise<number> {
  const info = await bus.bus.manager.streams.info(streamNames.webhookLog, { subjects_filter: parkedFilter });
  return Object.values(info.state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
}

test('of an endpoint that was deleted while no process delivered, nothing is stored any more', async () => {
  const of = await endpointWith(() => 500);
  const { clock } = await refusesOne(of);
  await running?.stop();
  const { webhook } = tenantEntities;
  await (await openBucket(bus.bus, 'directory')).delete(webhook.nameOf(webhook.idOf(of.entry)));
  await start(clock);
  await until('its state is gone', async () => (await of.failing()) === null && (await of.streak()) === null);
});
