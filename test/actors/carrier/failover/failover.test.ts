// A carrier that cannot take a message now, or at all, and another one that can: two simulators, two actors, a real
// nats-server. Counted at both SMSC peers: nothing lost, nothing sent twice, and nothing moved whose outcome is
// unknown.
import { afterEach, describe, expect, test } from 'vitest';
import type { FailoverPolicy } from '../../../../actors/carrier/failover/health-decision.ts';
import type { CarrierConfig } from '../../../../config/configuration.ts';
import { freePort } from '../../../../cluster/embedded/ports.ts';
import { isTerminal } from '../../../../model/status.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { within } from '../../../support/running-clock.ts';
import { patienceMs, until } from '../../../support/until.ts';
import { parseLatency } from '../../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { type SentMessage, eventsOf, statesOf } from '../../../support/invariant.ts';

let harness: CarrierHarness;
let beta: Simulator;
const others: Simulator[] = [];
afterEach(async () => {
  await harness.stop();
  await Promise.all([beta, ...others.splice(0)].map((each) => each.close()));
});

const quick = { otpFailoverAfterMs: 500, othersFailoverAfterMs: 1_500 };

function simulatorAt(port = 0): Promise<Simulator> {
  return startSimulator({
    magic: false,
    port,
    latency: parseLatency('fixed:20')!,
    response: parseLatency('fixed:0')!,
  });
}

async function open(
  changes: Partial<CarrierConfig> = {},
): Promise<{ alpha: CarrierConfig; betaConfig: CarrierConfig }> {
  harness = await openCarrierHarness({ port: await freePort() });
  beta = await simulatorAt();
  return { alpha: carrierWith(harness.simulator, changes), betaConfig: carrierWith(beta, { name: 'beta' }) };
}

async function openBoth(
  changes: Partial<CarrierConfig> = {},
  moves: FailoverPolicy = quick,
): Promise<{ loseAlpha(): Promise<void> }> {
  const { alpha, betaConfig } = await open(changes);
  const { actor } = await harness.actor(alpha, systemClock, moves);
  await harness.actor(betaConfig, systemClock, moves);
  return {
    /** The session is closed, and the actor has seen it: what is written into a dying socket is rightly `unknown`. */
    async loseAlpha() {
      await harness.simulator.close();
      await until('the binds are lost', () => actor.status.bindsBound === 0, { everyMs: 1 });
    },
  };
}

const countOf = (nonce: string) =>
  [harness.simulator, beta, ...others].reduce((sum, simulator) => sum + simulator.nonceCount(nonce), 0);

