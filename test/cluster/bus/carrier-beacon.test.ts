// Beacons of carriers: what is heard from one node and from several, what silence means, what is no beacon; and on a
// real server that a change is known everywhere at once.
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { HeardBeacons, readBeacon, tellBeacon, watchCarriers } from '../../../cluster/bus/carrier-beacon.ts';
import { connectBus } from '../../../cluster/bus/connect.ts';
import type { CarrierState } from '../../../model/carrier-state.ts';
import { until } from '../../../platform/deadline.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const { staleMs, silentDownMs, carriersMax, nodesMax } = limits.beacons;
const beacon = (carrier: string, state: CarrierState, node = 'a') => ({ carrier, node, state, why: 'no_bind' });

describe('what is heard', () => {
  test('a carrier nobody told of is good', () => {
    expect(new HeardBeacons(new ManualClock()).stateOf('alpha')).toBe('good');
  });
  test('the last word of a node counts, and of several nodes the best', () => {
    const heard = new HeardBeacons(new ManualClock());
    heard.take(beacon('alpha', 'good'));
    heard.take(beacon('alpha', 'down'));
    expect([heard.stateOf('alpha'), heard.whyOf('alpha')]).toEqual(['down', 'no_bind']);
    heard.take(beacon('alpha', 'weak', 'b'));
    expect(heard.stateOf('alpha')).toBe('weak');
    heard.take(beacon('alpha', 'good', 'c'));
    expect(heard.stateOf('alpha')).toBe('good');
  });
  test('a node that is silent is left out, and what it said last forgotten', () => {
    const clock = new ManualClock();
    const heard = new HeardBeacons(clock);
    heard.take(beacon('alpha', 'good', 'gone'));
    clock.advance(staleMs - 1);
    heard.take(beacon('alpha', 'down', 'stays'));
    expect(heard.stateOf('alpha')).toBe('good');
    clock.advance(2);
    expect(heard.stateOf('alpha')).toBe('down');
  });
  test('a silent carrier is weak, then down, while others are heard', () => {
    const clock = new ManualClock();
    const heard = new HeardBeacons(clock);
    const passed = (ms: number) => {
      clock.advance(ms);
      heard.take(beacon('beta', 'good'));
      return heard.stateOf('alpha');
    };
    heard.take(beacon('alpha', 'good'));
    expect([passed(staleMs), passed(1), passed(silentDownMs - staleMs - 1), passed(1)]).toEqual([
      'good',
      'weak',
      'weak',
      'down',
    ]);
  });
  test('silence of all is our own trouble: nobody is avoided', () => {
    const clock = new ManualClock();
    const heard = new HeardBeacons(clock);
    heard.take(beacon('alpha', 'down'));
    heard.take(beacon('beta', 'good'));
    clock.advance(staleMs + 1);
    expect([heard.stateOf('alpha'), heard.stateOf('beta')]).toEqual(['good', 'good']);
  });
  test('it holds a bounded number of carriers and nodes', () => {
    const heard = new HeardBeacons(new ManualClock());
    for (let at = 0; at <= carriersMax; at += 1) heard.take(beacon(`c${at}`, 'down'));
    expect(heard.stateOf(`c${carriersMax - 1}`)).toBe('down');
    expect(heard.stateOf(`c${carriersMax}`)).toBe('good');
    heard.take(beacon('c0', 'good', 'first'));
    for (let at = 0; at < nodesMax; at += 1) heard.take(beacon('c0', 'down', `n${at}`));
    expect(heard.stateOf('c0')).toBe('down');
  });
});

test('whatever comes on the subject is a beacon or nothing', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 2_000 }),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (octets) => {
        const read = readBeacon(octets);
        if (read !== null) expect(['good', 'weak', 'down']).toContain(read.state);
      },
    ),
  );
  const octets = (value: unknown) => Buffer.from(JSON.stringify(value));
  expect(readBeacon(octets({ ...beacon('alpha', 'weak'), later: 1 }))).toEqual(beacon('alpha', 'weak'));
  expect(readBeacon(octets({ ...beacon('alpha', 'weak'), state: 'sick' }))).toBeNull();
  expect(readBeacon(octets({ ...beacon('alpha', 'weak'), why: 'x'.repeat(limits.beacons.bytesMax) }))).toBeNull();
});

describe('over a real server', () => {
  let house: TestBus;
  afterEach(() => house.stop());
  test('what one connection tells another knows at once', async () => {
    house = await startBus();
    const other = await connectBus(house.nats.url, 'other');
    const watch = watchCarriers(other);
    await other.connection.flush();
    for (const state of ['down', 'weak', 'good'] as const) {
      tellBeacon(house.bus, beacon('alpha', state));
      await until(state, () => watch.stateOf('alpha') === state, { everyMs: 1 });
    }
    watch.stop();
    await other.close();
  });
});
