// A carrier is taken out of the configuration while messages wait for it: the real actors role moves what another
// carrier takes, ends what none takes, says `unknown` of what may have been at the carrier, and sends nothing twice.
import { afterEach, expect, test } from 'vitest';
import { routingRules } from '../../cluster/roles/routing-rules.ts';
import { ReleaseRules } from '../../actors/later/release-rules.ts';
import { serveRemoved } from '../../actors/removed/removed-carrier.ts';
import { RemovedCarriers } from '../../actors/removed/removed-carriers.ts';
import { bodyCipher } from '../../cluster/bus/body-cipher.ts';
import { tellBeacon } from '../../cluster/bus/carrier-beacon.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import type { CarrierConfig } from '../../cluster/config/configuration.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { everyCarrierIsGood } from '../../policy/routing/avoid.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../support/carrier-house.ts';
import { bodyKey } from '../support/host-process.ts';
import { eventsOf } from '../support/invariant.ts';
import { startRolesOf } from '../support/role-child.ts';

let house: CarrierHouse;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await house.stop();
});

const waiting = { limitMs: 40_000, everyMs: 100 };
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
  routing: { fallback, otpMovesAfterMs: 1_000, othersMoveAfterMs: 30_000 },
  retention: { historyDays: 30 },
  actors: { threads: 1, flightDumps: 0 },
});
const left = async () => {
  const all = await Promise.all(
    ['MT_OTP', 'MT_TXN', 'MT_PROMO', 'INBOUND'].map(async (each) => (await house.bus.manager.streams.info(each)).state),
  );
  return all.reduce((sum, { messages }) => sum + messages, 0);
};
const consumersOf = async (carrier: string) => {
  const names: string[] = [];
  for (const stream of ['MT_OTP', 'MT_TXN', 'MT_PROMO', 'INBOUND']) {
    const pages = house.bus.manager.consumers.list(stream);
    for (let page = await pages.next(); page.length > 0; page = await pages.next()) {
      names.push(...page.map(({ name }) => name).filter((name) => name.startsWith(`carrier_${carrier}_`)));
    }
  }
  return names;
};

test('the real role gives the backlog of a removed carrier to another one, each message once, and its consumers go', async () => {
  house = await openCarrierHouse();
  const sent = (
    await Promise.all(categories.map((category) => house.send(30, { category, carrier: 'gone', plan: ['gone too'] })))
  ).flat();
  // Consumers of the time when it was served.
  const gone = await house.actor(carrierWith({ port: 1 }, { name: 'gone' }));
  await gone.drain(500);
  expect((await consumersOf('gone')).length).toBeGreaterThan(20);

  const alpha = carrierWith(house.simulator);
  ends.push(await startRolesOf('actors', house.nats.url, configurationOf([alpha], ['alpha'])));
  expect(await house.settled(sent, waiting.limitMs)).toMatchObject({
    twice: [],
    never: [],
    statuses: { delivered: 90 },
  });
  expect(await left()).toBe(0);
  const moved = (await eventsOf(house.bus)).filter(({ kind }) => kind === 'rerouted');
  expect(new Set(moved.map(({ messageId }) => messageId))).toEqual(new Set(sent.map(({ messageId }) => messageId)));
});

test('what nobody takes ends as failed, no_route; what may be at the removed carrier is unknown and not sent again', async () => {
  house = await openCarrierHouse({ response: 'fixed:60000' });
  const gone = carrierWith(house.simulator, { name: 'gone', bind: { window: 5, count: 1 } });
  const host = await house.host([gone]);
  const sent = await house.send(12, { carrier: 'gone' });
  await until('five are out', () => house.simulator.messages().length === 5, waiting);
  await host.kill9();

  const removed = await removedCarriers([], []);
  await removed.look();
  const account = await house.settled(sent, waiting.limitMs);
  expect(account).toMatchObject({ twice: [], statuses: { unknown: 5, failed: 7 } });
  expect(house.simulator.messages()).toHaveLength(5);
  const failed = (await eventsOf(house.bus)).filter(({ kind }) => kind === 'failed');
  expect(new Set(failed.map(({ error }) => error))).toEqual(new Set(['no_route']));
  await until('its consumers are deleted', async () => {
    await removed.look();
    return (await consumersOf('gone')).length === 0;
  });
});

test('a carrier that another node serves is left to it, until nobody does', async () => {
  house = await openCarrierHouse();
  const sent = await house.send(10, { carrier: 'elsewhere' });
  const alpha = carrierWith(house.simulator);
  await house.actor(alpha);
  const removed = await removedCarriers([alpha], ['alpha'], 2_000);
  const endAtMs = systemClock.monotonicMs() + 3_000;
  let told = 0;
  while (systemClock.monotonicMs() < endAtMs) {
    tellBeacon(house.bus, { carrier: 'elsewhere', node: 'other', state: 'good', why: '' });
    await house.bus.connection.flush();
    told += 1;
    await removed.look();
    await systemClock.sleep(100);
  }
  expect(told).toBeGreaterThan(3);
  expect(await left()).toBe(10);
  expect(house.simulator.messages()).toEqual([]);
  await until(
    'nobody serves it any more',
    async () => {
      await removed.look();
      return (await left()) === 0;
    },
    waiting,
  );
  expect(await house.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 10 } });
});

async function removedCarriers(
  carriers: readonly CarrierConfig[],
  fallback: readonly string[],
  unservedMs = 0,
): Promise<RemovedCarriers> {
  const { bus } = house;
  const publisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const cipher = bodyCipher(bodyKey);
  const configuration = configurationOf(carriers, fallback) as unknown as Parameters<typeof routingRules>[0];
  const rules = new ReleaseRules(routingRules(configuration), cipher, everyCarrierIsGood);
  const removed = new RemovedCarriers({
    bus,
    isConfigured: (name) => rules.isConfigured(name),
    unservedMs,
    serve: (name) =>
      serveRemoved(name, {
        bus,
        publisher,
        cipher,
        carriers: everyCarrierIsGood,
        waysOf: (message) => rules.waysOf(message).ways,
        like: carrierWith(house.simulator),
      }),
  });
  ends.push(async () => publisher.close());
  ends.push(() => removed.stop());
  return removed;
}