async function settled(sent: readonly SentMessage[], limitMs = patienceMs): Promise<Record<string, number>> {
  let statuses: Record<string, number> = {};
  await until(
    'every message terminal',
    async () => {
      const states = await statesOf(harness.bus);
      const all = sent.map(({ messageId }) => states.get(messageId)?.status ?? 'none');
      statuses = Object.fromEntries([...new Set(all)].map((one) => [one, all.filter((each) => each === one).length]));
      return all.every((each) => each !== 'none' && isTerminal(each));
    },
    { limitMs, everyMs: 150 },
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(statuses)}`, { cause: error });
  });
  return statuses;
}

const expectOnce = (sent: readonly SentMessage[]) =>
  expect(sent.filter(({ nonce }) => countOf(nonce) !== 1).map(({ nonce }) => `${nonce}: ${countOf(nonce)}`)).toEqual(
    [],
  );

describe('a refusal', () => {
  test.each(['throttle', 'queue-full', 'sys-err'] as const)(
    '%s: an OTP is on the next carrier within a second',
    async (fault) => {
      await openBoth();
      harness.simulator.setFault(fault);
      const sent = await harness.send(10, { category: 'otp', plan: ['beta'] });
      // A second, and two more for a busy machine. How often alpha saw them shows that none waited first.
      const soon = { ...within(3_000), everyMs: 5 };
      await until('all are at beta', () => sent.every(({ nonce }) => beta.nonceCount(nonce) === 1), soon);
      expect(harness.simulator.stats().submits.total).toBe(10);
      expect(await settled(sent)).toEqual({ delivered: 10 });
      expectOnce(sent);
      const rerouted = (await eventsOf(harness.bus)).filter((each) => each.kind === 'rerouted');
      expect(rerouted).toHaveLength(10);
      expect(rerouted[0]).toMatchObject({ carrier: 'alpha', hop: 0, error: expect.stringMatching(/^to beta: ESME_R/) });
      const state = (await statesOf(harness.bus)).get(sent[0]!.messageId);
      expect(state).toMatchObject({ carrier: 'beta', status: 'delivered' });
    },
  );

  test('throttled: the OTP that wait for their turn at the lower rate are on the next carrier within seconds', async () => {
    await openBoth({ tps: 20 });
    harness.simulator.setFault('throttle');
    const sent = await harness.send(150, { category: 'otp', plan: ['beta'] });
    await until('all are at beta', () => sent.every(({ nonce }) => beta.nonceCount(nonce) === 1), {
      ...within(6_000),
      everyMs: 5,
    });
    expect(harness.simulator.stats().submits.total).toBeLessThan(100);
    expect(await settled(sent)).toEqual({ delivered: 150 });
    expectOnce(sent);
  });

  test('throttled without another carrier: an OTP waits and is sent in the end', async () => {
    await openBoth();
    harness.simulator.setFault('throttle', { limit: 5 });
    const sent = await harness.send(5, { category: 'otp' });
    expect(await settled(sent)).toEqual({ delivered: 5 });
    expect(beta.stats().submits.total).toBe(0);
  });

  test('a status that asks for the next carrier moves every category, and is a rejection when there is none', async () => {
    await openBoth({ errors: { ESME_RSYSERR: 'next' } });
    harness.simulator.setFault('sys-err');
    const sent = await harness.send(20, { plan: ['beta'] });
    const last = await harness.send(5);
    expect(await settled(sent)).toEqual({ delivered: 20 });
    expect(await settled(last)).toEqual({ rejected: 5 });
    expectOnce(sent);
    expect(beta.stats().submits.total).toBe(20);
  });

  test('both refuse: a message passes through its plan once and no further', async () => {
    await openBoth({ errors: { ESME_RSYSERR: 'next' } });
    harness.simulator.setFault('sys-err');
    beta.setFault('sys-err');
    const sent = await harness.send(5, { plan: ['beta'], validUntilMs: systemClock.nowMs() + 4_000 });
    expect(await settled(sent)).toEqual({ expired: 5 });
    expect(harness.simulator.stats().submits.total).toBe(5);
    const expired = (await eventsOf(harness.bus)).find((each) => each.kind === 'expired');
    expect(expired).toMatchObject({ carrier: 'beta', hop: 1, error: 'validity_passed:ESME_RSYSERR' });
  });

  const long = (nonce: string) => `#${nonce}# ${'long '.repeat(80)}`;

  test('a long message of which every segment is refused goes to the next carrier whole', async () => {
    await openBoth({ errors: { ESME_RSYSERR: 'next' } });
    harness.simulator.setFault('sys-err');
    const sent = await harness.send(20, { segments: 3, plan: ['beta'] }, long);
    expect(await settled(sent)).toEqual({ delivered: 20 });
    expect(beta.stats().submits.accepted).toBe(60);
    expect(harness.simulator.stats().submits.accepted).toBe(0);
  });

  test('a long message with an accepted segment stays, whatever the other segments are answered', async () => {
    await openBoth();
    harness.simulator.setFault('reject-part', { arg: 2 });
    const sent = await harness.send(10, { segments: 3, plan: ['beta'] }, long);
    expect(await settled(sent)).toEqual({ rejected: 10 });
    expect(beta.stats().submits.total).toBe(0);
  });

  test('no answer at all: the message is unknown and stays where it is', async () => {
    await openBoth({ responseTimerMs: 800 });
    harness.simulator.setFault('no-resp');
    const sent = await harness.send(5, { category: 'otp', plan: ['beta'] });
    await until('all are unknown', async () => {
      const states = await statesOf(harness.bus);
      return sent.every(({ messageId }) => states.get(messageId)?.history.some((each) => each.status === 'unknown'));
    });
    expect(beta.stats().submits.total).toBe(0);
  });
});

