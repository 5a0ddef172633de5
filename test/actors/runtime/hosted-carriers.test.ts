// The carriers of one thread when their configuration changes or the thread stops, with a slow carrier. Counted at the
// simulator and in EVENTS: a clean end leaves nothing unknown.
import { describe, expect, test } from 'vitest';
import { CarrierActor } from '../../../actors/carrier/carrier-actor.ts';
import { HostedCarriers } from '../../../actors/runtime/hosted-carriers.ts';
import type { BindLeases } from '../../../actors/lease/contract.ts';
import { openLeases } from '../../../actors/lease/lease-keeper.ts';
import { singleNodeLeases } from '../../../actors/lease/single-node-leases.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { type Bus, connectBus } from '../../../cluster/bus/connect.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import type { CarrierConfig } from '../../../config/configuration.ts';
import { actorsDrainMs } from '../../../config/drain-times.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { ReconnectBudget } from '../../../smpp/reconnect-budget.ts';
import { type CarrierHarness, carrierHarnessOf, carrierWith } from '../../support/carrier-harness.ts';
import { bodyKey } from '../../support/host-process.ts';
import { startProxy } from '../../support/bus.ts';
import { account } from '../../support/invariant.ts';

type AtEnd = (run: () => Promise<void>) => void;

const moves = { otpFailoverAfterMs: 1_000, othersFailoverAfterMs: 30_000 };
const submitsOf = (harness: CarrierHarness) => harness.simulator.stats().submits.total;
const allAnswered = { twice: [], never: [], statuses: { delivered: 20 } };

type Host = {
  readonly hosted: HostedCarriers;
  /** All actors ever made, the last one last. */
  readonly actors: readonly CarrierActor[];
  /** How many listeners wait for reconnects of the bus. */
  listeners(): number;
};

/** As in a host thread: one bus, one publisher, one epoch. */
async function hostAt(natsUrl: string, atEnd: AtEnd, leases: BindLeases = singleNodeLeases): Promise<Host> {
  const actors: CarrierActor[] = [];
  let listeners = 0;
  const connected = await connectBus(natsUrl, 'host');
  const bus: Bus = {
    ...connected,
    onReconnect(run) {
      listeners += 1;
      const off = connected.onReconnect(run);
      return () => {
        listeners -= 1;
        off();
      };
    },
  };
  const publisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const reconnectBudget = new ReconnectBudget(limits.smpp.connectsPerSecond);
  const parts = { simulated: {}, bus, publisher, cipher: bodyCipher(bodyKey), reconnectBudget, moves, leases };
  const hosted = new HostedCarriers((carrier) => {
    const actor = new CarrierActor({ ...parts, carrier });
    actors.push(actor);
    return actor;
  });
  atEnd(async () => {
    await hosted.drain(1_000);
    publisher.close();
    await bus.close();
  });
  return { hosted, actors, listeners: () => listeners };
}

const withWindow = (carrier: CarrierConfig, window: number): CarrierConfig => ({
  ...carrier,
  binds: carrier.binds.map((bind) => ({ ...bind, window })),
});

/** As one of several nodes, with NATS behind a proxy for everything but its leases. */
async function sharingHost(harness: CarrierHarness, atEnd: AtEnd) {
  const proxy = await startProxy(harness.nats.url);
  const leaseBus = await connectBus(harness.nats.url, 'leases');
  const leases = await openLeases(leaseBus, { node: 'n1', thread: 'actors-1', place: 'n1', process: 'n1' });
  atEnd(async () => {
    await leases.close();
    await leaseBus.close();
    await proxy.close();
  });
  return { proxy, ...(await hostAt(proxy.url, atEnd, leases)) };
}

