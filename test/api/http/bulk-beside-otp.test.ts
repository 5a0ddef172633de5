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

const size = 300;
const batch = { messages: Array.from({ length: size }, () => goodBody) };
const send = () => call(ingress, 'POST', '/v1/sms/batch', crowd.live, batch);

test('four batches at the slowest pace: every message accepted, one batch after another, no OTP refused', async () => {
  expect(await pace()).toBe(first);
  const times = { carrier: 'blue', node: 'one', count: 10, slow: 5 };
  stopReports = systemClock.every(100, () => otpTimes.publish(harness.bus, times));
  await until('the slowest pace', async () => (await pace()) === min);
  const victim = startVictim(ingress, other.live);
  let answers: Awaited<ReturnType<typeof send>>[] = [];
  let tookMs = 0;
  try {
    await until('the victim sends', () => victim.sent > 10);
    const beganMs = systemClock.monotonicMs();
    answers = await Promise.all([send(), send(), send(), send()]);
    tookMs = systemClock.monotonicMs() - beganMs;
  } finally {
    const { others } = await victim.stop();
    expect(others).toEqual([]);
  }
  expect(answers.map(({ status, body }) => [status, body['accepted']])).toEqual(answers.map(() => [202, size]));
  // Without the pace they take a fifth of it.
  expect(tookMs).toBeGreaterThan((4 * (size - limits.http.batch.firstItems) * 1_000) / min / 1.1);
  expect(await pace()).toBe(min);
});
