// One more try of what is unknown, through the whole system: the operator sets it on the command line, the carriers
// hear of it, their process is killed with submits in the air, and then the API, the metric, ClickHouse and the
// carriers themselves tell the same story: copies only of OTP, only where it was decided, never a third.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../platform/deadline.ts';
import { type FarEnds, startFarEnds } from '../support/far-ends.ts';
import { recordedMessages } from '../support/recorded-messages.ts';
import { lateSettlementMs, settledReckoning } from '../support/reckoning.ts';
import { SmsClient } from '../support/sms-client.ts';
import { endSystems } from '../support/system.ts';
import { sendTraffic } from '../support/traffic.ts';
import { type WholeSystem, startWholeSystem } from '../support/whole-system.ts';

let farEnds: FarEnds;
let system: WholeSystem;
let client: SmsClient;

beforeAll(async () => {
  // Answers take long: many submits are in the air whenever the process dies.
  farEnds = await startFarEnds({ responseMs: 'uniform:200,400', receiptMs: 'uniform:50,300', window: 30 });
  system = await startWholeSystem(farEnds.configuration);
  client = new SmsClient(system.httpPort, system.keys.liveKey);
});
afterAll(async () => {
  client?.close();
  await endSystems();
  await farEnds?.close();
});

it('what the account asks for is sent once more, told everywhere, and nothing else is', {
  timeout: 150_000,
}, async () => {
  await system.cli('accounts', 'resend', system.keys.accountId, '--categories', 'otp');
  await until('the settings tell it', async () => {
    const { json } = await client.call('GET', '/v1/account/settings');
    return (json['resend_unknown'] as { otp: boolean } | undefined)?.otp === true;
  });
  const traffic = sendTraffic(client, { ratePerSecond: 150, seconds: 6, seed: 6 });
  await until('submits are in the air', () => farEnds.taken() > 150, { everyMs: 5 });
  await system.kill9('actors');
  const promised = await traffic;
  const reckoning = await settledReckoning(client, farEnds, promised, lateSettlementMs);
  expect(reckoning).toMatchObject({ missing: [], strangers: [], open: [], endedTwice: [], lost: [], unsettled: [] });

  const views = new Map((await client.list()).map((view) => [view.id, view]));
  const isResent = (id: string) =>
    views.get(id)?.history.some(({ error }) => error === 'resent_by_policy:no_outcome_after_restart') === true;
  const resent = promised.filter(({ id }) => isResent(id));
  const copies = promised.filter(({ nonce }) => farEnds.countOf(nonce) > 1);
  expect(resent.length).toBeGreaterThan(0);
  expect(new Set(resent.map(({ body }) => body.category))).toEqual(new Set(['otp']));
  expect(copies.filter(({ id }) => !isResent(id))).toEqual([]);
  expect(Math.max(...promised.map(({ nonce }) => farEnds.countOf(nonce)))).toBeLessThanOrEqual(2);
  // Nobody's OTP is left unknown: that is what it is for.
  expect(resent.filter(({ id }) => views.get(id)?.status !== 'delivered')).toEqual([]);
  expect(await system.metric('heliograph_resent_by_policy_total')).toBe(resent.length);

  await system.recorded();
  expect(await system.stop()).toBe(0);
  const recorded = await recordedMessages(system.dataDir);
  expect(recorded.rows.resent).toBe(resent.length);
  expect(recorded.repeatedRows).toBe(0);
  process.stdout.write(`resent by policy: ${resent.length}, of which ${copies.length} arrived twice\n`);
});
