// What the guard answered to requests, in FACTS on a real nats-server: one by one up to the rate of an account, and the rest
// with its number.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GuardDecisions } from '../../../acceptance/otp-guard/guard-decisions.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import type { GuardFact } from '../../../model/fact.ts';
import { newAccountId } from '../../../model/ids.ts';
import { decodeFacts } from '../../../model/records/fact-record.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import type { GuardFinding } from '../../../policy/otp-guard/contract.ts';
import { type TestBus, recordsOf, startBus } from '../../support/bus.ts';
import { until } from '../../support/until.ts';

const { refusalsBurst, leftOutEveryMs } = limits.facts;
let harness: TestBus;
let publisher: Publisher;
let decisions: GuardDecisions;
let tick = () => {};
/** Stands still: no rate comes back. */
const clock: Clock = {
  ...systemClock,
  monotonicMs: () => 1_000,
  every(ms, run) {
    expect(ms).toBe(leftOutEveryMs);
    tick = run;
    return () => (tick = () => {});
  },
};
beforeAll(async () => {
  harness = await startBus();
  publisher = new Publisher(harness.bus);
  decisions = new GuardDecisions(publisher, clock);
});
afterAll(async () => {
  decisions.stop();
  publisher.close();
  await harness.stop();
});

const finding = (more: Partial<GuardFinding> = {}): GuardFinding => ({
  ...{ rule: 'velocity', action: 'challenge', scope: '+880171234', statistic: 20, threshold: 20 },
  ...{ shadow: false, retryAfterMs: 0, ...more },
});
const facts = async (accountId: string) =>
  (await recordsOf(harness.bus, streamNames.facts))
    .flatMap(({ data }) => decodeFacts(data))
    .filter((fact): fact is GuardFact => fact.kind === 'guard' && fact.accountId === accountId);

test('beyond the rate of an account they are published together every ten seconds, by rule and answer, with their number', async () => {
  const accountId = newAccountId(1_700_000_000_000);
  const asked = { accountId, to: '+8801712345678' };
  for (let at = 0; at < refusalsBurst; at += 1) decisions.record(asked, 'refusal', finding());
  await until('the first are there', async () => (await facts(accountId)).length === refusalsBurst);
  const [first] = await facts(accountId);
  const one = { what: 'refusal', rule: 'velocity', action: 'challenge', mode: 'on' };
  expect(first).toMatchObject({ ...one, scope: '+880171234', prefix: '+8801712', times: 1 });
  for (let at = 0; at < 70_000; at += 1) decisions.record(asked, 'refusal', finding({ statistic: at % 30 }));
  decisions.record(asked, 'refusal', finding({ shadow: true }));
  decisions.record(asked, 'probe', finding({ rule: 'conversion', action: 'block' }));
  for (let at = 0; at < 3; at += 1) decisions.record(asked, 'challenge_passed', finding());
  tick();
  // Of more than the column has bits for there are two.
  await until('the others are there', async () => (await facts(accountId)).length === refusalsBurst + 5);
  const together = (await facts(accountId)).slice(refusalsBurst);
  expect(together).toMatchObject([
    { ...one, scope: '', prefix: '', statistic: 29, threshold: 20, times: 65_535 },
    { ...one, statistic: 29, times: 4_465 },
    { ...one, mode: 'shadow', times: 1 },
    { ...one, what: 'probe', rule: 'conversion', action: 'block', times: 1 },
    { ...one, what: 'challenge_passed', times: 3 },
  ]);
  expect(new Set(together.map(({ eventId }) => eventId)).size).toBe(5);
  tick();
  decisions.record(asked, 'refusal', finding());
  decisions.stop();
  await until('what was left is there', async () => (await facts(accountId)).length === refusalsBurst + 6);
});
