// A carrier is removed from the configuration while messages wait for it: the real actors role moves what another
// carrier takes, ends what none takes, ends as `unknown` what may have reached the carrier, and sends nothing twice.
import { afterEach, expect, test } from 'vitest';
import { routingRules } from '../../cluster/roles/routing-rules.ts';
import { ReleaseRules } from '../../actors/later/release-rules.ts';
import { movedTo } from '../../actors/carrier/failover/reroute.ts';
import { openLeases } from '../../actors/lease/lease-keeper.ts';
import { singleNodeLeases } from '../../actors/lease/single-node-leases.ts';
import { type RemovedCarrierParts, serveRemoved } from '../../actors/removed/removed-carrier.ts';
import { ServedByOne } from '../../actors/removed/served-by-one.ts';
import { RemovedCarriers } from '../../actors/removed/removed-carriers.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { carrierHealth } from '../../cluster/bus/carrier-heartbeat.ts';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { encodeMessage, messageRecordId } from '../../model/records/message-record.ts';
import { overflowSubject, messageSubject } from '../../cluster/bus/subjects.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import { otpRulesDefault } from '../../policy/otp/contract.ts';
import { retentionDefault } from '../../config/retention-schema.ts';
import { type DeliveryEvent, acceptedEvent, eventOfMessage } from '../../model/delivery-event.ts';
import { newMessageId } from '../../model/ids.ts';
import type { Message } from '../../model/message.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { everyCarrierIsGood } from '../../policy/routing/avoid.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../support/carrier-harness.ts';
import { cutProxy } from '../support/cut-proxy.ts';
import { bodyKey } from '../support/host-process.ts';
import { eventsOf } from '../support/invariant.ts';
import { messageWith } from '../support/messages.ts';
import { startRolesOf } from '../support/role-child.ts';

let harness: CarrierHarness;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await harness.stop();
});

const waiting = { everyMs: 100 };
const categories = ['otp', 'transactional', 'promotional'] as const;
const configurationOf = (carriers: readonly CarrierConfig[], fallback: readonly string[]) => ({
  country: {
    name: 'Bangladesh',
    callingCode: '+880',
    nationalLengths: [10],
    prefixes: { '17': fallback[0] ?? 'none' },
  },
  carriers,
  routes: [],
  routing: { fallback, otpFailoverAfterMs: 1_000, othersFailoverAfterMs: 30_000 },
  retention: retentionDefault,
  analytics: { sqlEndpoint: null },
  otp: otpRulesDefault,
  actors: { threads: 1, flightDumps: 0 },
});
const left = async () => {
  const all = await Promise.all(
    ['MT_OTP', 'MT_TXN', 'MT_PROMO', 'INBOUND'].map(
      async (each) => (await harness.bus.manager.streams.info(each)).state,
    ),
  );
  return all.reduce((sum, { messages }) => sum + messages, 0);
};
/**
 * A message is settled before its record is acknowledged: by its event, or by the receipt for another node's submit.
 */
const nothingLeft = () => until('nothing is left', async () => (await left()) === 0, waiting);
const consumersOf = async (carrier: string) => {
  const names: string[] = [];
  for (const stream of ['MT_OTP', 'MT_TXN', 'MT_PROMO', 'INBOUND']) {
    const pages = harness.bus.manager.consumers.list(stream);
    for (let page = await pages.next(); page.length > 0; page = await pages.next()) {
      names.push(...page.map(({ name }) => name).filter((name) => name.startsWith(`carrier_${carrier}_`)));
    }
  }
  return names;
};

test('the real role moves the backlog of a removed carrier to another one, each message once, and its consumers are deleted', async () => {
  harness = await openCarrierHarness();
  const sent = (
    await Promise.all(categories.map((category) => harness.send(30, { category, carrier: 'gone', plan: ['gone too'] })))
  ).flat();
  // Consumers of the time when it was served.
  const gone = await harness.actor(carrierWith({ port: 1 }, { name: 'gone' }));
  await gone.drain(500);
  expect((await consumersOf('gone')).length).toBeGreaterThan(20);

  const alpha = carrierWith(harness.simulator);
  ends.push(await startRolesOf('actors', harness.nats.url, configurationOf([alpha], ['alpha'])));
  expect(await harness.settled(sent)).toMatchObject({
    twice: [],
    never: [],
    statuses: { delivered: 90 },
  });
  await nothingLeft();
  const moved = (await eventsOf(harness.bus)).filter(({ kind }) => kind === 'rerouted');
  expect(new Set(moved.map(({ messageId }) => messageId))).toEqual(new Set(sent.map(({ messageId }) => messageId)));
});

