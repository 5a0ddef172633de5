// Injected faults while messages flow: kill -9 of the actors process and of nats-server, a peer that unbinds, an answer
// slower than the ack deadline. Counted at the simulator and in EVENTS: nothing lost, nothing sent twice. OTPs where a
// redelivery is waited for: their ack_wait is the shortest.
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../support/carrier-harness.ts';
import { account, eventsOf, silentlyLost, statesOf } from '../../support/invariant.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const submits = () => harness.simulator.stats().submits.total;
/** No answer is late, and no session is lost, because the machine stalls for some seconds. */
const patientSessions = { responseTimerMs: 60_000, enquireLinkMs: 60_000 };

test('kill -9 after the submit and before its answer: unknown, counted, not sent again', async () => {
  harness = await openCarrierHarness();
  // A record that may be the second of its message is looked up, when the next process starts late.
  await harness.eventStore();
  harness.simulator.setFault('no-receipt');
  harness.simulator.setFault('no-resp');
  const carrier = carrierWith(harness.simulator, { ...patientSessions, bind: { window: 10, count: 1 } });
  const first = await harness.host([carrier]);
  const sent = await harness.send(30, { category: 'otp' });
  await until('a window is out', () => submits() === 10);
  await first.kill9();
  harness.simulator.setFault(null);
  harness.simulator.setFault('no-receipt');
  await harness.host([carrier]);
  const sums = () => account(harness.bus, harness.simulator, sent);
  await until('all submitted or unknown', async () => {
    const { statuses } = await sums();
    return (statuses['unknown'] ?? 0) + (statuses['submitted'] ?? 0) === 30;
  });
  expect(await sums()).toMatchObject({ twice: [], never: [], statuses: { unknown: 10, submitted: 20 } });
});

test('kill -9 three times under load: every message ends once, and only submits without an answer are unknown', async () => {
  harness = await openCarrierHarness({ response: 'fixed:5', latency: 'fixed:40' });
  // A record that may be the second of its message is looked up, when the next process starts late.
  await harness.eventStore();
  const carrier = carrierWith(harness.simulator, { tps: 800 });
  const sent = await harness.send(2_400, { category: 'otp' });
  for (const after of [400, 1_000, 1_600]) {
    const running = await harness.host([carrier]);
    await until(`${after} submitted`, () => submits() >= after, { everyMs: 5 });
    await running.kill9();
  }
  await harness.host([carrier]);
  const settled = await harness.settled(sent);
  expect(settled.twice).toEqual([]);
  // What never arrived must be known as such: its intent was durable, its PDU was not written.
  expect(await silentlyLost(harness.bus, sent, settled)).toEqual([]);
  expect((settled.statuses['delivered'] ?? 0) + (settled.statuses['unknown'] ?? 0)).toBe(sent.length);
  expect(settled.statuses['unknown'] ?? 0).toBeLessThanOrEqual(3 * 2 * 50);
});

test('kill -9 and a downtime longer than the replay window: submits without an answer are still not sent again', async () => {
  harness = await openCarrierHarness();
  harness.simulator.setFault('no-receipt');
  harness.simulator.setFault('no-resp');
  const carrier = carrierWith(harness.simulator, { ...patientSessions, bind: { window: 20, count: 1 } });
  const first = await harness.host([carrier]);
  const sent = await harness.send(20, { category: 'otp' });
  await until('a window is out', () => submits() === 20);
  await first.kill9();
  harness.simulator.setFault(null);
  const tenMinutes = 600_000;
  await harness.actor(carrier, { ...systemClock, nowMs: () => systemClock.nowMs() + tenMinutes });
  expect(await harness.settled(sent)).toMatchObject({ twice: [], statuses: { unknown: 20 } });
});

test('kill -9 of nats-server under load, twice: nothing lost, nothing sent twice', async () => {
  harness = await openCarrierHarness({ response: 'fixed:5' });
  await harness.actor(carrierWith(harness.simulator, { tps: 700 }));
  const sending = (async () => {
    const sent = [];
    for (let batch = 0; batch < 20; batch += 1) sent.push(...(await harness.send(100)));
    return sent;
  })();
  for (const after of [300, 1_000]) {
    await until(`${after} submitted`, () => submits() >= after, { everyMs: 5 });
    await harness.nats.kill9();
    await harness.nats.restart();
  }
  const sent = await sending;
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 2_000 } });
  // Intents that waited for the server became durable all at once; their PDUs were still paced.
  expect(harness.simulator.stats().submits.peakPerS).toBeLessThanOrEqual(700);
});

test('an answer that takes longer than ack_wait is waited for, and nothing is sent twice', async () => {
  harness = await openCarrierHarness({ response: 'fixed:4500' });
  await harness.actor(carrierWith(harness.simulator, { responseTimerMs: 8_000 }));
  const sent = await harness.send(10, { category: 'otp' });
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 10 } });
});

