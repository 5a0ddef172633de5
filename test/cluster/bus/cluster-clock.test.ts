// The time that machines on one nats-server agree on: a real server, and machines whose wall clocks the test sets.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type ClusterClock, clusterClock } from '../../../cluster/bus/cluster-clock.ts';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { limits } from '../../../platform/limits.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

let test_: TestBus;
const ends: (() => Promise<void> | void)[] = [];
beforeAll(async () => {
  test_ = await startBus();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(() => test_.stop());

const hour = 3_600_000;

/** A machine whose wall clock is ahead by what the test says at that moment. */
async function machine(node: string, aheadMs: () => number): Promise<ClusterClock> {
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs() };
  const bus = await connectBus(test_.nats.url, node);
  const made = await clusterClock(bus, { node, clock });
  ends.push(() => bus.close());
  ends.push(() => made.stop());
  return made;
}
/** How far its time is from the server's, which is this machine's. */
const errorMs = (clock: ClusterClock) => Math.abs(clock.nowMs() - systemClock.nowMs());

test('a machine with the right clock agrees at once', async () => {
  const right = await machine('right', () => 0);
  await until('it has compared', () => right.agrees);
  expect(errorMs(right)).toBeLessThan(1_000);
});

test('an answer that comes too late at the start is not the last one', async () => {
  const bus = await connectBus(test_.nats.url, 'late');
  ends.push(() => bus.close());
  // As if the first answer had taken longer than a comparison may.
  let lateMs = 0;
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + lateMs };
  const publish: typeof bus.jetstream.publish = async (...record) => {
    const ack = await bus.jetstream.publish(...record);
    lateMs = limits.clusterClock.roundTripMsMax + 1;
    return ack;
  };
  const jetstream = new Proxy(bus.jetstream, {
    get: (target, name) => (name === 'publish' ? publish : Reflect.get(target, name)),
  });
  const made = await clusterClock({ ...bus, jetstream }, { node: 'late', clock });
  ends.push(() => made.stop());
  expect(made.agrees).toBe(true);
});

test.each([hour, -hour])(
  'a machine %d ms off takes no work, reckons with the right time, and agrees when it is set right',
  async (off) => {
    let aheadMs = off;
    const wrong = await machine('wrong', () => aheadMs);
    expect(wrong.agrees).toBe(false);
    await until('it has compared', () => errorMs(wrong) < 1_000);
    expect(wrong.agrees).toBe(false);
    aheadMs = 0;
    await until('it agrees', () => wrong.agrees);
    expect(errorMs(wrong)).toBeLessThan(1_000);
  },
);

test('a wall clock that steps while it runs changes nothing, and the machine reports it', async () => {
  let aheadMs = 0;
  const stepped = await machine('stepped', () => aheadMs);
  await until('it has compared', () => stepped.agrees);
  aheadMs = hour;
  expect(errorMs(stepped)).toBeLessThan(1_000);
  await until('it does not agree', () => !stepped.agrees);
  expect(errorMs(stepped)).toBeLessThan(1_000);
});

test('the server is the wrong one: machines that agree with each other keep their own time', async () => {
  const behind = () => -hour;
  const [one, two] = [await machine('one', behind), await machine('two', behind)];
  await until('both agree', () => one.agrees && two.agrees);
  const ownError = (clock: ClusterClock) => Math.abs(clock.nowMs() - (systemClock.nowMs() - hour));
  await until('they reckon with it', () => ownError(one) < 1_000 && ownError(two) < 1_000);
  // Two against two: the server's side counts.
  const third = await machine('third', () => 0);
  await until('in a draw the server counts', () => third.agrees && !one.agrees && !two.agrees);
});
