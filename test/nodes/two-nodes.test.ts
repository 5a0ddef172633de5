// Two nodes that share a carrier, in this process: the standby's behaviour, receipts that arrive at the other node, the
// contract between them, a node whose bind does not come up, and a carrier that is down at its holder.
import { afterEach, expect, test } from 'vitest';
import type { LeaseHandlers } from '../../actors/lease/contract.ts';
import { type LeaseKeeper, openLeases } from '../../actors/lease/lease-keeper.ts';
import { bindKey } from '../../actors/lease/lease-records.ts';
import { carrierHealth } from '../../cluster/bus/carrier-heartbeat.ts';
import { connectBus } from '../../cluster/bus/connect.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import { viewCarriers } from '../../cluster/operator-commands/carriers.ts';
import { answerForCarriers } from '../../cluster/operator-commands/reports.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { passLateGates } from '../../policy/late/late-gates.ts';
import { neverResend } from '../../actors/carrier/outcome/resend.ts';
import { startProxy } from '../support/bus.ts';
import { type CarrierHarness, type RunningActor, carrierWith, openCarrierHarness } from '../support/carrier-harness.ts';
import { eventsOf } from '../support/invariant.ts';
import { freePort } from '../../cluster/embedded/ports.ts';

type Node = RunningActor & { readonly leases: LeaseKeeper; leave(): Promise<void> };

let harness: CarrierHarness;
const nodes: Node[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.leave();
  await harness.stop();
});

const moves = { otpFailoverAfterMs: 1_000, othersFailoverAfterMs: 30_000 };

/** Its leases may be at another address of the same NATS than the rest. */
async function node(name: string, carrier: CarrierConfig, rules = moves, leasesAt = harness.nats.url): Promise<Node> {
  const bus = await connectBus(leasesAt, name);
  const leases = await openLeases(bus, { node: name, thread: 'actors-1', place: name, process: name });
  const more = { leases };
  const running = await harness.actor(carrier, systemClock, rules, passLateGates, neverResend, more);
  let left = false;
  const one: Node = {
    ...running,
    leases,
    async leave() {
      if (left) return;
      left = true;
      await running.drain(1_000);
      await leases.close();
      await bus.close();
    },
  };
  nodes.push(one);
  return one;
}

const bound = (...wanted: number[]) =>
  until(
    `${wanted.join(' and ')} binds`,
    () => nodes.map(({ actor }) => actor.status.bindsBound).join() === wanted.join(),
  );

test('receipts that arrive at the other node find their messages, and its own memory is that of both', async () => {
  harness = await openCarrierHarness({ latency: 'fixed:300' });
  harness.simulator.setFault('receipt-other-bind');
  const carrier = carrierWith(harness.simulator);
  await node('n1', carrier);
  await node('n2', carrier);
  await bound(1, 1);
  // Each intent contains its node's epoch; a share counts a second after its bind was won.
  const epochs = async () =>
    new Set((await eventsOf(harness.bus)).filter(({ kind }) => kind === 'intent').map(({ epoch }) => epoch));
  const both = nodes.map(({ leases }) => leases.epoch());
  const done: Promise<unknown>[] = [];
  await until('both have sent', async () => {
    const sent = await harness.send(50);
    done.push(
      harness.settled(sent).then((settled) => {
        expect(settled).toMatchObject({ twice: [], never: [], statuses: { delivered: 50 } });
      }),
    );
    return (await epochs()).size === 2;
  });
  await Promise.all(done);
  expect(await epochs()).toEqual(new Set(both));
});

test('a standby accepts nothing and never publishes that the carrier is down; when the holder leaves it sends at once', async () => {
  harness = await openCarrierHarness();
  const carrier = carrierWith(harness.simulator, { bind: { count: 1 } });
  const first = await node('n1', carrier);
  await bound(1);
  const published = new Map<string, Set<string>>();
  harness.bus.connection.subscribe('health.carrier.alpha', {
    callback(_error, message) {
      const heartbeat = carrierHealth.read(message.data);
      if (heartbeat === null) return;
      published.set(heartbeat.node, (published.get(heartbeat.node) ?? new Set()).add(heartbeat.state));
    },
  });
  const standby = await node('n2', carrier);
  await until('it knows whose the bind is', () => standby.actor.status.elsewhere === 1);
  expect(standby.actor.status).toMatchObject({ bindsWanted: 0, bindsBound: 0, state: 'good' });
  const sent = await harness.send(100);
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 100 } });
  await until('the holder has published its state', () => published.size > 0);
  expect([...published.values()].map((states) => [...states])).toEqual([['good']]);
  await first.leave();
  nodes.splice(nodes.indexOf(first), 1);
  const more = await harness.send(100, { category: 'otp' });
  expect(await harness.settled(more)).toMatchObject({ twice: [], never: [], statuses: { delivered: 100 } });
  expect(standby.actor.status).toMatchObject({ bindsWanted: 1, bindsBound: 1, elsewhere: 0 });
});

