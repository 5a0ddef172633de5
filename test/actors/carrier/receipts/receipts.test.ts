// Receipts find their message: early, late, twice, out of order, on another bind, after a restart, in every form of id,
// and for submits with an unknown outcome. A receipt without a match is parked, never lost and never guessed.
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { openSession, type Session } from '../../../../smpp/session.ts';
import { bindFields } from '../../../smpp/bind-fields.ts';
import { waitingIn } from '../../../support/bus.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { eventsOf, statesOf } from '../../../support/invariant.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const once = { twice: [], never: [] };

test('receipts before their responses are matched', async () => {
  harness = await openCarrierHarness();
  harness.simulator.setFault('receipt-before-resp');
  await harness.actor(carrierWith(harness.simulator));
  const sent = await harness.send(50);
  expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 50 } });
});

test('receipts sent twice and out of order make one terminal event each', async () => {
  harness = await openCarrierHarness();
  harness.simulator.setFault('duplicate-receipt');
  harness.simulator.setFault('out-of-order-receipts');
  await harness.actor(carrierWith(harness.simulator));
  const sent = await harness.send(50);
  expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 50 } });
  await until('all receipts answered', () => harness.simulator.stats().receipts.acked === 100);
  const delivered = (await eventsOf(harness.bus)).filter((each) => each.kind === 'delivered');
  expect(new Set(delivered.map((each) => each.eventId)).size).toBe(50);
  expect((await harness.bus.manager.streams.info('LATER')).state.messages).toBe(0);
});

test('receipts on another bind are matched', async () => {
  harness = await openCarrierHarness();
  harness.simulator.setFault('receipt-other-bind');
  await harness.actor(carrierWith(harness.simulator));
  const sent = await harness.send(50);
  expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 50 } });
});

describe('ids in the form', () => {
  test.each([
    ['decimal', { ids: 'decimal' }],
    ['hexadecimal', { ids: 'hex' }],
    ['hexadecimal, then decimal', { ids: 'resp-hex-receipt-decimal' }],
    ['hexadecimal, then decimal, beyond 2^53', { ids: 'resp-hex-receipt-decimal', idsFrom: 2n ** 60n + 9n }],
    ['decimal beyond 2^53', { ids: 'decimal', idsFrom: 2n ** 63n }],
  ] as const)('%s', async (_form, options) => {
    harness = await openCarrierHarness({ ...options, receipts: 'both' });
    await harness.actor(carrierWith(harness.simulator));
    const sent = await harness.send(40);
    expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 40 } });
    expect((await harness.bus.manager.streams.info('LATER')).state.messages).toBe(0);
  });
});

test('receipts that come after a restart are matched through the replay', async () => {
  harness = await openCarrierHarness({ latency: 'fixed:1500', ids: 'resp-hex-receipt-decimal' });
  const first = await harness.actor(carrierWith(harness.simulator));
  const sent = await harness.send(60);
  await until('all submitted', async () => {
    const events = await eventsOf(harness.bus);
    return events.filter((each) => each.kind === 'submitted').length === 60;
  });
  await first.drain();
  await harness.actor(carrierWith(harness.simulator));
  expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 60 } });
  expect((await harness.bus.manager.streams.info('LATER')).state.messages).toBe(0);
});

test('a submit that was never answered frees its window slot at the response timer and is unknown', async () => {
  harness = await openCarrierHarness();
  harness.simulator.setFault('no-resp');
  harness.simulator.setFault('no-receipt');
  await harness.actor(carrierWith(harness.simulator, { responseTimerMs: 300, bind: { window: 2, count: 1 } }));
  const sent = await harness.send(6);
  const settled = await harness.settled(sent);
  expect(settled).toMatchObject({ twice: [], statuses: { unknown: 6 } });
  // After three in a row the bind is considered dead and reopened.
  await until('the bind is reopened', () => harness.simulator.stats().binds.total > 1);
  harness.simulator.setFault(null);
  const more = await harness.send(10);
  expect(await harness.settled(more)).toMatchObject({ ...once, statuses: { delivered: 10 } });
  expect((await harness.settled(sent)).twice).toEqual([]);
});

test('an unknown submit is settled by a receipt that arrives', async () => {
  harness = await openCarrierHarness({ latency: 'fixed:500' });
  await harness.eventStore();
  harness.simulator.setFault('no-resp', { limit: 3 });
  await harness.actor(carrierWith(harness.simulator, { responseTimerMs: 300 }));
  const sent = await harness.send(3);
  const states = await until('settled after all', async () => {
    const all = await statesOf(harness.bus);
    return sent.every(({ messageId }) => all.get(messageId)?.status === 'delivered') && all;
  });
  for (const { messageId } of sent) {
    const history = states.get(messageId)?.history.map((each) => each.status);
    expect(history).toEqual(['accepted', 'unknown', 'delivered']);
  }
});

test('an answer after its timer contains the id, and the receipt settles the message', async () => {
  harness = await openCarrierHarness({ response: 'fixed:700', latency: 'fixed:300' });
  await harness.actor(carrierWith(harness.simulator, { responseTimerMs: 400, bind: { window: 50, count: 1 } }));
  const sent = await harness.send(1);
  await until('delivered', async () => (await statesOf(harness.bus)).get(sent[0]!.messageId)?.status === 'delivered');
  const states = await statesOf(harness.bus);
  expect(states.get(sent[0]!.messageId)?.history.map((each) => each.status)).toEqual([
    'accepted',
    'unknown',
    'delivered',
  ]);
});

test('a receipt for another client’s message is parked and answered, and settles nothing', async () => {
  harness = await openCarrierHarness({ latency: 'fixed:50' });
  await harness.actor(carrierWith(harness.simulator, { bind: { count: 1 } }));
  const sent = await harness.send(5);
  await harness.settled(sent);
  const foreign = await foreignSubmits(harness.simulator.port);
  const parked = await until('it is parked', async () => {
    const records = await waitingIn(harness.bus, 'LATER');
    return records.length > 0 && records;
  });
  expect(parked).toHaveLength(1);
  expect(parked[0]!.header('Heliograph-Subject')).toBe('mo.alpha');
  expect(Buffer.from(parked[0]!.data).toString()).not.toContain('secret text');
  await until('it is answered', () => harness.simulator.stats().receipts.acked === 6);
  expect((await harness.settled(sent)).statuses).toEqual({ delivered: 5 });
  await foreign.close('done', 100);
});

/** One submit by another client of the same account, bound as transmitter: its receipt comes to our bind. */
async function foreignSubmits(port: number): Promise<Session<string>> {
  let bound = false;
  const ignore = () => {};
  const session = openSession<string>(
    {
      host: '127.0.0.1',
      port,
      bind: { type: 'transmitter', ...bindFields('heliograph', 'sandbox') },
      windowPdusMax: 1,
      responseTimerMs: 2_000,
      enquireLinkMs: 5_000,
      clock: systemClock,
    },
    {
      onBound: () => (bound = true),
      onSubmitResponse: ignore,
      onSubmitTimeout: ignore,
      onDeliver: ignore,
      onWindowOpen: ignore,
      onClosed: ignore,
    },
  );
  await until('the stranger is bound', () => bound);
  session.submit(
    {
      sourceTon: 5,
      sourceNpi: 0,
      source: 'OTHER',
      destinationTon: 1,
      destinationNpi: 1,
      destination: '8801799999999',
      esmClass: 0,
      registeredDelivery: 1,
      dataCoding: 0,
      octets: Buffer.from('secret text'),
    },
    'stranger',
  );
  return session;
}