test('what no carrier takes ends as failed, no_route; what may be at the removed carrier is unknown and not sent again', async () => {
  harness = await openCarrierHarness({ response: 'fixed:60000' });
  const gone = carrierWith(harness.simulator, { name: 'gone', bind: { window: 5, count: 1 } });
  const host = await harness.host([gone]);
  const sent = await harness.send(12, { carrier: 'gone' });
  await until('five are out', () => harness.simulator.messages().length === 5, waiting);
  await host.kill9();

  const removed = await removedCarriers([], []);
  await removed.look();
  const account = await harness.settled(sent);
  expect(account).toMatchObject({ twice: [], statuses: { unknown: 5, failed: 7 } });
  expect(harness.simulator.messages()).toHaveLength(5);
  const failed = (await eventsOf(harness.bus)).filter(({ kind }) => kind === 'failed');
  expect(new Set(failed.map(({ error }) => error))).toEqual(new Set(['no_route']));
  await until('its consumers are deleted', async () => {
    await removed.look();
    return (await consumersOf('gone')).length === 0;
  });
});

test('a carrier that another node serves is left to it, until none does', async () => {
  harness = await openCarrierHarness();
  const sent = await harness.send(10, { carrier: 'elsewhere' });
  const alpha = carrierWith(harness.simulator);
  await harness.actor(alpha);
  const unservedMs = 2_000;
  let nowMs = 0;
  const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };
  const removed = await removedCarriers([alpha], ['alpha'], unservedMs, clock);
  for (let heartbeats = 0; heartbeats < 3; heartbeats += 1) {
    carrierHealth.publish(harness.bus, { carrier: 'elsewhere', node: 'other', state: 'good', why: '' });
    // It comes over the same connection before the answer to this.
    await harness.bus.connection.flush();
    nowMs += unservedMs - 1;
    await removed.look();
  }
  expect(await left()).toBe(10);
  expect(harness.simulator.messages()).toEqual([]);
  nowMs += 1;
  await until(
    'no process serves it any more',
    async () => {
      await removed.look();
      return (await left()) === 0;
    },
    waiting,
  );
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 10 } });
});

test('of two nodes one serves it; when that one is cut off the other continues, and no carrier gets a message twice', async () => {
  harness = await openCarrierHarness({ latency: 'fixed:5' });
  await harness.actor(carrierWith(harness.simulator, { tps: 200 }));
  const serving: string[] = [];
  let most = 0;
  const nodes = await Promise.all(
    ['n1', 'n2'].map(async (name) => {
      const proxy = await cutProxy(harness.nats.url, { when: 'never', times: 1, what: 'answers' });
      const bus = await connectBus(proxy.url, name);
      const leases = await openLeases(bus, { node: name, thread: 'removed', place: name, process: name });
      const rules = rulesOf([carrierWith(harness.simulator)], ['alpha']);
      const served = new ServedByOne(leases, 'gone', async () => {
        const one = await serveRemoved('gone', removedParts(bus, rules));
        serving.push(name);
        most = Math.max(most, serving.length);
        const leave = () => {
          const at = serving.indexOf(name);
          if (at >= 0) serving.splice(at, 1);
        };
        return {
          cut() {
            one.cut();
            leave();
          },
          async stop() {
            await one.stop();
            leave();
          },
        };
      });
      ends.push(async () => {
        await served.stop();
        await leases.close();
        await bus.close();
        proxy.close();
      });
      return { name, proxy };
    }),
  );
  await until('one of them has it', () => serving.length === 1, waiting);
  const first = serving[0];
  const sent = await harness.send(400, { carrier: 'gone' });
  await until('some are sent', () => harness.simulator.messages().length > 50, waiting);
  nodes.find(({ name }) => name === first)?.proxy.close();
  await until('the other has it', () => serving.length === 1 && serving[0] !== first, waiting);
  sent.push(...(await harness.send(50, { carrier: 'gone' })));
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 450 } });
  await nothingLeft();
  expect(most).toBe(1);
});

