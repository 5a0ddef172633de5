// A clean stop of the whole system while its carriers take eight seconds to answer: every answer is waited for.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { assertClean, settledReconciliation } from '../support/reconciliation.ts';
import { sendTraffic } from '../support/traffic.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

let harness: SystemHarness;

beforeAll(async () => {
  harness = await openSystemHarness({
    responseMs: 'fixed:8000',
    receiptMs: 'fixed:200',
    configured: (yaml) => yaml.replaceAll('enquire_link_s: 30', 'enquire_link_s: 30\n    response_timer_s: 60'),
  });
});
afterAll(() => harness?.stop());

it('carriers that answer after eight seconds: a clean restart leaves nothing unknown', {
  timeout: 180_000,
}, async () => {
  const promised = await sendTraffic(harness.client, { ratePerSecond: 30, seconds: 1, seed: 24 });
  await until('some of it is out and not answered', () => harness.smscPeers.taken() >= 20);
  expect(await harness.system.stop()).toBe(0);
  await harness.startAgain();
  const reconciliation = await settledReconciliation(harness, promised);
  expect(reconciliation).toEqual({ ...assertClean, statuses: { delivered: promised.length } });
  expect(await harness.system.stop()).toBe(0);
});
