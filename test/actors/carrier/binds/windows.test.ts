// What may be out at once is what the bound binds take: a bind that is away is not waited for, and a message of more
// segments than all windows hold still goes.
import { afterEach, expect, test } from 'vitest';
import { until } from '../../../../platform/deadline.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../../support/carrier-house.ts';

let house: CarrierHouse;
afterEach(() => house.stop());

/** Two binds of five; nothing listens where the second one goes. */
const oneOfTwo = (): ReturnType<typeof carrierWith> => {
  const { binds, ...carrier } = carrierWith(house.simulator, { bind: { window: 5, count: 1 } });
  const [bind] = binds;
  return { ...carrier, binds: [bind!, { ...bind!, port: 1 }] };
};
const long = (nonce: string) => `#${nonce}# ${'long '.repeat(300)}`;

test.each(['otp', 'promotional'] as const)(
  'with one of two small binds down, %s of ten segments goes, and so does what stands behind it',
  async (category) => {
    house = await openCarrierHouse();
    const sent = await house.send(3, { category, segments: 10 }, long);
    sent.push(...(await house.send(20, { category })));
    await house.actor(oneOfTwo());
    expect(await house.settled(sent)).toMatchObject({ never: [], statuses: { delivered: 23 } });
    expect(house.simulator.stats().submits.total).toBe(3 * 10 + 20);
  },
);

test('while no bind is bound nothing is begun', async () => {
  house = await openCarrierHouse();
  await house.send(5, { category: 'otp', segments: 10 }, long);
  const running = await house.actor(carrierWith({ port: 1 }, { bind: { window: 5, count: 2 } }));
  await until('all are held', () => running.actor.status.held === 5);
  await running.drain();
  expect((await house.bus.manager.streams.info('EVENTS')).state.messages).toBe(0);
});