// Each waits for its carrier most of its time.
describe.concurrent('carriers of one thread', () => {
  test('a stop waits as long as the carrier may take to answer, and no longer', async ({ onTestFinished }) => {
    const harness = await carrierHarnessOf(onTestFinished, { response: 'fixed:8000' });
    const carrier = carrierWith(harness.simulator, { responseTimerMs: 60_000 });
    const running = await harness.host([carrier]);
    const sent = await harness.send(20);
    await until('all are out', () => submitsOf(harness) === 20);
    const beganAtMs = systemClock.monotonicMs();
    const drainMsMax = limits.supervision.carriersDrainMsMax;
    expect(await running.drain(actorsDrainMs({ carriers: [carrier], limits: { drainMsMax } }))).toBe(0);
    expect(systemClock.monotonicMs() - beganAtMs).toBeLessThan(30_000);
    await harness.host([carrier]);
    expect(await harness.settled(sent)).toMatchObject(allAnswered);
  });

  test('with less time than that, most of it is for the answers', async ({ onTestFinished }) => {
    // More than half of the time for a stop, and far enough from its end for a machine that stalls some seconds.
    const harness = await carrierHarnessOf(onTestFinished, { response: 'fixed:12500' });
    const carrier = carrierWith(harness.simulator, { responseTimerMs: 30_000, enquireLinkMs: 60_000 });
    const running = await harness.host([carrier]);
    const sent = await harness.send(20);
    await until('all are out', () => submitsOf(harness) === 20);
    expect(await running.drain(2 * limits.supervision.drainMs)).toBe(0);
    await harness.host([carrier]);
    expect(await harness.settled(sent)).toMatchObject(allAnswered);
  });

  test('a carrier whose binds are reopened is waited for in the same way', async ({ onTestFinished }) => {
    const harness = await carrierHarnessOf(onTestFinished, { response: 'fixed:7000' });
    const carrier = carrierWith(harness.simulator, { responseTimerMs: 60_000 });
    const { hosted } = await hostAt(harness.nats.url, onTestFinished);
    await hosted.start([carrier], moves);
    const sent = await harness.send(20);
    await until('all are out', () => submitsOf(harness) === 20);
    await hosted.configure([withWindow(carrier, 40)], moves);
    const later = await harness.send(20);
    expect(await harness.settled(sent)).toMatchObject(allAnswered);
    expect(await harness.settled(later)).toMatchObject(allAnswered);
  });

  test('a stop in the middle of that waits for it, and the other carriers are drained meanwhile', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished, { response: 'fixed:6000' });
    const carrier = carrierWith(harness.simulator, { responseTimerMs: 60_000 });
    const sibling = { ...carrier, name: 'beta' };
    const { hosted } = await hostAt(harness.nats.url, onTestFinished);
    await hosted.start([carrier, sibling], moves);
    const sent = await harness.send(20);
    const siblings = await harness.send(20, { carrier: 'beta' });
    await until('all are out', () => submitsOf(harness) === 40);
    void hosted.configure([withWindow(carrier, 40), sibling], moves);
    await hosted.drain(12_000);
    expect(hosted.status.every(({ bindsBound }) => bindsBound === 0)).toBe(true);
    expect(harness.simulator.stats().binds.total).toBe(4);
    // Some receipts find no bind any more.
    const { statuses, twice } = await account(harness.bus, harness.simulator, [...sent, ...siblings]);
    expect([(statuses['submitted'] ?? 0) + (statuses['delivered'] ?? 0), twice]).toEqual([40, []]);
  });

  test('NATS is down while a carrier is reopened: chosen messages are sent by its next incarnation, and none is unknown', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    const carrier = carrierWith(harness.simulator, { tps: 20, responseTimerMs: 1_000 });
    const { proxy, hosted, actors } = await sharingHost(harness, onTestFinished);
    await hosted.start([carrier], moves);
    const sent = await harness.send(100);
    await until('under way', () => submitsOf(harness) >= 10);
    // Present connections receive nothing more, and detect that in some seconds; a new connection works.
    proxy.silence();
    proxy.heal();
    // An actor with nothing in flight would begin its next incarnation at once, use the dead connection and end the
    // thread.
    await until('an event waits for the bus', () => (actors.at(-1)?.eventsHeld ?? 0) > 0);
    await hosted.configure([withWindow(carrier, 40)], moves);
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 100 } });
  });

  test('a carrier that is reopened again and again leaves no listener behind', async ({ onTestFinished }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    const carrier = carrierWith(harness.simulator);
    const { hosted, listeners } = await sharingHost(harness, onTestFinished);
    await hosted.start([carrier], moves);
    const before = listeners();
    for (const window of [40, 30, 20]) await hosted.configure([withWindow(carrier, window)], moves);
    expect(listeners()).toBe(before);
    await hosted.drain(2_000);
    expect(listeners()).toBeLessThan(before);
  });
});
