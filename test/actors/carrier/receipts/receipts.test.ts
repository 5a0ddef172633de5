// Receipts find their message: early, late, twice, out of order, on another bind, after a restart, in every form of
// id, and for submits whose outcome nobody knew. What fits nothing is parked, never lost and never guessed.
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../../platform/deadline.ts';
import { openSession, type Session } from '../../../../smpp/session.ts';
import { bindFields } from '../../../../smpp/session-contract.ts';
import { waitingIn } from '../../../support/bus.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../../support/carrier-house.ts';
import { eventsOf, statesOf } from '../../../support/invariant.ts';

let house: CarrierHouse;
afterEach(() => house.stop());

const once = { twice: [], never: [] };

test('receipts before their responses are matched', async () => {
  house = await openCarrierHouse();
  house.simulator.setFault('receipt-before-resp');
  await house.actor(carrierWith(house.simulator));
  const sent = await house.send(50);
  expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 50 } });
});

test('receipts told twice and out of order make one terminal event each', async () => {
  house = await openCarrierHouse();
  house.simulator.setFault('duplicate-receipt');
  house.simulator.setFault('out-of-order-receipts');
  await house.actor(carrierWith(house.simulator));
  const sent = await house.send(50);
  expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 50 } });
  await until('all receipts answered', () => house.simulator.stats().receipts.acked === 100);
  const delivered = (await eventsOf(house.bus)).filter((each) => each.kind === 'delivered');
  expect(new Set(delivered.map((each) => each.eventId)).size).toBe(50);
  expect((await house.bus.manager.streams.info('LATER')).state.messages).toBe(0);
});

test('receipts on another bind are matched', async () => {
  house = await openCarrierHouse();
  house.simulator.setFault('receipt-other-bind');
  await house.actor(carrierWith(house.simulator));
  const sent = await house.send(50);
  expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 50 } });
});

describe('ids in the form', () => {
  test.each([
    ['decimal', { ids: 'decimal' }],
    ['hexadecimal', { ids: 'hex' }],
    ['hexadecimal, then decimal', { ids: 'resp-hex-receipt-decimal' }],
    ['hexadecimal, then decimal, beyond 2^53', { ids: 'resp-hex-receipt-decimal', idsFrom: 2n ** 60n + 9n }],
    ['decimal beyond 2^53', { ids: 'decimal', idsFrom: 2n ** 63n }],
  ] as const)('%s', async (_form, options) => {
    house = await openCarrierHouse({ ...options, receipts: 'both' });
    await house.actor(carrierWith(house.simulator));
    const sent = await house.send(40);
    expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 40 } });
    expect((await house.bus.manager.streams.info('LATER')).state.messages).toBe(0);
  });
});

test('receipts that come after a restart are matched through the replay', async () => {
  house = await openCarrierHouse({ latency: 'fixed:1500', ids: 'resp-hex-receipt-decimal' });
  const first = await house.actor(carrierWith(house.simulator));
  const sent = await house.send(60);
  await until('all submitted', async () => {
    const events = await eventsOf(house.bus);
    return events.filter((each) => each.kind === 'submitted').length === 60;
  });
  await first.drain();
  await house.actor(carrierWith(house.simulator));
  expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 60 } });
  expect((await house.bus.manager.streams.info('LATER')).state.messages).toBe(0);
});

test('a submit that was never answered frees its place at the response timer and is unknown', async () => {
  house = await openCarrierHouse();
  house.simulator.setFault('no-resp');
  house.simulator.setFault('no-receipt');
  await house.actor(carrierWith(house.simulator, { responseTimerMs: 300, bind: { window: 2, count: 1 } }));
  const sent = await house.send(6);
  const settled = await house.settled(sent);
  expect(settled).toMatchObject({ twice: [], statuses: { unknown: 6 } });
  // After three in a row the bind is taken for dead and opened anew.
  await until('the bind is opened anew', () => house.simulator.stats().binds.total > 1);
  house.simulator.setFault(null);
  const more = await house.send(10);
  expect(await house.settled(more)).toMatchObject({ ...once, statuses: { delivered: 10 } });
  expect((await house.settled(sent)).twice).toEqual([]);
});

test('an unknown submit is settled by the receipt that comes all the same', async () => {
  house = await openCarrierHouse({ latency: 'fixed:500' });
  await house.eventStore();
  house.simulator.setFault('no-resp', { limit: 3 });
  await house.actor(carrierWith(house.simulator, { responseTimerMs: 300 }));
  const sent = await house.send(3);
  const states = await until('settled after all', async () => {
    const all = await statesOf(house.bus);
    return sent.every(({ messageId }) => all.get(messageId)?.status === 'delivered') && all;
  });
  for (const { messageId } of sent) {
    const history = states.get(messageId)?.history.map((each) => each.status);
    expect(history).toEqual(['accepted', 'unknown', 'delivered']);
  }
});

test('an answer after its timer tells the id, and the receipt settles the message', async () => {
  house = await openCarrierHouse({ response: 'fixed:700', latency: 'fixed:300' });
  await house.actor(carrierWith(house.simulator, { responseTimerMs: 400, bind: { window: 50, count: 1 } }));
  const sent = await house.send(1);
  await until('delivered', async () => (await statesOf(house.bus)).get(sent[0]!.messageId)?.status === 'delivered');
  const states = await statesOf(house.bus);
  expect(states.get(sent[0]!.messageId)?.history.map((each) => each.status)).toEqual([
    'accepted',
    'unknown',
    'delivered',
  ]);
});

test('a receipt for a message of somebody else is parked and answered, and settles nothing', async () => {
  house = await openCarrierHouse({ latency: 'fixed:50' });
  await house.actor(carrierWith(house.simulator, { bind: { count: 1 } }));
  const sent = await house.send(5);
  await house.settled(sent);
  const stranger = await strangerSubmits(house.simulator.port);
  const parked = await until('it is parked', async () => {
    const records = await waitingIn(house.bus, 'LATER');
    return records.length > 0 && records;
  });
  expect(parked).toHaveLength(1);
  expect(parked[0]!.header('Heliograph-Subject')).toBe('mo.alpha');
  expect(Buffer.from(parked[0]!.data).toString()).not.toContain('secret text');
  await until('it is answered', () => house.simulator.stats().receipts.acked === 6);
  expect((await house.settled(sent)).statuses).toEqual({ delivered: 5 });
  await stranger.close('done', 100);
});

/** One submit by another client of the same account, bound as transmitter: its receipt comes to our bind. */
async function strangerSubmits(port: number): Promise<Session<string>> {
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
