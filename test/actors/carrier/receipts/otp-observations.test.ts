// What carriers' actors publish of one-time passwords that are scored: each counts for the carrier that took it, also
// after it was refused by the first, and not at all when there were two copies. Two simulators, two actors, a real
// nats-server.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { GuardTalk } from '../../../../cluster/bus/otp-guard-talk.ts';
import type { Message } from '../../../../model/message.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { parseLatency } from '../../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { until } from '../../../support/until.ts';

const scored: Partial<Message> = { category: 'otp', plan: ['beta'], scoredAs: 'gamma', hedge: 'may' };
const moves = {
  otpFailoverAfterMs: 60_000,
  othersFailoverAfterMs: 60_000,
  hedging: { enabled: true, share: 0.25, control: 0, responseFloorMs: 250, receipts: false, receiptFloorMs: 250 },
};
let harness: CarrierHarness;
let beta: Simulator;
/** By message. */
const takenBy = new Map<string, string[]>();

beforeEach(async () => {
  takenBy.clear();
  harness = await openCarrierHarness();
  beta = await startSimulator({ magic: false, latency: parseLatency('fixed:20')!, response: parseLatency('fixed:0')! });
  await harness.actor(carrierWith(harness.simulator, { errors: { ESME_RSYSERR: 'next' } }), systemClock, moves);
  await harness.actor(carrierWith(beta, { name: 'beta' }), systemClock, moves);
  new GuardTalk(harness.bus, 'test').listen((each) => {
    if (each.kind !== 'taken') return;
    expect(each).toMatchObject({ operator: 'gamma', sender: 'HELIO' });
    takenBy.set(each.messageId, [...(takenBy.get(each.messageId) ?? []), each.carrier]);
  });
  await harness.bus.connection.flush();
});
afterEach(async () => {
  await harness.stop();
  await beta.close();
});

test('the carrier that took it, not the one that refused it; of messages without the mark nothing', async () => {
  const [first] = await harness.send(1, scored);
  await harness.settled([first!]);
  harness.simulator.setFault('sys-err');
  const [moved] = await harness.send(1, scored);
  const [plain] = await harness.send(1, { category: 'otp', plan: ['beta'] });
  await until('beta has both', () => beta.stats().submits.total === 2);
  harness.simulator.setFault(null);
  const [last] = await harness.send(1, { ...scored, plan: [] });
  await until('all are published', () => takenBy.has(last!.messageId) && takenBy.has(moved!.messageId));
  expect(takenBy.get(first!.messageId)).toEqual(['alpha']);
  expect(takenBy.get(moved!.messageId)).toEqual(['beta']);
  expect(takenBy.get(plain!.messageId)).toBeUndefined();
});

test('of a message whose second copy went to the next carrier nothing', async () => {
  const before = await harness.send(120, scored);
  await until('those before are published', () => takenBy.size === before.length);
  harness.simulator.setFault('no-resp', { limit: 1 });
  const [hedged] = await harness.send(1, scored);
  await until('both copies were taken', () => {
    return beta.nonceCount(hedged!.nonce) === 1 && harness.simulator.nonceCount(hedged!.nonce) === 1;
  });
  await harness.settled([hedged!]);
  const [last] = await harness.send(1, scored);
  await until('what comes later is published', () => takenBy.has(last!.messageId));
  expect(takenBy.get(hedged!.messageId)).toBeUndefined();
});
