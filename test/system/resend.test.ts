// Sending unknown messages once more, through the whole system: the operator sets it on the command line, the carriers
// learn it, their process is killed with outstanding submits, and then the API, the metric, ClickHouse and the carriers
// agree: copies only of OTP, only where it was decided, never a third.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { recordedMessages } from '../support/recorded-messages.ts';
import { lateSettlementMs, settledReconciliation } from '../support/reconciliation.ts';
import { sendTraffic } from '../support/traffic.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

let harness: SystemHarness;

beforeAll(async () => {
  // Answers are slow: many submits are outstanding whenever the process dies.
  harness = await openSystemHarness({
    responseMs: 'uniform:200,400',
    receiptMs: 'uniform:50,300',
    window: 30,
    // The carriers are in this process: when a busy machine stalls it for seconds, no session is lost and nothing is sent again for that.
    configured: (text) => text.replaceAll('enquire_link_s: 30', 'enquire_link_s: 30\n    response_timer_s: 20'),
  });
});
afterAll(() => harness?.stop());

it('what the account asks for is sent once more and published everywhere, and nothing else is', {
  timeout: 150_000,
}, async () => {
  await harness.system.cli('accounts', 'resend', harness.system.keys.accountId, '--categories', 'otp');
  await until('the settings have it', async () => {
    const { json } = await harness.client.call('GET', '/v1/account/settings');
    return (json['resend_unknown'] as { otp: boolean } | undefined)?.otp === true;
  });
  const traffic = sendTraffic(harness.client, { ratePerSecond: 150, seconds: 6, seed: 6 });
  await until('submits are in the air', () => harness.smscPeers.taken() > 150, { everyMs: 5 });
  await harness.system.kill9('actors');
  const promised = await traffic;
  const reconciliation = await settledReconciliation(harness, promised, lateSettlementMs);
  expect(reconciliation).toMatchObject({
    missing: [],
    foreigners: [],
    open: [],
    endedTwice: [],
    lost: [],
    unsettled: [],
  });

  const views = new Map((await harness.client.list()).map((view) => [view.id, view]));
  const isResent = (id: string, why = '') =>
    views.get(id)?.history.some(({ error }) => error?.startsWith(`resent_by_policy:${why}`)) === true;
  // On a busy machine a session may be lost as well, and its submits are sent again for that reason.
  const resent = promised.filter(({ id }) => isResent(id));
  const copies = promised.filter(({ nonce }) => harness.smscPeers.countOf(nonce) > 1);
  expect(resent.filter(({ id }) => isResent(id, 'no_outcome_after_restart'))).not.toEqual([]);
  expect(new Set(resent.map(({ body }) => body.category))).toEqual(new Set(['otp']));
  expect(copies.filter(({ id }) => !isResent(id))).toEqual([]);
  expect(Math.max(...promised.map(({ nonce }) => harness.smscPeers.countOf(nonce)))).toBeLessThanOrEqual(2);
  // No OTP is left unknown: that is the purpose.
  expect(resent.filter(({ id }) => views.get(id)?.status !== 'delivered')).toEqual([]);
  // A busy thread is left out of /metrics.
  const counted = await until('they are counted', () => harness.system.metric('heliograph_resent_by_policy_total'));
  expect(counted).toBe(resent.length);

  await harness.system.recorded();
  expect(await harness.system.stop()).toBe(0);
  const recorded = await recordedMessages(harness.system.dataDir);
  expect(recorded.rows.resent).toBe(resent.length);
  expect(recorded.repeatedRows).toBe(0);
  process.stdout.write(`resent by policy: ${resent.length}, of which ${copies.length} arrived twice\n`);
});