test('a peer that unbinds with a full window: outstanding submits are unknown, the rest is sent when it is bound again', async () => {
  harness = await openCarrierHarness({ response: 'fixed:400' });
  harness.simulator.setFault('no-receipt');
  await harness.actor(carrierWith(harness.simulator, { bind: { window: 10, count: 1 } }));
  const sent = await harness.send(40);
  await until('a window is out', () => submits() >= 10);
  harness.simulator.setFault('unbind', { now: true });
  await until('it is bound again', () => harness.simulator.stats().binds.total === 2);
  harness.simulator.setFault(null);
  const more = await harness.send(10);
  expect(await harness.settled(more)).toMatchObject({ twice: [], never: [], statuses: { delivered: 10 } });
  await until('all submitted', async () => {
    const states = await statesOf(harness.bus);
    return sent.every(({ messageId }) =>
      ['submitted', 'unknown', 'delivered'].includes(states.get(messageId)?.status ?? ''),
    );
  });
  const unknown = (await eventsOf(harness.bus)).filter((each) => each.kind === 'unknown');
  expect(unknown.length).toBeGreaterThan(0);
  expect(unknown.length).toBeLessThanOrEqual(20);
  for (const { nonce } of sent) expect(harness.simulator.nonceCount(nonce)).toBeLessThanOrEqual(1);
});

test('a drain under load loses nothing, makes nothing unknown and sends nothing twice', async () => {
  harness = await openCarrierHarness({ response: 'fixed:30' });
  const carrier = carrierWith(harness.simulator, { tps: 500 });
  const sent = await harness.send(1_200, { category: 'otp' });
  for (const after of [200, 500, 800]) {
    const running = await harness.host([carrier]);
    await until(`${after} submitted`, () => submits() >= after, { everyMs: 5 });
    // It ends with the last answer: only a busy machine needs so long.
    expect(await running.drain(40_000)).toBe(0);
  }
  await harness.host([carrier]);
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 1_200 } });
});

test('an event loop that stalls for two seconds sends no burst over the contract afterwards', async () => {
  const tps = 100;
  harness = await openCarrierHarness({
    response: 'fixed:5',
    accounts: [{ systemId: 'heliograph', password: 'sandbox', tps }],
  });
  const running = await harness.host([carrierWith(harness.simulator, { tps })]);
  const sent = await harness.send(500, { category: 'otp' });
  await until('under way', () => submits() >= 60, { everyMs: 5 });
  running.stallThread(0, 2_000);
  let [seen, sinceMs] = [0, 0];
  await until('no submit is sent', () => {
    const nowMs = systemClock.monotonicMs();
    if (submits() !== seen) [seen, sinceMs] = [submits(), nowMs];
    return nowMs - sinceMs > 1_000;
  });
  expect(seen).toBeLessThan(500);
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 500 } });
  // A burst would be twice the contract; on a busy machine even pacing may slip a little.
  expect(harness.simulator.stats().submits.peakPerS).toBeLessThanOrEqual(tps * 1.05);
});

test('a drain in the middle of a long message: the next incarnation sends only the segments that were not accepted', async () => {
  harness = await openCarrierHarness({ response: 'fixed:10' });
  harness.simulator.setFault('receipt-before-resp');
  const carrier = carrierWith(harness.simulator, { tps: 1_000, bind: { window: 2, count: 1 } });
  const first = await harness.actor(carrier);
  const text = (nonce: string) => `#${nonce}# ${'long '.repeat(280)}`;
  const sent = await harness.send(3, { segments: 10, category: 'otp' }, text);
  await until('half a message is out', () => submits() >= 5, { everyMs: 1 });
  harness.simulator.setFault('throttle');
  await until('the rest waits', () => harness.simulator.stats().submits.throttled >= 2, { everyMs: 1 });
  await first.drain();
  harness.simulator.setFault(null);
  await harness.actor(carrier);
  const settled = await harness.settled(sent);
  expect(settled).toMatchObject({ twice: [], never: [], statuses: { delivered: 3 } });
  expect(harness.simulator.stats().submits.accepted).toBe(30);
});

test('while EVENTS is full no PDU is written without its intent; when there is capacity everything is sent, once', async () => {
  harness = await openCarrierHarness();
  const { manager } = harness.bus;
  const { config } = await manager.streams.info('EVENTS');
  await harness.publisher.publishOne('ev.filler.0', Buffer.alloc(2_000), null);
  await manager.streams.update('EVENTS', { ...config, max_bytes: 2_100 });
  const { actor } = await harness.actor(carrierWith(harness.simulator, patientSessions));
  const sent = await harness.send(100);
  await until('a window is chosen', () => actor.status.inFlight >= 100);
  await until('it is refused and tried again', () => harness.simulator.stats().binds.now === 2);
  expect(submits()).toBe(0);
  await manager.streams.update('EVENTS', config);
  await manager.streams.purge('EVENTS', { filter: 'ev.filler.0' });
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 100 } });
});
