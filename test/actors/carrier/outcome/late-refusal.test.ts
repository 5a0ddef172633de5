// A refusal after the response timer: the carrier did not accept the message, so it is not unknown any more. It is not
// sent again. On a real nats-server and the real simulator, counted at the SMSC peer.
import { afterEach, expect, test } from 'vitest';
import { listFlights, readDecisions } from '../../../../actors/flight/flight.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { passLateGates } from '../../../../policy/late/late-gates.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { type SentMessage, eventsOf, statesOf } from '../../../support/invariant.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const moves = { otpFailoverAfterMs: 60_000, othersFailoverAfterMs: 60_000 };
const decisions = async () => {
  const flight = await until('the recorder answers', async () => (await listFlights(harness.bus, 'alpha'))[0]);
  return readDecisions(harness.bus, flight.node);
};
const copies = (sent: readonly SentMessage[]) => sent.map(({ nonce }) => harness.simulator.nonceCount(nonce));
async function historyOf({ messageId }: SentMessage): Promise<string[]> {
  const history = (await statesOf(harness.bus)).get(messageId)?.history ?? [];
  return history.map(({ status, error }) => (error === null ? status : `${status} ${error}`));
}

test.each(['otp', 'promotional'] as const)(
  'ends what was unknown as rejected, with the status: %s',
  async (category) => {
    harness = await openCarrierHarness();
    harness.simulator.setFault('queue-full', { arg: 900, limit: 1 });
    await harness.actor(carrierWith(harness.simulator, { responseTimerMs: 400 }), systemClock, moves);
    const [sent] = await harness.send(1, { category });
    await until('rejected', async () => (await statesOf(harness.bus)).get(sent!.messageId)?.status === 'rejected');
    expect(await historyOf(sent!)).toEqual(['accepted', 'unknown no_response', 'rejected ESME_RMSGQFUL']);
    expect(harness.simulator.stats().submits.total).toBe(1);
    // No record is left that could send it, now or later.
    for (const stream of ['MT_OTP', 'MT_PROMO', 'LATER']) {
      await until(`${stream} empty`, async () => (await harness.bus.manager.streams.info(stream)).state.messages === 0);
    }
  },
);

test('counts for the carrier like every refusal, and is noted among the decisions', async () => {
  harness = await openCarrierHarness();
  harness.simulator.setFault('queue-full', { arg: 900, limit: 1 });
  await harness.actor(carrierWith(harness.simulator, { responseTimerMs: 400 }), systemClock, moves);
  const [sent] = await harness.send(1, { category: 'otp' });
  await until('rejected', async () => (await historyOf(sent!)).at(-1) === 'rejected ESME_RMSGQFUL');
  const noted = await decisions();
  expect(
    noted.filter(({ messageId }) => messageId === sent!.messageId).map(({ kind, detail }) => [kind, detail]),
  ).toEqual([
    ['chosen', ''],
    ['unknown', 'no_response'],
    ['verdict', 'ESME_RMSGQFUL, late: reject'],
    ['rejected', 'ESME_RMSGQFUL'],
  ]);
  expect(noted.some(({ kind, detail }) => kind === 'pace' && detail.startsWith('cut from'))).toBe(true);
});

test('of us, and not of the message: the carrier pauses', async () => {
  harness = await openCarrierHarness();
  harness.simulator.setFault('queue-full', { arg: 900, limit: 1 });
  const carrier = carrierWith(harness.simulator, { responseTimerMs: 400, errors: { ESME_RMSGQFUL: 'stop' } });
  await harness.actor(carrier, systemClock, moves);
  const [sent] = await harness.send(1);
  await until('rejected', async () => (await historyOf(sent!)).at(-1) === 'rejected ESME_RMSGQFUL');
  expect((await decisions()).some(({ kind, detail }) => kind === 'pace' && detail.startsWith('paused for'))).toBe(true);
});

test('of a segment: the message is rejected, whatever becomes of its other segments', async () => {
  harness = await openCarrierHarness({ latency: 'fixed:1500' });
  harness.simulator.setFault('queue-full', { arg: 900, limit: 1 });
  await harness.actor(carrierWith(harness.simulator, { responseTimerMs: 400, bind: { count: 1 } }), systemClock, moves);
  const [sent] = await harness.send(1, { segments: 3 }, (nonce) => `#${nonce}# ${'long '.repeat(80)}`);
  await until('rejected', async () => (await historyOf(sent!)).at(-1) === 'rejected ESME_RMSGQFUL');
  await until('the others are receipted', () => harness.simulator.stats().receipts.acked === 2);
  expect(await historyOf(sent!)).toEqual(['accepted', 'unknown no_response', 'rejected ESME_RMSGQFUL']);
  expect(harness.simulator.stats().submits.total).toBe(3);
});

test('of a copy whose account wants another: that one is sent, and decides', async () => {
  harness = await openCarrierHarness({ latency: 'fixed:50' });
  harness.simulator.setFault('queue-full', { arg: 900, limit: 1 });
  await harness.actor(
    carrierWith(harness.simulator, { responseTimerMs: 400 }),
    systemClock,
    moves,
    passLateGates,
    () => true,
  );
  const sent = await harness.send(1, { category: 'otp' });
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 1 } });
  await until('the refusal has come', async () => (await decisions()).some(({ detail }) => detail.includes(', late')));
  expect((await eventsOf(harness.bus)).filter(({ kind }) => kind === 'rejected')).toEqual([]);
  expect(copies(sent)).toEqual([1]);
});

test('leaves nothing that the receipt of another message could settle, also after a restart', async () => {
  harness = await openCarrierHarness();
  harness.simulator.setFault('queue-full', { arg: 900, limit: 1 });
  const carrier = carrierWith(harness.simulator, { responseTimerMs: 400 });
  const first = await harness.actor(carrier, systemClock, moves);
  const [sent] = await harness.send(1, { recipient: '+8801812345671', sender: 'HELIO' });
  await until('rejected', async () => (await historyOf(sent!)).at(-1) === 'rejected ESME_RMSGQFUL');
  const parkedCount = async () => (await harness.bus.manager.streams.info('LATER')).state.messages;
  for (const [nth, id] of ['aaa1', 'aaa2'].entries()) {
    if (nth === 1) {
      await first.drain();
      await harness.actor(carrier, systemClock, moves);
    }
    harness.simulator.deliver({
      sourceTon: 1,
      sourceNpi: 1,
      source: '8801812345671',
      destinationTon: 5,
      destinationNpi: 0,
      destination: 'HELIO',
      esmClass: 0x04,
      registeredDelivery: 0,
      dataCoding: 0,
      octets: Buffer.from(`id:${id} stat:DELIVRD err:000`),
    });
    await until('parked', async () => (await parkedCount()) > 0);
    await harness.bus.manager.streams.purge('LATER');
  }
  expect((await eventsOf(harness.bus)).filter(({ kind }) => kind === 'delivered')).toEqual([]);
});
