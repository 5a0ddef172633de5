// Faults injected for real while messages flow: kill -9 of the actors process and of nats-server, a peer that
// unbinds, a handler slower than its hold. Counted at the simulator and in EVENTS: nothing lost, nothing twice.
// OTPs where a redelivery is waited for: their hold is the shortest.
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../../platform/deadline.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../support/carrier-house.ts';
import { account, eventsOf, silentlyLost, statesOf } from '../../support/invariant.ts';

let house: CarrierHouse;
afterEach(() => house.stop());

const submits = () => house.simulator.stats().submits.total;

test('kill -9 after the submit and before its answer: unknown, counted, not sent again', async () => {
  house = await openCarrierHouse({ response: 'fixed:1500' });
  house.simulator.setFault('no-receipt');
  const carrier = carrierWith(house.simulator, { bind: { window: 10, count: 1 } });
  const first = await house.host([carrier]);
  const sent = await house.send(30, { category: 'otp' });
  await until('a window is out', () => submits() === 10);
  await first.kill9();
  await house.host([carrier]);
  const sums = () => account(house.bus, house.simulator, sent);
  await until('all submitted or unknown', async () => {
    const { statuses } = await sums();
    return (statuses['unknown'] ?? 0) + (statuses['submitted'] ?? 0) === 30;
  });
  expect(await sums()).toMatchObject({ twice: [], never: [], statuses: { unknown: 10, submitted: 20 } });
});

test('kill -9 three times under load: every message ends once, and only what was in the air is unknown', async () => {
  house = await openCarrierHouse({ response: 'fixed:5', latency: 'fixed:40' });
  const carrier = carrierWith(house.simulator, { tps: 800 });
  const sent = await house.send(2_400, { category: 'otp' });
  for (const after of [400, 1_000, 1_600]) {
    const running = await house.host([carrier]);
    await until(`${after} submitted`, () => submits() >= after, { everyMs: 5 });
    await running.kill9();
  }
  await house.host([carrier]);
  const settled = await house.settled(sent, 60_000);
  expect(settled.twice).toEqual([]);
  // What never arrived must be known as such: its intent was durable, its PDU was not written.
  expect(await silentlyLost(house.bus, sent, settled)).toEqual([]);
  expect((settled.statuses['delivered'] ?? 0) + (settled.statuses['unknown'] ?? 0)).toBe(sent.length);
  expect(settled.statuses['unknown'] ?? 0).toBeLessThanOrEqual(3 * 2 * 50);
}, 120_000);

test('kill -9 and nobody for longer than the replay window: what was in the air is still not sent again', async () => {
  house = await openCarrierHouse({ response: 'fixed:3000' });
  house.simulator.setFault('no-receipt');
  const carrier = carrierWith(house.simulator, { bind: { window: 20, count: 1 } });
  const first = await house.host([carrier]);
  const sent = await house.send(20, { category: 'otp' });
  await until('a window is out', () => submits() === 20);
  await first.kill9();
  house.simulator.setFault(null);
  const tenMinutes = 600_000;
  await house.actor(carrier, { ...systemClock, nowMs: () => systemClock.nowMs() + tenMinutes });
  expect(await house.settled(sent, 20_000)).toMatchObject({ twice: [], statuses: { unknown: 20 } });
});

test('kill -9 of nats-server under load, twice: nothing lost, nothing twice', async () => {
  house = await openCarrierHouse({ response: 'fixed:5' });
  await house.actor(carrierWith(house.simulator, { tps: 700 }));
  const sending = (async () => {
    const sent = [];
    for (let batch = 0; batch < 20; batch += 1) sent.push(...(await house.send(100)));
    return sent;
  })();
  for (const after of [300, 1_000]) {
    await until(`${after} submitted`, () => submits() >= after, { everyMs: 5 });
    await house.nats.kill9();
    await house.nats.restart();
  }
  const sent = await sending;
  expect(await house.settled(sent, 40_000)).toMatchObject({ twice: [], never: [], statuses: { delivered: 2_000 } });
  // Intents that waited for the server came back all at once; their PDUs did not go out so.
  expect(house.simulator.stats().submits.peakPerS).toBeLessThanOrEqual(700);
}, 60_000);

test('an answer that takes longer than ack_wait is waited for, and nothing is sent twice', async () => {
  house = await openCarrierHouse({ response: 'fixed:4500' });
  await house.actor(carrierWith(house.simulator, { responseTimerMs: 8_000 }));
  const sent = await house.send(10, { category: 'otp' });
  expect(await house.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 10 } });
});

