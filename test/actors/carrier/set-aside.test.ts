// One account floods a lane: what it has too much of is set aside, so that the others of its account shard go on, and
// nothing of it is lost, doubled or much out of order, whatever is killed in the middle.
import { afterEach, expect, test } from 'vitest';
import { type AccountId, newAccountId, shardOf } from '../../../model/ids.ts';
import { until } from '../../../platform/deadline.ts';
import { limits } from '../../../platform/limits.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../support/carrier-house.ts';

let house: CarrierHouse;
afterEach(() => house.stop());

/** A new account in account shard 1. */
const account = (): AccountId => {
  for (;;) {
    const one = newAccountId(0);
    if (shardOf(one, limits.bus.accountShards) === 1) return one;
  }
};
const bind = { window: 5, count: 1 };

test('an OTP of another account of the same shard goes before the backlog of one that came first', async () => {
  house = await openCarrierHouse();
  const flood = await house.send(1_000, { category: 'otp', accountId: account() });
  const other = await house.send(1, { category: 'otp', accountId: account() });
  await house.actor(carrierWith(house.simulator, { tps: 300, bind }));
  await until('the other is there', () => house.simulator.nonceCount(other[0]!.nonce) === 1, { everyMs: 5 });
  expect(house.simulator.stats().submits.total).toBeLessThan(500);
  expect(await house.settled([...flood, ...other])).toMatchObject({ twice: [], never: [] });
});
