// A broken endpoint with a line behind it beside one that hangs: the others notice nothing, the line costs one request,
// and comes in its order when the endpoint is back. `npm run bench -- webhook-backlog` is the same with a million.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../../../platform/limits.ts';
import { startBus, type TestBus } from '../../support/bus.ts';
import { runBacklog } from '../../support/webhook-backlog.ts';

let bus: TestBus;
beforeAll(async () => {
  bus = await startBus();
});
afterAll(() => bus.stop());

test('20,000 parked events of a broken endpoint: one probe, nothing missing elsewhere, then all of them in order', async () => {
  const count = 20_000;
  const found = await runBacklog({ bus, count, rate: 200, seconds: 5, drain: count, drainMs: 120_000 });
  expect(found).toMatchObject({ missing: 0, probes: 1, drained: count, repeated: 0 });
  // Until it is known to hang, and then once for each step of the schedule.
  expect(found.hangingMost).toBeLessThanOrEqual(3 * limits.delivery.concurrencyFirst);
  // It is sent in its order: what is missing before an event that has come is on its way beside it.
  expect(found.overtakenMost).toBeLessThan(limits.delivery.concurrencyMax);
}, 240_000);