test('two nodes together keep the contract, also while a bind moves from one to the other', async () => {
  const tps = 120;
  harness = await openCarrierHarness({ accounts: [{ systemId: 'heliograph', password: 'sandbox', tps }] });
  const carrier = carrierWith(harness.simulator, { tps, bind: { count: 3 } });
  await node('n1', carrier);
  await bound(3);
  const sent = await harness.send(900);
  await until('it is at work', () => harness.simulator.stats().submits.total > 100);
  const second = await node('n2', carrier);
  await until('both have binds', () => nodes.every(({ actor }) => actor.status.bindsBound > 0));
  await until('most of it', () => harness.simulator.stats().submits.total > 500);
  await second.leave();
  nodes.splice(nodes.indexOf(second), 1);
  const settled = await harness.settled(sent);
  expect(settled).toMatchObject({ twice: [], never: [], statuses: { delivered: 900 } });
  expect(harness.simulator.stats().submits.throttled).toBe(0);
  expect(harness.simulator.stats().submits.peakPerS).toBeLessThanOrEqual(tps);
});

test('a node whose bind does not come up returns its work, and the other one does it', async () => {
  // The carrier accepts one session only: the second bind is refused, and retried when a ghost would be gone.
  harness = await openCarrierHarness({ bindsMax: 1 });
  const carrier = carrierWith(harness.simulator);
  await node('n1', carrier);
  await until('one of two is up', () => nodes[0]?.actor.status.bindsBound === 1);
  await node('n2', carrier);
  await until('a lease each', () => nodes.every(({ actor }) => actor.status.elsewhere === 1));
  // Before its share counts, when it accepts work and finds no bind, and when it has given that back.
  for (let wave = 0; wave < 6; wave += 1) {
    const sent = await harness.send(40, { category: 'otp' });
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 40 } });
  }
  expect(nodes.map(({ actor }) => actor.status.bindsBound).toSorted((one, other) => one - other)).toEqual([0, 1]);
});

test('a carrier with a contract of less than its binds: a node without a share accepts no work', async () => {
  harness = await openCarrierHarness();
  const carrier = carrierWith(harness.simulator, { tps: 1, bind: { count: 2 } });
  await node('n1', carrier);
  await node('n2', carrier);
  await bound(1, 1);
  const sent = await harness.send(3, { category: 'otp' });
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 3 } });
  expect(limits.leases.shareWaitMs).toBeGreaterThan(1_000);
});

const quickMoves = { otpFailoverAfterMs: 200, othersFailoverAfterMs: 400 };

/** A bind to a port without a listener: fewer binds than nodes, and none that comes up. */
const carrierThatIsDown = async () => carrierWith({ port: await freePort() }, { bind: { count: 1 } });

test('a standby does not make a carrier look good that is down at its holder', async () => {
  harness = await openCarrierHarness();
  const carrier = await carrierThatIsDown();
  const holder = await node('n1', carrier, quickMoves);
  await until('the carrier is down', () => holder.actor.status.state === 'down');
  const standby = await node('n2', carrier, quickMoves);
  await until('it knows whose the bind is', () => standby.actor.status.elsewhere === 1);
  expect(standby.actor.report).toMatchObject({ standby: true, state: 'good' });
  const [ofHolder, ofStandby] = nodes.map(({ actor, leases }) =>
    answerForCarriers(harness.bus, leases.node, () => [actor.report]),
  );
  expect(await viewCarriers(harness.bus, [carrier])).toMatchObject([{ state: 'down', why: 'no_bind', servedBy: 2 }]);
  ofHolder?.unsubscribe();
  expect(await viewCarriers(harness.bus, [carrier])).toMatchObject([
    { state: null, why: 'no node has its binds', servedBy: 1 },
  ]);
  ofStandby?.unsubscribe();
});

test('a node that loses the bind of a carrier that is down publishes nothing of it any more, and has no rate', async () => {
  harness = await openCarrierHarness();
  const carrier = await carrierThatIsDown();
  const proxy = await startProxy(harness.nats.url);
  const only = await node('n1', carrier, quickMoves, proxy.url);
  const published = async () => {
    const [health, rate] = await Promise.all([metrics.carrierHealth.get(), metrics.carrierRate.get()]);
    return [health, rate].map(({ values }) => values.find(({ labels }) => labels.carrier === 'alpha')?.value ?? -1);
  };
  await until('it is down, and has the contract', async () => (await published()).join() === '2,1980');
  // Another node, represented by its leases only: this one's heartbeat is the only one.
  const bus = await connectBus(harness.nats.url, 'n2');
  const other = await openLeases(bus, { node: 'n2', thread: 'actors-1', place: 'n2', process: 'n2' });
  const mine = new Set<string>();
  const [bind] = carrier.binds;
  const identity = [bind?.host, bind?.port, bind?.systemId, bind?.systemType, bind?.type, ''] as (string | number)[];
  const key = bindKey('alpha', identity, 1);
  const on: LeaseHandlers = {
    onGranted: (granted) => mine.add(granted),
    onHandOver: async () => {},
    onFenced: () => {},
    onUnfenced: () => {},
    onLost: () => {},
  };
  other.serve('alpha', [{ key, name: 'alpha/1', submits: true, local: false }], on).ready();
  proxy.silence();
  await until('the other has the bind', () => mine.has(key));
  proxy.heal();
  await until('it is on standby', () => only.actor.report.standby);
  await until('it publishes neither trouble nor a rate', async () => (await published()).join() === '0,0');
  expect(only.actor.status).toMatchObject({ state: 'good', why: '' });
  await other.close();
  await bus.close();
  // The bind is its own again, and it evaluates again.
  await until('it is down again', async () => (await published()).join() === '2,1980');
  await proxy.close();
});