test('its records in overflow are moved too; what has its outcome or was moved before is not moved again', async () => {
  harness = await openCarrierHarness();
  const cipher = bodyCipher(bodyKey);
  const events = new EventWriter(harness.publisher);
  const publish = (event: DeliveryEvent) => new Promise((resolve) => events.write(event, resolve, true));
  const put = (subject: string, message: Message, id: string) =>
    harness.publisher.publishOne(subject, encodeMessage(message, cipher), id);
  const made = ['overflow', 'ended', 'submitted', 'moved', 'refused'].map((what, at) => {
    const message = messageWith({
      messageId: newMessageId(systemClock.nowMs()),
      recipient: `+8801710000${100 + at}`,
      body: { text: `#${what}#` },
      carrier: 'gone',
    });
    return [what, message] as const;
  });
  const { ended, submitted, moved, refused } = Object.fromEntries(made) as Record<string, Message>;
  for (const [, message] of made) await publish(acceptedEvent(message));
  const now = { attempt: 1, atMs: systemClock.nowMs() };
  // Events of earlier incarnations: the end · accepted by the carrier · rerouted to beta, published and not acked ·
  // refused temporarily.
  for (const message of [submitted, refused]) await publish(eventOfMessage(message!, { kind: 'intent', ...now }));
  await publish(eventOfMessage(submitted!, { kind: 'submitted', ...now, carrierMessageId: 'x1' }));
  await publish(eventOfMessage(ended!, { kind: 'failed', ...now, error: 'no_route' }));
  await publish(eventOfMessage(moved!, { kind: 'rerouted', ...now, error: 'to beta: no_bind', detail: '0' }));
  await publish(eventOfMessage(refused!, { kind: 'deferred', ...now, segment: 1, error: 'throttled' }));
  const toBeta = movedTo(moved!, 'beta', 'no_bind', false);
  await put(messageSubject('transactional', 'beta', toBeta.accountId), toBeta, messageRecordId(toBeta));
  for (const [what, message] of made) {
    const { category, accountId } = message;
    const subject =
      what === 'overflow' ? overflowSubject(category, 'gone', accountId) : messageSubject(category, 'gone', accountId);
    await put(subject, message, messageRecordId(message));
  }
  const carriers = [carrierWith(harness.simulator), carrierWith(harness.simulator, { name: 'beta' })];
  const removed = await removedCarriers(carriers, ['alpha']);
  await removed.look();
  for (const carrier of carriers) await harness.actor(carrier);
  await nothingLeft();
  const counts = made.map(([what]) => [what, harness.simulator.nonceCount(what)]);
  expect(Object.fromEntries(counts)).toEqual({ overflow: 1, ended: 0, submitted: 0, moved: 1, refused: 1 });
  const routes = (await eventsOf(harness.bus)).filter(({ kind }) => kind === 'rerouted');
  const candidates = routes.map(({ messageId, error }) => [
    made.find(([, each]) => each.messageId === messageId)?.[0],
    error,
  ]);
  expect(candidates.filter(([what]) => what === 'moved')).toEqual([['moved', 'to beta: no_bind']]);
  events.close();
});

function rulesOf(carriers: readonly CarrierConfig[], fallback: readonly string[]): ReleaseRules {
  const configuration = configurationOf(carriers, fallback) as unknown as Parameters<typeof routingRules>[0];
  return new ReleaseRules(routingRules(configuration), bodyCipher(bodyKey), everyCarrierIsGood);
}

function removedParts(bus: Bus, rules: ReleaseRules): RemovedCarrierParts {
  return {
    bus,
    cipher: bodyCipher(bodyKey),
    carriers: everyCarrierIsGood,
    candidatesOf: (message) => rules.candidatesOf(message).candidates,
    like: carrierWith(harness.simulator),
  };
}

async function removedCarriers(
  carriers: readonly CarrierConfig[],
  fallback: readonly string[],
  unservedMs = 0,
  clock = systemClock,
): Promise<RemovedCarriers> {
  const { bus } = harness;
  const rules = rulesOf(carriers, fallback);
  const removed = new RemovedCarriers({
    bus,
    isConfigured: (name) => rules.isConfigured(name),
    unservedMs,
    clock,
    serve: async (name) => new ServedByOne(singleNodeLeases, name, () => serveRemoved(name, removedParts(bus, rules))),
  });
  ends.push(() => removed.stop());
  return removed;
}
