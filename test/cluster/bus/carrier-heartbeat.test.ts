// Heartbeats of carriers: the state from one node and from several, what silence means, what is no heartbeat; and on a
// real server that a change is known everywhere at once.
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { CarrierHeartbeats, carrierHealth, watchCarriers } from '../../../cluster/bus/carrier-heartbeat.ts';
import { connectBus } from '../../../cluster/bus/connect.ts';
import type { CarrierState } from '../../../model/carrier-state.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const { staleMs, silentDownMs, carriersMax, nodesMax } = limits.heartbeats;
const heartbeat = (carrier: string, state: CarrierState, node = 'a') => ({ carrier, node, state, why: 'no_bind' });

describe('received heartbeats', () => {
  test('a carrier without a heartbeat is good', () => {
    expect(new CarrierHeartbeats(new ManualClock()).stateOf('alpha')).toBe('good');
  });
  test('the last state of a node counts, and of several nodes the best', () => {
    const received = new CarrierHeartbeats(new ManualClock());
    received.take(heartbeat('alpha', 'good'));
    received.take(heartbeat('alpha', 'down'));
    expect([received.stateOf('alpha'), received.reasonOf('alpha')]).toEqual(['down', 'no_bind']);
    received.take(heartbeat('alpha', 'weak', 'b'));
    expect(received.stateOf('alpha')).toBe('weak');
    received.take(heartbeat('alpha', 'good', 'c'));
    expect(received.stateOf('alpha')).toBe('good');
  });
  test('a silent node is left out, and its last state forgotten', () => {
    const clock = new ManualClock();
    const received = new CarrierHeartbeats(clock);
    received.take(heartbeat('alpha', 'good', 'gone'));
    clock.advance(staleMs - 1);
    received.take(heartbeat('alpha', 'down', 'stays'));
    expect(received.stateOf('alpha')).toBe('good');
    clock.advance(2);
    expect(received.stateOf('alpha')).toBe('down');
  });
  test('a silent carrier is weak, then down, while others send heartbeats', () => {
    const clock = new ManualClock();
    const received = new CarrierHeartbeats(clock);
    const passed = (ms: number) => {
      clock.advance(ms);
      received.take(heartbeat('beta', 'good'));
      return received.stateOf('alpha');
    };
    received.take(heartbeat('alpha', 'good'));
    expect([passed(staleMs), passed(1), passed(silentDownMs - staleMs - 1), passed(1)]).toEqual([
      'good',
      'weak',
      'weak',
      'down',
    ]);
  });
  test('silence of all is our own fault: no carrier is avoided', () => {
    const clock = new ManualClock();
    const received = new CarrierHeartbeats(clock);
    received.take(heartbeat('alpha', 'down'));
    received.take(heartbeat('beta', 'good'));
    clock.advance(staleMs + 1);
    expect([received.stateOf('alpha'), received.stateOf('beta')]).toEqual(['good', 'good']);
  });
  test('it holds a bounded number of carriers and nodes', () => {
    const received = new CarrierHeartbeats(new ManualClock());
    for (let at = 0; at <= carriersMax; at += 1) received.take(heartbeat(`c${at}`, 'down'));
    expect(received.stateOf(`c${carriersMax - 1}`)).toBe('down');
    expect(received.stateOf(`c${carriersMax}`)).toBe('good');
    received.take(heartbeat('c0', 'good', 'first'));
    for (let at = 0; at < nodesMax; at += 1) received.take(heartbeat('c0', 'down', `n${at}`));
    expect(received.stateOf('c0')).toBe('down');
  });
});

test('any payload on the subject is a heartbeat or ignored', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 2_000 }),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (octets) => {
        const read = carrierHealth.read(octets);
        if (read !== null) expect(['good', 'weak', 'down']).toContain(read.state);
      },
    ),
  );
  const octets = (value: unknown) => Buffer.from(JSON.stringify(value));
  expect(carrierHealth.read(octets({ ...heartbeat('alpha', 'weak'), later: 1 }))).toEqual(heartbeat('alpha', 'weak'));
  expect(carrierHealth.read(octets({ ...heartbeat('alpha', 'weak'), state: 'sick' }))).toBeNull();
  expect(
    carrierHealth.read(octets({ ...heartbeat('alpha', 'weak'), why: 'x'.repeat(limits.heartbeats.bytesMax) })),
  ).toBeNull();
});

describe('over a real server', () => {
  let harness: TestBus;
  afterEach(() => harness.stop());
  test('what one connection publishes another knows at once', async () => {
    harness = await startBus();
    const other = await connectBus(harness.nats.url, 'other');
    const watch = watchCarriers(other);
    await other.connection.flush();
    for (const state of ['down', 'weak', 'good'] as const) {
      carrierHealth.publish(harness.bus, heartbeat('alpha', state));
      await until(state, () => watch.stateOf('alpha') === state, { everyMs: 1 });
    }
    watch.stop();
    await other.close();
  });
});
