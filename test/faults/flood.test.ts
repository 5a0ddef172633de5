// One tenant floods the OTP lane of a carrier, ten times as fast as it accepts (fault 31). Every other tenant's OTP is
// sent as usual, also in its account shard. Each one's wait is counted in what the carrier accepted meanwhile, which a
// slow machine does not change; everything accepted is sent once.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConnections } from '../../cluster/supervisor/data-folder.ts';
import { type Store, openStore } from '../../control/store/store.ts';
import { type AccountId, shardOf } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import type { SmsClient } from '../support/sms-client.ts';
import { newAccount, newKey, newSender } from '../support/tenants.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

const tps = 300;
/** So much of the flood waits until the others have all been sent. */
const floodMessages = 3_000;
const batchMessages = 250;
const seconds = 5;
const otpPerSecond = 20;
/** What the carrier may accept before another tenant's OTP, on a busy machine: a tenth of the flood. */
const passedByMax = floodMessages / 10;

let harness: SystemHarness;
let store: Store;

beforeAll(async () => {
  harness = await openSystemHarness({
    responseMs: 'uniform:5,20',
    receiptMs: 'uniform:20,100',
    window: 20,
    configured: (text) => text.replaceAll('tps: 5000', `tps: ${tps}`),
  });
  store = openStore(readConnections(harness.system.dataDir)!.databaseUrl ?? '');
});
afterAll(async () => {
  await store?.close();
  await harness?.stop();
});

const shardOfAccount = (id: AccountId) => shardOf(id, limits.bus.accountShards);

/** A tenant that may send, in this account shard; -1 is any. */
async function tenant(shard: number): Promise<{ accountId: AccountId; client: SmsClient }> {
  for (;;) {
    const accountId = await newAccount(store, 'Tenant');
    if (shard >= 0 && shardOfAccount(accountId) !== shard) continue;
    await newSender(store, accountId, 'HELIOGRAPH', 'approved');
    const { token } = await newKey(store, accountId, { scopes: ['sms:send', 'sms:read'] });
    return { accountId, client: harness.clientOf(token) };
  }
}

let made = 0;
function otp() {
  made += 1;
  const nonce = (36 ** 3 + made).toString(36);
  return { nonce, body: { to: `+88017${10_000_000 + made}`, message: `Your code. #${nonce}#`, category: 'otp' } };
}

/** The whole batch: items that did not begin in time on a busy machine are tried again under the same key. */
async function sendBatch(client: SmsClient, messages: readonly object[]): Promise<void> {
  const key = { 'idempotency-key': `batch-${made}` };
  await until('the whole batch is accepted', async () => {
    const { status, json } = await client.call('POST', '/v1/sms/batch', { messages }, key);
    if (status === 429 || status === 503) return false;
    const results = (json['results'] ?? []) as { error?: { code: string } }[];
    const refusals = results.flatMap(({ error }) => (error === undefined ? [] : [error.code]));
    expect([status, refusals.filter((code) => code !== 'overloaded')]).toEqual([202, []]);
    return json['accepted'] === messages.length;
  });
}

it('a flood of one tenant’s OTP delays no other tenant’s, also in its own shard', { timeout: 200_000 }, async () => {
  const flooding = await tenant(-1);
  const neighbours = [
    await tenant(shardOfAccount(flooding.accountId)),
    await tenant(shardOfAccount(flooding.accountId)),
  ];
  const others = [...neighbours, await tenant(-1), await tenant(-1)];
  await until('all keys are known', async () => {
    const answers = await Promise.all([flooding, ...others].map(({ client }) => client.call('GET', '/v1/sms')));
    return answers.every(({ status }) => status === 200);
  });

  const floodNonces: string[] = [];
  const floodWaits = () => floodNonces.filter((nonce) => harness.smscPeers.countOf(nonce) === 0).length;
  let othersAreThere = false;
  // Three at a time, each small enough that all its items usually begin in time.
  const batches = Array.from({ length: 3 }, async () => {
    while (!othersAreThere) {
      const messages = Array.from({ length: batchMessages }, () => {
        const { nonce, body } = otp();
        floodNonces.push(nonce);
        return { from: 'HELIOGRAPH', ...body };
      });
      await sendBatch(flooding.client, messages);
      await until('more fits in', () => othersAreThere || floodWaits() < floodMessages);
    }
  });
  await until('the flood has begun', () => floodNonces.some((nonce) => harness.smscPeers.countOf(nonce) > 0), {
    everyMs: 5,
  });

  const sent: { nonce: string; tenant: number; acceptedAtMs: number }[] = [];
  const beganMs = systemClock.monotonicMs();
  for (let n = 0; n < seconds * otpPerSecond; n += 1) {
    // At their times, however long each takes to be answered: the flood must not be over before them.
    await systemClock.sleep(Math.max(0, beganMs + (n * 1_000) / otpPerSecond - systemClock.monotonicMs()));
    const { nonce, body } = otp();
    const of = n % others.length;
    await others[of]!.client.send(body, `flood-${nonce}`);
    sent.push({ nonce, tenant: of, acceptedAtMs: systemClock.nowMs() });
  }
  await until('every OTP of the others is there', () =>
    sent.every(({ nonce }) => harness.smscPeers.countOf(nonce) > 0),
  );
  // Otherwise there was nothing to wait for.
  expect(floodWaits()).toBeGreaterThan(tps);
  othersAreThere = true;
  await Promise.all(batches);

  const taken = harness.smscPeers.carriers.alpha.messages();
  const placeOf = new Map(taken.map(({ text }, place) => [/#(\w+)#/.exec(text)?.[1], place]));
  const waits = sent.map(({ nonce, tenant: of, acceptedAtMs }) => {
    const place = placeOf.get(nonce)!;
    const before = taken.findLastIndex(({ at }) => at < acceptedAtMs);
    return { of, passedBy: Math.max(0, place - before), waitedMs: taken[place]!.at - acceptedAtMs };
  });
  const worst = (all: typeof waits) => ({
    passedBy: Math.max(...all.map(({ passedBy }) => passedBy)),
    waitedMs: Math.max(...all.map(({ waitedMs }) => waitedMs)),
  });
  const inItsShard = worst(waits.filter(({ of }) => of < neighbours.length));
  const elsewhere = worst(waits.filter(({ of }) => of >= neighbours.length));
  process.stdout.write(
    `flood: others waited at most ${elsewhere.waitedMs} ms, in its shard ${inItsShard.waitedMs} ms (of ${waits.length})\n`,
  );
  expect(elsewhere.passedBy).toBeLessThanOrEqual(passedByMax);
  expect(inItsShard.passedBy).toBeLessThanOrEqual(passedByMax);

  const all = [...floodNonces, ...sent.map(({ nonce }) => nonce)];
  await until('the flood is over', () => all.every((nonce) => harness.smscPeers.countOf(nonce) > 0));
  expect(all.filter((nonce) => harness.smscPeers.countOf(nonce) !== 1)).toEqual([]);
  // A busy thread is left out of /metrics.
  await until('some was moved to overflow', () => harness.system.metric('heliograph_carrier_overflowed_total'));
});
