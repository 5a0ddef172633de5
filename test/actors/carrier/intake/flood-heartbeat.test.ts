// How soon the entry points learn that an account floods a lane: until then they put its messages into its account shard,
// before those of the others.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { within } from '../../../support/running-clock.ts';
import { OverflowShards } from '../../../../actors/carrier/intake/overflow-shards.ts';
import { reservedInLane } from '../../../../actors/carrier/queue/lanes.ts';
import type { Bus } from '../../../../cluster/bus/connect.ts';
import { type AccountQueues, watchOverflow } from '../../../../cluster/bus/overflow-heartbeat.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import { streamNames } from '../../../../cluster/bus/streams.ts';
import { overflowShardOf, overflowSubject } from '../../../../cluster/bus/subjects.ts';
import type { AccountId } from '../../../../model/ids.ts';
import type { Lane } from '../../../../model/message.ts';
import { type Clock, systemClock } from '../../../../platform/clock.ts';
import { accountQueueMaxDefault } from '../../../../platform/limits-lanes.ts';
import { limits } from '../../../../platform/limits.ts';
import { metrics } from '../../../../platform/telemetry.ts';
import { type TestBus, startBus } from '../../../support/bus.ts';
import { newAccountInShard } from '../../../support/account-in-shard.ts';
import { until } from '../../../support/until.ts';

let bus: TestBus;
let queues: AccountQueues;
const cleanups: (() => unknown)[] = [];
beforeEach(async () => {
  bus = await startBus();
  queues = watchOverflow(bus.bus);
});
afterEach(async () => {
  for (const each of cleanups.splice(0).reverse()) await each();
  queues.stop();
  await bus.stop();
});

const windowPdus = 10;
const threshold = reservedInLane(windowPdus, 1);

async function startShards(ofShards: Bus, every: Clock['every']): Promise<OverflowShards> {
  const shards = new OverflowShards({
    bus: ofShards,
    carrier: 'alpha',
    node: 'one',
    windowPdus,
    accountQueueMax: accountQueueMaxDefault,
    clock: { ...systemClock, every },
    take: () => {},
    onPoison: () => {},
  });
  await shards.start();
  cleanups.push(() => shards.stop());
  return shards;
}

/** Whether the entry points put the OTP of the account into its overflow shard. */
function isKnown(account: AccountId): boolean {
  const place = queues.placeOf('otp', 'alpha', account);
  return 'subject' in place && place.subject === overflowSubject('otp', 'alpha', account);
}

/** The bus of a client that gets `answers` answers about these consumers, and none after them. */
function silentAbout(
  isSilent: (stream: string, consumer: string) => boolean,
  answers: number,
): { readonly bus: Bus; asked(): number } {
  const { manager } = bus.bus;
  let asked = 0;
  const consumers = Object.create(manager.consumers, {
    info: {
      value: (stream: string, name: string) => {
        if (!isSilent(stream, name)) return manager.consumers.info(stream, name);
        asked += 1;
        return asked <= answers ? manager.consumers.info(stream, name) : new Promise(() => {});
      },
    },
  }) as typeof manager.consumers;
  const silent = Object.create(manager, { consumers: { value: consumers } }) as typeof manager;
  return { bus: { ...bus.bus, manager: silent }, asked: () => asked };
}

const ofLane = (lane: Lane) => (stream: string) => stream === streamNames.messages[lane];

test('a flood is published when it reaches its threshold: its shard needs no consumer yet, and is not counted', async () => {
  const shards = await startShards(silentAbout(ofLane('otp'), 0).bus, () => () => {});
  const [below, at] = [newAccountInShard(1), newAccountInShard(1)];
  for (let n = 0; n < threshold - 1; n += 1) shards.enters('otp', below);
  for (let n = 0; n < threshold; n += 1) shards.enters('otp', at);
  await until('the entry points know the flood', () => isKnown(at));
  expect(isKnown(below)).toBe(false);
  shards.enters('otp', below);
  await until('they know the second one', () => isKnown(below));
});

test('what an earlier incarnation moved is counted and published while the stream of another lane does not answer', async () => {
  const account = newAccountInShard(1);
  const publisher = new Publisher(bus.bus);
  cleanups.push(() => publisher.close());
  const stored = Array.from({ length: 300 }, (_, n) =>
    publisher.publishOne(overflowSubject('otp', 'alpha', account), Buffer.from('x'), `${n}`),
  );
  expect((await Promise.all(stored)).every(({ ok }) => ok)).toBe(true);
  // It looks for what was left, and opens one consumer.
  const answers = limits.bus.accountShards + 1;
  const silent = silentAbout(ofLane('promo'), answers);
  const shards = await startShards(silent.bus, (ms, run) => systemClock.every(Math.min(ms, 20), run));
  shards.enters('promo', newAccountInShard(2));
  await until('the count of the other lane has begun', () => silent.asked() > answers);
  for (let n = 0; n < threshold; n += 1) shards.leaves('otp', account);
  await until('the entry points know', () => isKnown(account));
});

test('a shard that cannot be counted delays no other one of its lane', async () => {
  const first = newAccountInShard(1);
  let second = newAccountInShard(1);
  // Of accounts of one account shard every eighth pair has one overflow shard.
  while (overflowShardOf(second) === overflowShardOf(first)) second = newAccountInShard(1);
  // The one answer belongs to the opening of the consumer.
  const silent = silentAbout((_stream, consumer) => consumer.endsWith(`_${overflowShardOf(first)}`), 1);
  const shards = await startShards(silent.bus, (ms, run) => systemClock.every(Math.min(ms, 20), run));
  shards.enters('otp', first);
  await until('the count of the first one has begun', () => silent.asked() > 1);
  shards.enters('otp', second);
  const counted = async () =>
    (await metrics.overflowWaiting.get()).values.map(({ labels }) => labels['shard']).includes(overflowShardOf(second));
  await until('the second one is counted', counted, within(limits.overflow.lookTimeoutMs - 100));
});

test('an overflow shard that is no longer served is not in the metrics', async () => {
  const shards = await startShards(bus.bus, (ms, run) => systemClock.every(Math.min(ms, 20), run));
  const waiting = async () =>
    (await metrics.overflowWaiting.get()).values.filter(({ labels }) => labels['carrier'] === 'alpha').length;
  shards.enters('otp', newAccountInShard(3));
  await until('it is counted', async () => (await waiting()) === 1);
  await shards.stop();
  expect(await waiting()).toBe(0);
});
