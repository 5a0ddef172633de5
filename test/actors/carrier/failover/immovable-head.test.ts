// A carrier is down, and at the head of a lane is a message without an alternative: it waits, and everything behind it
// is moved all the same, however much that is. Counted at the carrier it goes to.
import { afterEach, describe, expect, test } from 'vitest';
import { freePort } from '../../../../cluster/embedded/ports.ts';
import { laneHeldMax } from '../../../../actors/carrier/intake/intake.ts';
import type { BindConfig, CarrierConfig } from '../../../../config/configuration.ts';
import type { Category } from '../../../../model/message.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { within } from '../../../support/running-clock.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { metrics } from '../../../../platform/telemetry.ts';
import { parseLatency } from '../../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { newAccountInShard } from '../../../support/account-in-shard.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import type { SentMessage } from '../../../support/invariant.ts';

const laneMax = 100;
const quick = { otpFailoverAfterMs: 300, othersFailoverAfterMs: 300 };

let harness: CarrierHarness;
let beta: Simulator;
afterEach(async () => {
  await harness.stop();
  await beta.close();
});

/** Alpha is down, with lanes as short as asked for; beta is good. */
async function open(changes: Partial<CarrierConfig> & { bind?: Partial<BindConfig> } = {}, short = laneMax) {
  // Alpha dials its port all the time: none that another process is given.
  harness = await openCarrierHarness({ port: await freePort() });
  beta = await startSimulator({ magic: false, latency: parseLatency('fixed:20')!, response: parseLatency('fixed:0')! });
  await harness.simulator.close();
  const alpha = carrierWith(harness.simulator, changes);
  const { actor } = await harness.actor(alpha, systemClock, quick, undefined, undefined, { laneMax: short });
  await harness.actor(carrierWith(beta, { name: 'beta' }), systemClock, quick);
  await until('alpha is down', () => actor.status.state === 'down');
  return { state: () => actor.status.state };
}

const allAtBeta = (sent: readonly SentMessage[], options = {}) =>
  until('all are at beta', () => sent.every(({ nonce }) => beta.nonceCount(nonce) === 1), options);

async function gauge(category: Category): Promise<number | undefined> {
  const { values } = await metrics.laneDepth.get();
  return values.find(({ labels }) => labels.carrier === 'alpha' && labels.category === category)?.value;
}

async function overflowed(): Promise<number> {
  const { values } = await metrics.overflowed.get();
  return values.filter(({ labels }) => labels.carrier === 'alpha').reduce((sum, { value }) => sum + value, 0);
}

describe('behind a message without an alternative', () => {
  test.each(['otp', 'transactional', 'promotional'] as const)(
    '%s: many times more than a lane holds finds the other carrier, and only what waits is counted',
    async (category) => {
      const { state } = await open();
      const [head] = await harness.send(1, { category });
      await until('it waits', async () => (await gauge(category)) === 1);
      const behind = await harness.send(laneMax * 6, { category, plan: ['beta'] });
      await allAtBeta(behind);
      expect(beta.stats().submits.total).toBe(behind.length);
      expect(state()).toBe('down');
      expect(beta.nonceCount(head!.nonce)).toBe(0);
      await until('the gauge is of what waits', async () => (await gauge(category)) === 1);
    },
  );

  test('many accounts are moved, too', async () => {
    await open();
    const others = Array.from({ length: 8 }, (_, shard) => newAccountInShard(shard));
    await harness.send(1, { accountId: others[0]! });
    const behind = await Promise.all(
      others.map((accountId) => harness.send(laneMax / 2, { accountId, plan: ['beta'] })),
    );
    await allAtBeta(behind.flat());
    expect(beta.stats().submits.total).toBe(laneMax * 4);
  });

  test('messages whose validity ends free their places as well', async () => {
    await open();
    await harness.send(1);
    await harness.send(laneMax - 1, { validUntilMs: systemClock.nowMs() + 4_000 });
    await until('the lane is full', async () => (await gauge('transactional')) === laneMax);
    await until('they have ended', async () => (await gauge('transactional')) === 1, within(8_000));
    const behind = await harness.send(laneMax - 1, { plan: ['beta'] });
    await allAtBeta(behind, within(3_000));
  });

  test('an account whose messages leave at once floods nothing: none of them is moved to overflow', async () => {
    await open({ bind: { window: 5, count: 1 } }, laneHeldMax);
    await harness.send(1);
    const before = await overflowed();
    // A few at a time, and more in all than one account may have waiting before the rest is moved to overflow.
    for (let round = 0; round < (limits.overflow.reservedMin * 3) / 8; round += 1) {
      await allAtBeta(await harness.send(8, { plan: ['beta'] }), within(3_000));
    }
    expect(await overflowed()).toBe(before);
  });
});
