// The threads of the actors process: one that throws or runs out of memory takes only its own carriers with it, is
// restarted, and its work is neither lost nor sent twice.
import { afterEach, describe, expect, test } from 'vitest';
import { assignHosts } from '../../../actors/runtime/host-pool.ts';
import { until } from '../../support/until.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../support/carrier-harness.ts';

let harness: CarrierHarness | undefined;
afterEach(async () => {
  await harness?.stop();
  harness = undefined;
});

describe('a thread that dies', () => {
  test.each([
    ['of an uncaught error', "setImmediate(() => { throw new Error('a bug') })"],
    [
      'of too much memory',
      'setImmediate(() => { const all = []; for (;;) all.push(new Array(1e6).fill(all.length)); })',
    ],
  ])('%s: its sibling goes on, its work is done by the next one', async (_why, expression) => {
    harness = await openCarrierHarness({
      response: 'fixed:5',
      accounts: ['alpha', 'beta'].map((systemId) => ({ systemId, password: 'sandbox', tps: 0 })),
    });
    // On a busy machine the next thread may come so late that records moved to overflow are looked up.
    await harness.eventStore();
    const alpha = carrierWith(harness.simulator, { name: 'alpha', tps: 400, bind: { systemId: 'alpha' } });
    const beta = carrierWith(harness.simulator, { name: 'beta', tps: 400, bind: { systemId: 'beta' } });
    const child = await harness.host([alpha, beta], { threads: 2 });
    await until('all binds are there', () => harness!.simulator.stats().binds.now === 4);
    const sent = [
      ...(await harness.send(500, { carrier: 'alpha', category: 'otp' })),
      ...(await harness.send(500, { carrier: 'beta', category: 'otp' })),
    ];
    await until('some submitted', () => harness!.simulator.stats().submits.total >= 200, { everyMs: 5 });
    child.inThread(0, expression);
    const settled = await harness.settled(sent);
    expect(settled.twice).toEqual([]);
    expect((settled.statuses['delivered'] ?? 0) + (settled.statuses['unknown'] ?? 0)).toBe(1_000);
    // Its carrier may have had nothing left to do, and be bound again after all is settled.
    await until('its binds are there again', () => harness!.simulator.stats().binds.total >= 6);
    // Only the dead thread's two binds were reopened: the other thread was not affected.
    expect(harness.simulator.stats().binds.total).toBe(6);
    expect(await child.restarts()).toBe(1);
    expect(settled.statuses['unknown'] ?? 0).toBeLessThanOrEqual(200);
    expect(await child.drain(5_000)).toBe(0);
  });
});

describe('carriers over threads', () => {
  const rate = (name: string, tps: number) => ({ ...carrierWith({ port: 1 }), name, tps });
  test('the fastest are assigned first, each to the thread with the lowest rate', () => {
    const shares = assignHosts([rate('a', 10), rate('b', 100), rate('c', 60), rate('d', 50)], 2);
    expect(shares.map((share) => share.map((each) => each.name))).toEqual([
      ['b', 'a'],
      ['c', 'd'],
    ]);
  });
  test('there are never more threads than carriers', () => {
    expect(assignHosts([rate('a', 10)], 4)).toHaveLength(1);
  });
});