describe('a carrier slower than its contract', () => {
  test('gets less bulk until it stops throttling, and an OTP meanwhile goes to another', async () => {
    harness = await openCarrierHarness({ accounts: [{ systemId: 'heliograph', password: 'sandbox', tps: 100 }] });
    beta = await simulatorAt();
    const { actor } = await harness.actor(carrierWith(harness.simulator, { tps: 400 }), systemClock, quick);
    await harness.actor(carrierWith(beta, { name: 'beta' }), systemClock, quick);
    const bulk = await harness.send(500, { category: 'promotional' });
    await until('it complains', () => harness.simulator.stats().submits.throttled > 0);
    const otp = await harness.send(5, { category: 'otp', plan: ['beta'] });
    expect(await settled([...bulk, ...otp])).toEqual({ delivered: 505 });
    expectOnce([...bulk, ...otp]);
    const { throttled, total } = harness.simulator.stats().submits;
    // At the contract's rate three of four would be refused, again and again.
    expect(throttled / total).toBeLessThan(0.45);
    expect(actor.status.inFlight).toBe(0);
  });
});

describe('a carrier that is down', () => {
  test('OTP moves first, the rest after its time; new bulk returns with the carrier, and nothing is lost or sent twice', async () => {
    // So far apart that a busy machine cannot bring the two together.
    const moves = { ...quick, othersFailoverAfterMs: 8_000 };
    const { loseAlpha } = await openBoth({}, moves);
    const first = await harness.send(50, { plan: ['beta'] });
    expect(await settled(first)).toEqual({ delivered: 50 });
    expect(beta.stats().submits.total).toBe(0);
    const { port } = harness.simulator;
    await loseAlpha();
    const began = systemClock.monotonicMs();
    const otp = await harness.send(20, { category: 'otp', plan: ['beta'] });
    const bulk = await harness.send(300, { category: 'promotional', plan: ['beta'] });
    await until('the OTPs are at beta', () => otp.every(({ nonce }) => beta.nonceCount(nonce) === 1), { everyMs: 5 });
    expect(systemClock.monotonicMs() - began).toBeLessThan(moves.othersFailoverAfterMs);
    expect(bulk.some(({ nonce }) => beta.nonceCount(nonce) > 0)).toBe(false);
    expect(await settled([...otp, ...bulk])).toEqual({ delivered: 320 });
    expectOnce([...otp, ...bulk]);
    const again = await simulatorAt(port);
    others.push(again);
    const before = beta.stats().submits.total;
    // Its binds back off randomly, longer after a long outage, and then it must be without a fault for a while.
    await until('alpha is used again', async () => {
      const [one] = await harness.send(1, { category: 'otp', plan: ['beta'] });
      await until('it is somewhere', () => countOf(one!.nonce) === 1);
      return again.nonceCount(one!.nonce) === 1;
    });
    expect(beta.stats().submits.total).toBeGreaterThanOrEqual(before);
  });

  test('a message without an alternative that cannot be sent in time ends expired, with the reason', async () => {
    const { loseAlpha } = await openBoth();
    await loseAlpha();
    const otp = await harness.send(5, { category: 'otp', validUntilMs: systemClock.nowMs() + 1_500 });
    const later = await harness.send(5, { validUntilMs: systemClock.nowMs() + 60_000 });
    expect(await settled(otp, 8_000)).toEqual({ expired: 5 });
    const states = await statesOf(harness.bus);
    expect(states.get(otp[0]!.messageId)?.error).toBe('validity_passed:no_bind');
    expect(later.every(({ messageId }) => !states.has(messageId))).toBe(true);
  });
});

describe('kill -9 in the middle of rerouting', () => {
  test('every message is at one carrier, once', async () => {
    const { alpha, betaConfig } = await open();
    // A record that may be the second of its message is looked up, when the next process starts late.
    await harness.eventStore();
    const sent = await harness.send(2_000, { category: 'otp', plan: ['beta'] });
    await harness.simulator.close();
    const carriers = [alpha, { ...betaConfig, tps: 1_000 }];
    let child = await harness.host(carriers);
    for (const atLeast of [1, 400, 900]) {
      await until('some have moved', () => beta.stats().submits.total >= atLeast, { everyMs: 1 });
      await child.kill9();
      child = await harness.host(carriers);
    }
    const statuses = await settled(sent);
    expect((statuses['delivered'] ?? 0) + (statuses['unknown'] ?? 0)).toBe(2_000);
    expect(sent.filter(({ nonce }) => countOf(nonce) > 1)).toEqual([]);
    const states = await statesOf(harness.bus);
    const lost = sent.filter(
      ({ nonce, messageId }) => countOf(nonce) === 0 && states.get(messageId)?.status !== 'unknown',
    );
    expect(lost).toEqual([]);
    await child.drain(3_000);
  });
});
