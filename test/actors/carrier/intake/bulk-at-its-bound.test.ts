// Bulk with as many records in flight as its consumer may deliver (fault 11): an OTP of the same account, in the same
// shard, neither waits for a place among them nor behind what was chosen before it.
import { afterEach, expect, test } from 'vitest';
import { until } from '../../../support/until.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

test('bulk at max_ack_pending: an OTP is written within half a second of the contract', async () => {
  harness = await openCarrierHarness({ response: 'fixed:5' });
  const tps = 100;
  const bulk = await harness.send(4_000, { category: 'promotional' });
  const { actor } = await harness.actor(carrierWith(harness.simulator, { tps, bind: { window: 20, count: 1 } }));
  await until(
    'a consumer gives no more',
    async () => {
      const consumers = await harness.bus.manager.consumers.list('MT_PROMO').next();
      return consumers.some((one) => one.num_ack_pending >= (one.config.max_ack_pending ?? Infinity));
    },
    { everyMs: 5 },
  );
  const submits = () => harness.simulator.stats().submits.total;
  const otp = await harness.send(5, { category: 'otp' });
  const before = submits();
  await until('all are there', () => otp.every(({ nonce }) => harness.simulator.nonceCount(nonce) === 1), {
    everyMs: 2,
  });
  // Counted in the carrier's own tokens and not in time: a busy machine changes the time, not the order.
  expect(submits() - before).toBeLessThanOrEqual(tps / 2);
  expect(actor.status.inFlight).toBeGreaterThan(0);
  expect(bulk.filter(({ nonce }) => harness.simulator.nonceCount(nonce) > 1)).toEqual([]);
  expect(submits()).toBeLessThan(4_000);
});
