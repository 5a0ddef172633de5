// Settings, templates and suppressed numbers from PostgreSQL to an entry point's memory, on real parts: in effect
// within a second, complete while a list is divided again, and repaired after drift.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { BusCalls } from '../../directory/bus-calls.ts';
import { reconcile } from '../../control/projection/projection.ts';
import { changeAccountSettings } from '../../control/store/account-settings.ts';
import { revokeKey } from '../../control/store/api-keys.ts';
import { setSenderStatus } from '../../control/store/senders.ts';
import { operator } from '../../control/store/store.ts';
import { addSuppressions, listSuppressions, removeSuppression } from '../../control/store/suppressions.ts';
import { createTemplate, deleteTemplate, setTemplateStatus } from '../../control/store/templates.ts';
import type { AccountId } from '../../model/ids.ts';
import { nextTurn } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { type DirectoryHarness, openDirectoryHarness } from '../support/directory-harness.ts';
import { runningClock } from '../support/running-clock.ts';
import { newAccount, newKey, newSender } from '../support/tenants.ts';

const promised = { limitMs: 1_000, everyMs: 2, clock: runningClock() };

let harness: DirectoryHarness;
let accountId: AccountId;

beforeAll(async () => {
  harness = await openDirectoryHarness();
});
afterAll(() => harness?.stop());
beforeEach(async () => {
  accountId = await newAccount(harness.store);
  harness.project();
  await until('the account is known', () => harness.directory.account(accountId));
});
afterEach(() => harness.endProjectors());

const account = () => harness.directory.account(accountId);
const isSuppressed = (number: string, sender = 'HELIO', category: 'otp' | 'promotional' = 'otp') =>
  account()?.suppressions.has(number, sender, category) === true;
const everything = { sender: null, category: null, reason: 'manual' } as const;
const numbersFrom = (first: number, count: number) => Array.from({ length: count }, (_, at) => `+88017${first + at}`);

test('settings of an account and of a key, and categories of a sender, are in effect within a second', async () => {
  const sender = await newSender(harness.store, accountId, 'HELIO');
  await setSenderStatus(harness.store, sender, 'approved', operator, ['otp']);
  await changeAccountSettings(harness.store, accountId, {
    ipAllowlist: ['192.0.2.0/24'],
    requireTemplate: ['promotional'],
    contentWords: ['casino'],
    rate: { perSecond: 5, burst: 10 },
    idempotencyKeysPerHour: 7,
    resendUnknown: ['otp'],
    weight: 20,
  });
  const made = await newKey(harness.store, accountId, { ipAllowlist: ['::1'], rate: { perSecond: 1, burst: 1 } });
  await until('all of it is known', () => harness.directory.authenticate(made.token).ok && account()?.rate, promised);
  expect(account()).toMatchObject({
    networks: ['192.0.2.0/24'],
    requireTemplate: ['promotional'],
    content: { words: ['casino'], linksDenied: [], linksAllowed: [] },
    rate: { perSecond: 5, burst: 10 },
    idempotencyKeysPerHour: 7,
    resendUnknown: ['otp'],
    weight: 20,
  });
  expect(account()?.senderCategories.get('HELIO')).toEqual(['otp']);
  expect(harness.directory.authenticate(made.token)).toMatchObject({
    key: { networks: ['::1'], rate: { perSecond: 1, burst: 1 } },
  });
});

test('a template is known when it is approved, and forgotten when it is rejected or deleted', async () => {
  const source = {
    name: 'login',
    category: 'otp',
    body: 'Code {{code}}',
    variables: [{ name: 'code', type: 'code', size: 6 }],
  } as const;
  const made = await createTemplate(harness.store, { ...source, accountId, status: 'pending' });
  if (!made.ok) throw new Error(made.code);
  expect(await createTemplate(harness.store, { ...source, accountId, status: 'pending' })).toMatchObject({
    code: 'template_exists',
  });
  const { id } = made.template;
  const known = () => account()?.templates.find(id);
  await harness.outboxEmpty();
  expect(known()).toBeUndefined();
  await setTemplateStatus(harness.store, id, 'approved');
  expect(await until('it is known', known, promised)).toMatchObject({ body: source.body, variables: source.variables });
  expect([...(account()?.templates.ofCategory('otp') ?? [])].length).toBe(1);
  await setTemplateStatus(harness.store, id, 'rejected');
  await until('it is forgotten', () => known() === undefined, promised);
  await setTemplateStatus(harness.store, id, 'approved');
  await until('it is known again', known, promised);
  await deleteTemplate(harness.store, id, { accountId });
  await until('it is gone', () => known() === undefined, promised);
  // Nothing to repair: what the outbox wrote is the desired state.
  expect(await reconcile(harness.store, new BusCalls(harness.bus))).toBe(0);
});

