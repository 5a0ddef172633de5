// The day on which a key was last used: reported by an ingress thread over a real nats-server, stored in a real
// PostgreSQL by the application role, whatever was down meanwhile.
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { KeysUsed } from '../../api/http/keys-used.ts';
import { keysUsedSubject } from '../../cluster/bus/subjects.ts';
import { recordKeysUsed } from '../../control/requests.ts';
import { createAccount } from '../../control/store/accounts.ts';
import { createKey, listKeys } from '../../control/store/api-keys.ts';
import { listAuditRecords } from '../../control/store/audit-log.ts';
import { readOutbox } from '../../control/store/outbox.ts';
import type { AccountId, ApiKeyId } from '../../model/ids.ts';
import { patienceMs, until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { type TestBus, startBus } from '../support/bus.ts';
import { type TestDatabase, startDatabase } from '../support/database.ts';
import { ManualClock } from '../support/manual-clock.ts';

let harness: TestBus;
let database: TestDatabase;
beforeAll(async () => {
  [harness, database] = await Promise.all([startBus(), startDatabase()]);
});
afterAll(() => Promise.all([harness?.stop(), database?.stop()]));

const dayMs = 86_400_000;
const { publishEveryMs } = limits.keysUsed;

async function accountWithKeys(count: number): Promise<{ accountId: AccountId; keys: ApiKeyId[] }> {
  const made = await createAccount(database.store, { name: 'Uses keys' });
  if (!made.ok) throw new Error(made.code);
  const keys: ApiKeyId[] = [];
  for (let at = 0; at < count; at += 1) {
    const key = await createKey(database.store, { accountId: made.account.id, livemode: true, scopes: ['sms:send'] });
    if (!key.ok) throw new Error(key.code);
    keys.push(key.key.id);
  }
  return { accountId: made.account.id, keys };
}

async function daysOf(accountId: AccountId): Promise<Record<string, string | null>> {
  const page = await listKeys(database.store, accountId, { limit: 100, after: null });
  return Object.fromEntries(page.items.map(({ id, lastUsedOn }) => [id, lastUsedOn]));
}

test('a key is reported once a day, again until the database has it, and no day goes back', async () => {
  const { accountId, keys } = await accountWithKeys(3);
  const [one, two, never] = keys as [ApiKeyId, ApiKeyId, ApiKeyId];
  const reports: string[] = [];
  const listening = harness.bus.connection.subscribe(keysUsedSubject, {
    callback: (_error, msg) => void reports.push(msg.string()),
  });
  const requests = vi.spyOn(harness.bus.connection, 'request');
  const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
  const used = new KeysUsed(harness.bus, clock, 200);
  // The next minute begins only when the report of this one has ended: meanwhile none is published, and no day begins.
  const isAnsweredInAMinute = async () => {
    const before = requests.mock.results.length;
    clock.advance(publishEveryMs);
    const ends = await Promise.allSettled(requests.mock.results.slice(before).map(({ value }) => value));
    await setImmediate();
    return ends.length > 0 && ends.every(({ status }) => status === 'fulfilled');
  };
  for (let times = 0; times < 1_000; times += 1) used.note(one);
  used.note(two);

  // No control role runs: it is published again.
  expect(await isAnsweredInAMinute()).toBe(false);
  expect(await isAnsweredInAMinute()).toBe(false);
  await until('both reports', () => reports.length === 2);
  const stop = recordKeysUsed(harness.bus, database.store);
  await harness.bus.connection.flush();
  await until('an answer', isAnsweredInAMinute);
  expect(await daysOf(accountId)).toEqual({ [one]: '2026-11-22', [two]: '2026-11-22', [never]: null });
  expect(new Set(reports)).toEqual(new Set([JSON.stringify({ day: '2026-11-22', keys: [one, two] })]));

  const before = reports.length;
  used.note(one);
  clock.advance(10 * publishEveryMs);
  clock.advance(dayMs);
  used.note(one);
  await until('an answer of the next day', isAnsweredInAMinute);
  expect(await daysOf(accountId)).toEqual({ [one]: '2026-11-23', [two]: '2026-11-22', [never]: null });
  expect(new Set(reports.slice(before))).toEqual(new Set([JSON.stringify({ day: '2026-11-23', keys: [one] })]));

  // A report of another thread that comes late.
  const late = JSON.stringify({ day: '2026-11-21', keys: [one, two] });
  await harness.bus.connection.request(keysUsedSubject, late, { timeout: patienceMs });
  expect(await daysOf(accountId)).toEqual({ [one]: '2026-11-23', [two]: '2026-11-22', [never]: null });
  stop();
  used.stop();
  listening.unsubscribe();
  requests.mockRestore();
});

test('it is no change of a key: neither the audit log nor the directory has it, and an unreadable report is dropped', async () => {
  const { accountId, keys } = await accountWithKeys(1);
  const records = async () => (await listAuditRecords(database.store, { limit: 100, after: null })).items.length;
  const [recordsBefore, outboxBefore] = [await records(), (await readOutbox(database.store, 100)).length];
  const stop = recordKeysUsed(harness.bus, database.store);
  const publish = (text: string, timeout = 500) => harness.bus.connection.request(keysUsedSubject, text, { timeout });
  for (const text of [
    '',
    '{}',
    '{"day":"today","keys":[]}',
    '{"day":"2026-11-22","keys":[1]}',
    '{"day":"2026-13-99","keys":["x"]}',
  ])
    await expect(publish(text)).rejects.toThrow();
  await publish(JSON.stringify({ day: '2026-11-22', keys: [...keys, 'key_of_nobody'] }), patienceMs);
  expect(await daysOf(accountId)).toEqual({ [keys[0] as string]: '2026-11-22' });
  expect([await records(), (await readOutbox(database.store, 100)).length]).toEqual([recordsBefore, outboxBefore]);
  stop();
});
