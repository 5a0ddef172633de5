// Large batches beside another account's OTP while the actors report slow OTP: bulk work goes at its slowest pace, and
// what is accepted still begins in time.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { otpTimes } from '../../../cluster/bus/otp-times.ts';
import { type Cancel, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { until } from '../../support/until.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness } from './harness.ts';
import { startVictim } from './victim.ts';

const { first, min } = limits.bulkPace;

let harness: Harness;
let ingress: Ingress;
let crowd: Tenant;
let other: Tenant;
let stopReports: Cancel = () => {};

beforeAll(async () => {
  harness = await openHarness();
  crowd = await harness.tenant();
  other = await harness.tenant();
  ingress = await harness.ingress();
});
afterAll(async () => {
  stopReports();
  await harness.stop();
});

async function pace(): Promise<number> {
  const { metrics } = await ingress.ask();
  const found = metrics.flat().filter(({ name }) => name === 'heliograph_bulk_messages_per_second');
  const values = found.flatMap((metric) => metric.values as { value: number }[]);
  return values.reduce((sum, { value }) => sum + value, 0);
}

const batch = { messages: Array.from({ length: 1_000 }, () => goodBody) };
const send = () => call(ingress, 'POST', '/v1/sms/batch', crowd.live, batch);

test('four batches of 1,000 at the slowest pace: every message accepted, one batch after another, no OTP refused', async () => {
  expect(await pace()).toBe(first);
  const times = { carrier: 'blue', node: 'one', count: 10, slow: 5 };
  stopReports = systemClock.every(100, () => otpTimes.publish(harness.bus, times));
  await until('the slowest pace', async () => (await pace()) === min);
  const victim = startVictim(ingress, other.live);
  await until('the victim sends', () => victim.sent > 10);
  const beganMs = systemClock.monotonicMs();
  const answers = await Promise.all([send(), send(), send(), send()]);
  const tookMs = systemClock.monotonicMs() - beganMs;
  expect(answers.map(({ status, body }) => [status, body['accepted']])).toEqual(answers.map(() => [202, 1_000]));
  // Without the pace all four take less than a second.
  expect(tookMs).toBeGreaterThan(4 * 0.6 * limits.http.batch.beginMs);
  expect(await pace()).toBe(min);
  const { others } = await victim.stop();
  expect(others).toEqual([]);
});