describe('suppressed numbers', () => {
  test('are in effect within a second, for what they cover, and gone within a second', async () => {
    const [first = '', second = ''] = numbersFrom(10_000_000, 2);
    await addSuppressions(harness.store, { accountId, numbers: [first], ...everything });
    await until('it is in effect', () => isSuppressed(first), promised);
    expect(isSuppressed(second)).toBe(false);
    await addSuppressions(harness.store, {
      accountId,
      numbers: [second],
      sender: 'HELIO',
      category: 'promotional',
      reason: 'opted_out',
    });
    await until('it is in effect', () => isSuppressed(second, 'HELIO', 'promotional'), promised);
    expect([isSuppressed(second, 'HELIO', 'otp'), isSuppressed(second, 'OTHER', 'promotional')]).toEqual([
      false,
      false,
    ]);
    const again = await addSuppressions(harness.store, { accountId, numbers: [first], ...everything });
    expect(again).toEqual({ ok: true, added: [] });

    const { items } = await listSuppressions(harness.store, accountId, { limit: 10, after: null }, first);
    expect(items.map((item) => item.number)).toEqual([first]);
    await removeSuppression(harness.store, items[0]!.id, { accountId });
    await until('it is gone', () => !isSuppressed(first), promised);
  });

  test('stay covered without a gap while their list is divided again, at every size', async () => {
    const watched = numbersFrom(20_000_000, 50);
    await addSuppressions(harness.store, { accountId, numbers: watched, ...everything });
    await until('they are in effect', () => watched.every((number) => isSuppressed(number)), promised);
    let gaps = 0;
    let looking = true;
    const look = (async () => {
      while (looking) {
        gaps += watched.filter((number) => !isSuppressed(number)).length;
        await until('a turn', () => true);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    // 2,050, then 16,050: from one block to 8 and to 64.
    await addSuppressions(harness.store, { accountId, numbers: numbersFrom(30_000_000, 2_000), ...everything });
    for (let at = 0; at < 2; at += 1) {
      await addSuppressions(harness.store, {
        accountId,
        numbers: numbersFrom(40_000_000 + at * 7_000, 7_000),
        ...everything,
      });
    }
    await until('all are in effect', () => isSuppressed('+8801730001999') && isSuppressed('+8801740013999'));
    await harness.outboxEmpty();
    looking = false;
    await look;
    expect(gaps).toBe(0);
    const bucket = await openBucket(harness.bus, 'suppression');
    const cuts = new Set<string>();
    for await (const key of await bucket.keys(`block.${accountId}.>`)) cuts.add(key.split('.')[2] ?? '');
    expect([...cuts]).toEqual(['6']);
  });

  test('stay covered when their list is divided while earlier changes of its blocks wait to be projected', async () => {
    const watched = numbersFrom(20_000_000, 50);
    await addSuppressions(harness.store, { accountId, numbers: watched, ...everything });
    await addSuppressions(harness.store, { accountId, numbers: numbersFrom(30_000_000, 2_000), ...everything });
    await until('they are in effect', () => watched.every((number) => isSuppressed(number)));
    await harness.outboxEmpty();
    await harness.endProjectors();
    // The first change is of 8 blocks, the second one divides them into 64.
    for (const first of [40_000_000, 40_007_000])
      await addSuppressions(harness.store, { accountId, numbers: numbersFrom(first, 7_000), ...everything });
    let gaps = 0;
    let looking = true;
    const look = (async () => {
      while (looking) {
        gaps += watched.filter((number) => !isSuppressed(number)).length;
        await nextTurn();
      }
    })();
    harness.project();
    await harness.outboxEmpty();
    await until('all are in effect', () => isSuppressed('+8801740013999'));
    looking = false;
    await look;
    expect(gaps).toBe(0);
  });

  test('that drifted are repaired by comparing versions', async () => {
    const [number = ''] = numbersFrom(50_000_000, 1);
    await addSuppressions(harness.store, { accountId, numbers: [number], ...everything });
    await until('it is in effect', () => isSuppressed(number), promised);
    await harness.outboxEmpty();
    // Its own first comparison may still run, and would repair the drift before ours.
    await harness.endProjectors();
    const bucket = await openBucket(harness.bus, 'suppression');
    await bucket.put(`block.${accountId}.0.0`, '{"v":1,"version":"other","lists":[]}');
    await until('it is lost', () => !isSuppressed(number));
    expect(await reconcile(harness.store, new BusCalls(harness.bus))).toBeGreaterThan(0);
    await until('it is back', () => isSuppressed(number), promised);
  });

  test('an import of ten thousand does not delay a revocation', async () => {
    const made = await newKey(harness.store, accountId);
    await until('the key is known', () => harness.directory.authenticate(made.token).ok);
    await addSuppressions(harness.store, { accountId, numbers: numbersFrom(60_000_000, 10_000), ...everything });
    await revokeKey(harness.store, made.id);
    await until('the key is refused', () => !harness.directory.authenticate(made.token).ok, promised);
    await until('the numbers are in effect', () => isSuppressed('+8801760009999'));
  });

  test('of an unknown account, or beyond the bound, are refused', async () => {
    const nobody = 'acc_00000000000000000000000000' as AccountId;
    expect(
      await addSuppressions(harness.store, { accountId: nobody, numbers: ['+8801710000000'], ...everything }),
    ).toEqual({
      ok: false,
      code: 'account_not_found',
    });
    await harness.store.db.updateTable('accounts').set({ suppressed: 999_999 }).where('id', '=', accountId).execute();
    const two = numbersFrom(70_000_000, 2);
    expect(await addSuppressions(harness.store, { accountId, numbers: two, ...everything })).toMatchObject({
      code: 'too_many_suppressions',
    });
    expect(await addSuppressions(harness.store, { accountId, numbers: two.slice(1), ...everything })).toMatchObject({
      ok: true,
    });
  });
});
