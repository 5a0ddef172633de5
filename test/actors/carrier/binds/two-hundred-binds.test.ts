// 200 binds of one process lose their sessions at once (fault 29): reconnects keep to the budget, counted at the
// carrier, all binds are bound again, and messages are sent over them meanwhile.
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const binds = 200;
/** Attempts that may come at once after a quiet time. */
const burst = 4;

test('200 binds reconnect under the budget, and messages are sent meanwhile', async () => {
  harness = await openCarrierHarness();
  const seen: { atMs: number; connections: number }[] = [];
  const look = () => seen.push({ atMs: systemClock.monotonicMs(), connections: harness.simulator.stats().connections });
  const stop = systemClock.every(20, look);
  const bound = () => harness.simulator.stats().binds.now;
  const { actor } = await harness.actor(carrierWith(harness.simulator, { bind: { window: 2, count: binds } }));
  await until('all binds', () => bound() === binds);
  harness.simulator.setFault('drop', { now: true });
  // Waited for, because what is written into a dying socket is rightly `unknown`.
  await until('all are lost', () => actor.status.bindsBound < binds / 10, { everyMs: 1 });
  const sent = await harness.send(500, { category: 'otp' });
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 500 } });
  await until('all binds are back', () => bound() === binds);
  stop();
  look();
  // One connection per bind and loss: an attempt is not repeated while it is in progress. On a busy machine some exceed
  // their deadline, and are repeated after it.
  expect(seen.at(-1)?.connections).toBeGreaterThanOrEqual(2 * binds);
  expect(seen.at(-1)?.connections).toBeLessThan(3 * binds);
  const spacingMs = 1_000 / limits.smpp.connectsPerSecond;
  const again = seen.filter(({ connections }) => connections > binds);
  const took = again.at(-1)!.atMs - again[0]!.atMs;
  expect(took).toBeGreaterThan((binds - 2 * burst) * spacingMs - 1_000);
  // Attempts are spaced at our end; on a busy machine the carrier may see some of them late, together.
  const lateMs = 2_000;
  for (const [at, from] of seen.entries()) {
    for (const to of seen.slice(at + 1)) {
      const allowed = burst + 1 + (to.atMs - from.atMs + lateMs) / spacingMs;
      if (to.connections - from.connections <= allowed) continue;
      throw new Error(`${to.connections - from.connections} connections within ${to.atMs - from.atMs} ms`);
    }
  }
});
