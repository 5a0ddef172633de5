// A backlog of bulk that is far longer than everything held in memory, and one-time passwords beside it (fault 30). Times
// are for `npm run bench -- otp` and `lanes`; here it is counted how many others a carrier gets between an OTP and its PDU.
import { afterEach, expect, test } from 'vitest';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../support/carrier-harness.ts';
import { until } from '../support/until.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

test('100,000 promotional messages wait: each OTP overtakes them, none is sent twice, and they go on', async () => {
  harness = await openCarrierHarness({ response: 'fixed:5' });
  const tps = 500;
  const backlog = 100_000;
  const bulk = [];
  for (let sent = 0; sent < backlog; sent += 10_000) {
    bulk.push(...(await harness.send(10_000, { category: 'promotional' })));
  }
  await harness.actor(carrierWith(harness.simulator, { tps, bind: { window: 50, count: 2 } }));
  const submits = () => harness.simulator.stats().submits.total;
  await until('bulk is being sent', () => submits() > tps);
  const overtaken: number[] = [];
  for (let at = 0; at < 100; at += 1) {
    const [otp] = await harness.send(1, { category: 'otp' });
    const before = submits();
    await until('it is there', () => harness.simulator.nonceCount(otp?.nonce ?? '') === 1, { everyMs: 2 });
    overtaken.push(submits() - before);
  }
  overtaken.sort((one, other) => one - other);
  // In the carrier's own tokens: a tenth of a second of the contract as a rule, half a second on a busy machine.
  expect(overtaken[50]).toBeLessThanOrEqual(tps / 10);
  expect(overtaken[99]).toBeLessThanOrEqual(tps / 2);
  expect(submits()).toBeLessThan(backlog / 2);
  const sentBulk = bulk.filter(({ nonce }) => harness.simulator.nonceCount(nonce) > 0).length;
  expect(sentBulk).toBeGreaterThan(tps);
  expect(bulk.filter(({ nonce }) => harness.simulator.nonceCount(nonce) > 1)).toEqual([]);
}, 120_000);
