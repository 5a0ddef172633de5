// Lease owners against a real nats-server: only the first to claim has it, one without a connection fences itself
// before it is declared dead, a released lease is free at once, and a duplicate node name takes nothing.
import { afterEach, expect, test } from 'vitest';
import type { LeaseHandlers, LeasedBind } from '../../../actors/lease/contract.ts';
import type { LeaseIdentity } from '../../../actors/lease/lease-holder.ts';
import { type LeaseKeeper, openLeases } from '../../../actors/lease/lease-keeper.ts';
import { bindKey } from '../../../actors/lease/lease-records.ts';
import { LeaseBucket } from '../../../actors/lease/lease-bucket.ts';
import { type Bus, connectBus } from '../../../cluster/bus/connect.ts';
import { systemClock } from '../../../platform/clock.ts';
import { within } from '../../support/running-clock.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { type Proxy, type TestBus, startBus, startProxy } from '../../support/bus.ts';

let bus: TestBus;
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  await bus.stop();
});

type TestNode = {
  readonly keeper: LeaseKeeper;
  readonly mine: Set<string>;
  readonly story: string[];
  readonly connection: Bus;
  leave(): Promise<void>;
};

const binds = (count: number): LeasedBind[] =>
  Array.from({ length: count }, (_, at) => ({
    key: bindKey('alpha', ['smsc.example', 2775, 'heliograph'], at + 1),
    name: `alpha/${at + 1}`,
    submits: true,
    local: false,
  }));

let processes = 0;

async function node(
  name: string,
  many: number,
  { url = bus.nats.url, ...identity }: Partial<LeaseIdentity> & { url?: string } = {},
): Promise<TestNode> {
  processes += 1;
  const connection = await connectBus(url, name);
  const who = { node: name, thread: 'actors-1', place: name, process: `p${processes}`, ...identity };
  const keeper = await openLeases(connection, who);
  const mine = new Set<string>();
  const story: string[] = [];
  const handlers: LeaseHandlers = {
    onGranted: (key) => mine.add(key),
    async onHandOver(key) {
      mine.delete(key);
      story.push('handed over');
    },
    onFenced: () => story.push('fenced'),
    onUnfenced: () => story.push('unfenced'),
    onLost(keys) {
      for (const key of keys) mine.delete(key);
      story.push(`lost ${keys.length}`);
    },
  };
  keeper.serve('alpha', binds(many), handlers).ready();
  let left = false;
  const leave = async () => {
    if (left) return;
    left = true;
    await keeper.close();
    await connection.close();
  };
  stops.push(leave);
  return { keeper, mine, story, connection, leave };
}

/** As kill -9 leaves it: no more heartbeats. */
async function vanish(gone: TestNode): Promise<void> {
  await gone.connection.close();
}

test('alone: all binds at once; a second node gets half of them, and all again when the first leaves in good order', async () => {
  bus = await startBus();
  const first = await node('n1', 4);
  await until('all four', () => first.mine.size === 4);
  const second = await node('n2', 4);
  await until('two each', () => first.mine.size === 2 && second.mine.size === 2);
  expect(new Set([...first.mine, ...second.mine]).size).toBe(4);
  expect(first.story.filter((each) => each === 'handed over')).toHaveLength(2);
  expect(first.story.filter((each) => each.startsWith('lost'))).toEqual([]);
  await first.leave();
  await until('all four again', () => second.mine.size === 4, within(limits.leases.fenceAfterMs));
});

test('three that start at once: one lease, one owner, whichever is first', async () => {
  bus = await startBus();
  const nodes = await Promise.all(['n1', 'n2', 'n3'].map((name) => node(name, 1)));
  for (let looks = 0; looks < 30; looks += 1) {
    expect(nodes.filter(({ mine }) => mine.size > 0).length).toBeLessThanOrEqual(1);
    await systemClock.sleep(50);
  }
  await until('an owner', () => nodes.some(({ mine }) => mine.size === 1));
});

test('of many writes on the same revision one succeeds, in any order', async () => {
  bus = await startBus();
  const buckets = await Promise.all(
    Array.from({ length: 8 }, async (_, at) => {
      const connection = await connectBus(bus.nats.url, `racer-${at}`);
      stops.push(() => connection.close());
      return new LeaseBucket(connection);
    }),
  );
  let revision = 0;
  for (let round = 0; round < 20; round += 1) {
    const writes = await Promise.all(buckets.map((each) => each.put('bind.race', new Uint8Array([round]), revision)));
    const won = writes.filter((each) => typeof each === 'object');
    expect(won).toHaveLength(1);
    expect(writes.filter((each) => each === 'conflict')).toHaveLength(7);
    revision = won[0]!.revision;
  }
});

test('a node that vanishes is declared dead, and its binds are taken within ten seconds', async () => {
  bus = await startBus();
  const first = await node('n1', 2);
  const second = await node('n2', 2);
  await until('one each', () => first.mine.size === 1 && second.mine.size === 1);
  await vanish(first);
  await until('both', () => second.mine.size === 2);
  expect(second.keeper.isLiving(second.keeper.epoch())).toBe(true);
});

