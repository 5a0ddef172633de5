// How soon the entry points learn that an account floods a lane: until then they put its messages into its account shard,
// before those of the others.
import { afterEach, expect, test } from 'vitest';
import { OverflowShards } from '../../../../actors/carrier/intake/overflow-shards.ts';
import type { Bus } from '../../../../cluster/bus/connect.ts';
import { watchOverflow } from '../../../../cluster/bus/overflow-heartbeat.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import { streamNames } from '../../../../cluster/bus/streams.ts';
import { overflowSubject } from '../../../../cluster/bus/subjects.ts';
import { type Clock, systemClock } from '../../../../platform/clock.ts';
import { accountQueueMaxDefault } from '../../../../platform/limits-lanes.ts';
import { type TestBus, startBus } from '../../../support/bus.ts';
import { newAccountInShard } from '../../../support/account-in-shard.ts';
import { until } from '../../../support/until.ts';

let bus: TestBus;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of cleanups.splice(0).reverse()) await each();
  await bus.stop();
});

/** Makes an account flood the OTP lane after `before`, and waits until the entry points know it. */
async function floodIsPublished(ofShards: Bus, before: (shards: OverflowShards) => unknown): Promise<void> {
  const account = newAccountInShard(1);
  const subject = overflowSubject('otp', 'alpha', account);
  const publisher = new Publisher(bus.bus);
  cleanups.push(() => publisher.close());
  const queues = watchOverflow(bus.bus);
  cleanups.push(() => queues.stop());
  // Nothing is counted at intervals, and what is counted soon is counted at once, before the consumer can be open.
  const clock: Clock = { ...systemClock, every: () => () => {}, after: (_, run) => systemClock.after(0, run) };
  const shards = new OverflowShards({
    bus: ofShards,
    carrier: 'alpha',
    node: 'one',
    windowPdus: 10,
    accountQueueMax: accountQueueMaxDefault,
    clock,
    take: () => {},
    onPoison: () => {},
  });
  await shards.start();
  cleanups.push(() => shards.stop());
  await before(shards);
  const count = 300;
  const stored = Array.from({ length: count }, (_, n) => publisher.publishOne(subject, Buffer.from('x'), `${n}`));
  expect((await Promise.all(stored)).every(({ ok }) => ok)).toBe(true);
  for (let n = 0; n < count; n += 1) shards.see('otp', account);
  await until('the entry points know', () => {
    const place = queues.placeOf('otp', 'alpha', account);
    return 'subject' in place && place.subject === subject;
  });
}

test('a flood is published as soon as the consumer of its overflow shard is open', async () => {
  bus = await startBus();
  await floodIsPublished(bus.bus, () => {});
});

test('a flood of OTP is published while the stream of another lane does not answer', async () => {
  bus = await startBus();
  const { manager } = bus.bus;
  let asked = 0;
  const consumers = Object.create(manager.consumers, {
    info: {
      value: (stream: string, name: string) => {
        if (stream !== streamNames.messages.promo) return manager.consumers.info(stream, name);
        asked += 1;
        // The first one belongs to the opening of the consumer.
        return asked === 1 ? manager.consumers.info(stream, name) : new Promise(() => {});
      },
    },
  }) as typeof manager.consumers;
  const silent = { ...bus.bus, manager: Object.create(manager, { consumers: { value: consumers } }) as typeof manager };
  await floodIsPublished(silent, (shards) => {
    shards.see('promo', newAccountInShard(2));
    return until('its count has begun', () => asked > 1);
  });
});