test('a peer that unbinds in the middle of a window: what was out is unknown, the rest goes when it is bound again', async () => {
  house = await openCarrierHouse({ response: 'fixed:400' });
  house.simulator.setFault('no-receipt');
  await house.actor(carrierWith(house.simulator, { bind: { window: 10, count: 1 } }));
  const sent = await house.send(40);
  await until('a window is out', () => submits() >= 10);
  house.simulator.setFault('unbind', { now: true });
  await until('it is bound again', () => house.simulator.stats().binds.total === 2);
  house.simulator.setFault(null);
  const more = await house.send(10);
  expect(await house.settled(more)).toMatchObject({ twice: [], never: [], statuses: { delivered: 10 } });
  await until('all submitted', async () => {
    const states = await statesOf(house.bus);
    return sent.every(({ messageId }) =>
      ['submitted', 'unknown', 'delivered'].includes(states.get(messageId)?.status ?? ''),
    );
  });
  const unknown = (await eventsOf(house.bus)).filter((each) => each.kind === 'unknown');
  expect(unknown.length).toBeGreaterThan(0);
  expect(unknown.length).toBeLessThanOrEqual(20);
  for (const { nonce } of sent) expect(house.simulator.nonceCount(nonce)).toBeLessThanOrEqual(1);
});

test('a drain under load loses nothing, makes nothing unknown and sends nothing twice', async () => {
  house = await openCarrierHouse({ response: 'fixed:30' });
  const carrier = carrierWith(house.simulator, { tps: 500 });
  const sent = await house.send(1_200, { category: 'otp' });
  for (const after of [200, 500, 800]) {
    const running = await house.host([carrier]);
    await until(`${after} submitted`, () => submits() >= after, { everyMs: 5 });
    expect(await running.drain(5_000)).toBe(0);
  }
  await house.host([carrier]);
  expect(await house.settled(sent, 25_000)).toMatchObject({ twice: [], never: [], statuses: { delivered: 1_200 } });
}, 60_000);

test('an event loop that stalls for two seconds sends no burst over the contract afterwards', async () => {
  const tps = 100;
  house = await openCarrierHouse({
    response: 'fixed:5',
    accounts: [{ systemId: 'heliograph', password: 'sandbox', tps }],
  });
  const running = await house.host([carrierWith(house.simulator, { tps })]);
  const sent = await house.send(500, { category: 'otp' });
  await until('under way', () => submits() >= 60, { everyMs: 5 });
  running.stallThread(0, 2_000);
  let [seen, sinceMs] = [0, 0];
  await until('it stands still', () => {
    const nowMs = systemClock.monotonicMs();
    if (submits() !== seen) [seen, sinceMs] = [submits(), nowMs];
    return nowMs - sinceMs > 1_000;
  });
  expect(seen).toBeLessThan(500);
  expect(await house.settled(sent, 25_000)).toMatchObject({ twice: [], never: [], statuses: { delivered: 500 } });
  // A burst would be twice the contract; a machine busy with other tests may bring even sending a little out of step.
  expect(house.simulator.stats().submits.peakPerS).toBeLessThanOrEqual(tps * 1.05);
}, 40_000);

test('a drain in the middle of a long message: the next life sends only the parts the carrier has not taken', async () => {
  house = await openCarrierHouse({ response: 'fixed:10' });
  house.simulator.setFault('receipt-before-resp');
  const carrier = carrierWith(house.simulator, { tps: 1_000, bind: { window: 2, count: 1 } });
  const first = await house.actor(carrier);
  const text = (nonce: string) => `#${nonce}# ${'long '.repeat(280)}`;
  const sent = await house.send(3, { segments: 10, category: 'otp' }, text);
  await until('half a message is out', () => submits() >= 5, { everyMs: 1 });
  house.simulator.setFault('throttle');
  await until('the rest waits', () => house.simulator.stats().submits.throttled >= 2, { everyMs: 1 });
  await first.drain();
  house.simulator.setFault(null);
  await house.actor(carrier);
  const settled = await house.settled(sent, 20_000);
  expect(settled).toMatchObject({ twice: [], never: [], statuses: { delivered: 3 } });
  expect(house.simulator.stats().submits.accepted).toBe(30);
});

test('while EVENTS is full no PDU goes out without its intent; when there is room everything goes by itself, once', async () => {
  house = await openCarrierHouse();
  const { manager } = house.bus;
  const { config } = await manager.streams.info('EVENTS');
  await house.publisher.publishOne('ev.filler.0', Buffer.alloc(2_000), null);
  await manager.streams.update('EVENTS', { ...config, max_bytes: 2_100 });
  const { actor } = await house.actor(carrierWith(house.simulator));
  const sent = await house.send(100);
  await until('a window is chosen', () => actor.status.held >= 100);
  await until('it is refused and tried again', () => house.simulator.stats().binds.now === 2);
  expect(submits()).toBe(0);
  await manager.streams.update('EVENTS', config);
  await manager.streams.purge('EVENTS', { filter: 'ev.filler.0' });
  expect(await house.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 100 } });
});
