// The bound binds decide how much may be outstanding: a bind that is down is not waited for, and a message of more
// segments than all windows hold is still sent.
import { afterEach, expect, test } from 'vitest';
import { until } from '../../../support/until.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

/** Two binds with windows of five; nothing listens at the second one's port. */
const oneOfTwo = (): ReturnType<typeof carrierWith> => {
  const { binds, ...carrier } = carrierWith(harness.simulator, { bind: { window: 5, count: 1 } });
  const [bind] = binds;
  return { ...carrier, binds: [bind!, { ...bind!, port: 1 }] };
};
const long = (nonce: string) => `#${nonce}# ${'long '.repeat(300)}`;

test.each(['otp', 'promotional'] as const)(
  'with one of two small binds down, %s of ten segments goes, and so does what comes after it',
  async (category) => {
    harness = await openCarrierHarness();
    const sent = await harness.send(3, { category, segments: 10 }, long);
    sent.push(...(await harness.send(20, { category })));
    await harness.actor(oneOfTwo());
    expect(await harness.settled(sent)).toMatchObject({ never: [], statuses: { delivered: 23 } });
    expect(harness.simulator.stats().submits.total).toBe(3 * 10 + 20);
  },
);

test('while no bind is bound no message is begun', async () => {
  harness = await openCarrierHarness();
  await harness.send(5, { category: 'otp', segments: 10 }, long);
  const running = await harness.actor(carrierWith({ port: 1 }, { bind: { window: 5, count: 2 } }));
  await until('all are held', () => running.actor.status.inFlight === 5);
  await running.drain();
  expect((await harness.bus.manager.streams.info('EVENTS')).state.messages).toBe(0);
});
