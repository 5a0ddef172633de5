// How soon the entry points learn that an account floods a lane: until then they put its messages into its account shard,
// before those of the others.
import { afterEach, expect, test } from 'vitest';
import { OverflowShards } from '../../../../actors/carrier/intake/overflow-shards.ts';
import { watchOverflow } from '../../../../cluster/bus/overflow-heartbeat.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
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

test('a flood is published as soon as the consumer of its overflow shard is open', async () => {
  bus = await startBus();
  const account = newAccountInShard(1);
  const subject = overflowSubject('otp', 'alpha', account);
  const publisher = new Publisher(bus.bus);
  cleanups.push(() => publisher.close());
  const queues = watchOverflow(bus.bus);
  cleanups.push(() => queues.stop());
  // Nothing is counted at intervals, and what is counted soon is counted at once, before the consumer can be open.
  const clock: Clock = { ...systemClock, every: () => () => {}, after: (_, run) => systemClock.after(0, run) };
  const shards = new OverflowShards({
    bus: bus.bus,
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
  const count = 300;
  const stored = Array.from({ length: count }, (_, n) => publisher.publishOne(subject, Buffer.from('x'), `${n}`));
  expect((await Promise.all(stored)).every(({ ok }) => ok)).toBe(true);
  for (let n = 0; n < count; n += 1) shards.see('otp', account);
  await until('the entry points know', () => {
    const place = queues.placeOf('otp', 'alpha', account);
    return 'subject' in place && place.subject === subject;
  });
});