test('a node that is cut off fences itself before another one may begin, and returns as another incarnation', async () => {
  bus = await startBus();
  const proxy: Proxy = await startProxy(bus.nats.url);
  stops.push(() => proxy.close());
  const cut = await node('n1', 1, { url: proxy.url });
  await until('it has the bind', () => cut.mine.size === 1);
  const epoch = cut.keeper.epoch();
  const other = await node('n2', 1);
  await until('the other knows it', () => other.keeper.isLiving(epoch));
  proxy.silence();
  // The last time it was seen that it may write: a stalled loop writes nothing either, and sees the fence late.
  let mightWriteAtMs = systemClock.monotonicMs();
  const isFenced = () => {
    if (!cut.keeper.mayWrite()) return true;
    mightWriteAtMs = systemClock.monotonicMs();
    return false;
  };
  await until('the fence', isFenced, { ...within(6_000), everyMs: 5 });
  expect(other.mine.size).toBe(0);
  await until('the other has it', () => other.mine.size === 1, { ...within(10_000), everyMs: 5 });
  // Both were measured here, on one clock: the carrier's second is over.
  expect(systemClock.monotonicMs() - mightWriteAtMs).toBeGreaterThan(1_000);
  expect(cut.story).toContain('fenced');
  expect(other.keeper.isLiving(epoch)).toBe(false);
  proxy.heal();
  await until('it may write again, with another epoch', () => cut.keeper.mayWrite() && cut.keeper.epoch() !== epoch);
  expect(cut.mine.size).toBe(0);
  expect(cut.story).toContain('lost 1');
});

test('a disconnection that ends unnoticed costs nothing: the same incarnation continues', async () => {
  bus = await startBus();
  const proxy: Proxy = await startProxy(bus.nats.url);
  stops.push(() => proxy.close());
  const only = await node('n1', 2, { url: proxy.url });
  await until('it has both', () => only.mine.size === 2);
  const epoch = only.keeper.epoch();
  proxy.silence();
  await until('the fence', () => only.story.includes('fenced'), within(6_000));
  proxy.heal();
  await until('the fence is gone', () => only.story.includes('unfenced'));
  expect(only.keeper.epoch()).toBe(epoch);
  expect(only.mine.size).toBe(2);
  // Fenced again where the machine stalls for longer than two heartbeats.
  expect(new Set(only.story)).toEqual(new Set(['fenced', 'unfenced']));
});

test('a process that restarts takes the leases of its previous incarnation at once', async () => {
  bus = await startBus();
  const first = await node('n1', 3);
  await until('all three', () => first.mine.size === 3);
  await vanish(first);
  const again = await node('n1', 3);
  // It waits for the last second of its previous incarnation, and not until that one would be declared dead.
  await until('all three again', () => again.mine.size === 3, within(limits.leases.expireAfterMs - 500));
  expect(again.keeper.epoch()).toBeGreaterThan(first.keeper.epoch());
});

test('a second machine under the same name takes nothing while the first is alive', async () => {
  bus = await startBus();
  const first = await node('n1', 2);
  await until('both', () => first.mine.size === 2);
  const double = await node('n1', 2, { place: 'a copy of its folder' });
  const waitMs = limits.leases.expireAfterMs + 1_500;
  const untilMs = systemClock.monotonicMs() + waitMs;
  await until('long enough', () => systemClock.monotonicMs() > untilMs, { limitMs: waitMs + 5_000 });
  await until('the first one may write', () => first.keeper.mayWrite());
  expect(double.keeper.mayWrite()).toBe(false);
  expect(double.mine.size).toBe(0);
  expect(first.mine.size).toBe(2);
});

test('local binds stay where they are, however many nodes there are', async () => {
  bus = await startBus();
  const nodes = await Promise.all(['n1', 'n2', 'n3'].map((name) => node(name, 1)));
  const story: string[] = [];
  const held = nodes.map(({ keeper }, at) => {
    const mine = new Set<string>();
    const own = [1, 2, 3].map((nth) => ({
      key: bindKey('sandbox', ['127.0.0.1', 2775, `n${at}`], nth),
      name: `sandbox/${nth}`,
      submits: true,
      local: true,
    }));
    const handlers: LeaseHandlers = {
      onGranted: (key) => mine.add(key),
      onHandOver: async (key) => void story.push(`handed over ${key}`),
      onFenced: () => {},
      onUnfenced: () => {},
      onLost: (keys) => void story.push(`lost ${keys.length}`),
    };
    keeper.serve('sandbox', own, handlers).ready();
    return mine;
  });
  await until('three each', () => held.every((mine) => mine.size === 3), within(limits.leases.freeGraceMs));
  const untilMs = systemClock.monotonicMs() + limits.leases.freeGraceMs + 1_000;
  await until('longer than any grace', () => systemClock.monotonicMs() > untilMs);
  expect(story).toEqual([]);
});

test('the bucket is lost: it is created again, and its owner has its binds again', async () => {
  bus = await startBus();
  const only = await node('n1', 2);
  await until('both', () => only.mine.size === 2);
  await bus.bus.manager.streams.delete('KV_leases');
  await until('lost', () => only.story.some((each) => each.startsWith('lost')));
  await until('both again', () => only.mine.size === 2 && only.keeper.mayWrite());
});
