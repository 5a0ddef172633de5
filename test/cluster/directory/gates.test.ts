// Settings, templates and suppressed numbers on their way from PostgreSQL into a door's memory, on real parts: in force
// within a second, in full while a list is cut anew, and right again after drift.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Bus, connectBus } from '../../../cluster/bus/connect.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { BusCalls } from '../../../cluster/directory/bus-calls.ts';
import type { Directory } from '../../../cluster/directory/contract.ts';
import { openDirectory } from '../../../cluster/directory/directory.ts';
import { reconcile } from '../../../cluster/directory/projection.ts';
import { type Projector, startProjector } from '../../../cluster/directory/projector.ts';
import { changeAccountSettings } from '../../../cluster/store/account-settings.ts';
import { createAccount } from '../../../cluster/store/accounts.ts';
import { createKey, revokeKey } from '../../../cluster/store/api-keys.ts';
import { readOutbox } from '../../../cluster/store/directory-rows.ts';
import { migrateStore } from '../../../cluster/store/migrate.ts';
import { createSender, setSenderStatus } from '../../../cluster/store/senders.ts';
import { type Store, openStore, operator } from '../../../cluster/store/store.ts';
import { addSuppressions, listSuppressions, removeSuppression } from '../../../cluster/store/suppressions.ts';
import { createTemplate, deleteTemplate, setTemplateStatus } from '../../../cluster/store/templates.ts';
import type { AccountId } from '../../../model/ids.ts';
import { until } from '../../../platform/deadline.ts';
import { type TestNats, startNats } from '../../support/nats.ts';
import { type TestPostgres, startPostgres } from '../../support/postgres.ts';

const promised = { limitMs: 1_000, everyMs: 2 };

let postgres: TestPostgres;
let nats: TestNats;
let store: Store;
let bus: Bus;
let directory: Directory;
let accountId: AccountId;
let projector: Projector | null = null;

beforeAll(async () => {
  [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
  await migrateStore(postgres.url);
  store = openStore(postgres.url);
  bus = await connectBus(nats.url, 'test');
  directory = await openDirectory(bus);
});
afterAll(async () => {
  await directory?.close();
  await bus?.close();
  await store?.close();
  await Promise.all([postgres?.stop(), nats?.stop()]);
});
beforeEach(async () => {
  const created = await createAccount(store, { name: 'Test' });
  if (!created.ok) throw new Error(created.code);
  accountId = created.account.id;
  projector = startProjector({ databaseUrl: postgres.url, store, bus });
  await until('the account is known', () => directory.account(accountId));
});
afterEach(async () => {
  await projector?.close();
  projector = null;
});

const account = () => directory.account(accountId);
const isSuppressed = (number: string, sender = 'HELIO', category: 'otp' | 'promotional' = 'otp') =>
  account()?.suppressions.has(number, sender, category) === true;
const everything = { sender: null, category: null, reason: 'manual' } as const;
const numbersFrom = (first: number, count: number) => Array.from({ length: count }, (_, at) => `+88017${first + at}`);
const outboxEmpty = () => until('the outbox is empty', async () => (await readOutbox(store, 1)).length === 0);

test('settings of an account and of a key, and categories of a sender, are in force within a second', async () => {
  const sender = await createSender(store, { accountId, name: 'HELIO', status: 'pending' });
  if (!sender.ok) throw new Error(sender.code);
  await setSenderStatus(store, sender.sender.id, 'approved', operator, ['otp']);
  await changeAccountSettings(store, accountId, {
    ipAllowlist: ['192.0.2.0/24'],
    requireTemplate: ['promotional'],
    contentWords: ['casino'],
    rate: { perSecond: 5, burst: 10 },
    idempotencyKeysPerHour: 7,
    resendUnknown: ['otp'],
    weight: 20,
  });
  const key = {
    accountId,
    livemode: true,
    scopes: ['sms:send'],
    ipAllowlist: ['::1'],
    rate: { perSecond: 1, burst: 1 },
  } as const;
  const made = await createKey(store, key);
  if (!made.ok) throw new Error(made.code);
  await until('all of it is known', () => directory.authenticate(made.token).ok && account()?.rate, promised);
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
  expect(directory.authenticate(made.token)).toMatchObject({
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
  const made = await createTemplate(store, { ...source, accountId, status: 'pending' });
  if (!made.ok) throw new Error(made.code);
  expect(await createTemplate(store, { ...source, accountId, status: 'pending' })).toMatchObject({
    code: 'template_exists',
  });
  const { id } = made.template;
  const known = () => account()?.templates.find(id);
  await outboxEmpty();
  expect(known()).toBeUndefined();
  await setTemplateStatus(store, id, 'approved');
  expect(await until('it is known', known, promised)).toMatchObject({ body: source.body, variables: source.variables });
  expect([...(account()?.templates.ofCategory('otp') ?? [])].length).toBe(1);
  await setTemplateStatus(store, id, 'rejected');
  await until('it is forgotten', () => known() === undefined, promised);
  await setTemplateStatus(store, id, 'approved');
  await until('it is known again', known, promised);
  await deleteTemplate(store, id, { accountId });
  await until('it is gone', () => known() === undefined, promised);
  // Nothing to repair: what the outbox wrote is what the comparison wants.
  expect(await reconcile(store, new BusCalls(bus))).toBe(0);
});

describe('suppressed numbers', () => {
  test('are in force within a second, for what they cover, and gone within a second', async () => {
    const [first = '', second = ''] = numbersFrom(10_000_000, 2);
    await addSuppressions(store, { accountId, numbers: [first], ...everything });
    await until('it is in force', () => isSuppressed(first), promised);
    expect(isSuppressed(second)).toBe(false);
    await addSuppressions(store, {
      accountId,
      numbers: [second],
      sender: 'HELIO',
      category: 'promotional',
      reason: 'opted_out',
    });
    await until('it is in force', () => isSuppressed(second, 'HELIO', 'promotional'), promised);
    expect([isSuppressed(second, 'HELIO', 'otp'), isSuppressed(second, 'OTHER', 'promotional')]).toEqual([
      false,
      false,
    ]);
    const again = await addSuppressions(store, { accountId, numbers: [first], ...everything });
    expect(again).toEqual({ ok: true, added: [] });

    const { items } = await listSuppressions(store, accountId, { limit: 10, after: null }, first);
    expect(items.map((item) => item.number)).toEqual([first]);
    await removeSuppression(store, items[0]!.id, { accountId });
    await until('it is gone', () => !isSuppressed(first), promised);
  });

  test('stay covered without a gap while their list is cut anew, over every cut', async () => {
    const watched = numbersFrom(20_000_000, 50);
    await addSuppressions(store, { accountId, numbers: watched, ...everything });
    await until('they are in force', () => watched.every((number) => isSuppressed(number)), promised);
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
    await addSuppressions(store, { accountId, numbers: numbersFrom(30_000_000, 2_000), ...everything });
    for (let at = 0; at < 2; at += 1) {
      await addSuppressions(store, { accountId, numbers: numbersFrom(40_000_000 + at * 7_000, 7_000), ...everything });
    }
    await until('all are in force', () => isSuppressed('+8801730001999') && isSuppressed('+8801740013999'), {
      limitMs: 8_000,
    });
    await outboxEmpty();
    looking = false;
    await look;
    expect(gaps).toBe(0);
    const bucket = await openBucket(bus, 'suppression');
    const cuts = new Set<string>();
    for await (const key of await bucket.keys(`block.${accountId}.>`)) cuts.add(key.split('.')[2] ?? '');
    expect([...cuts]).toEqual(['6']);
  });

  test('that drifted are repaired by comparing versions', async () => {
    const [number = ''] = numbersFrom(50_000_000, 1);
    await addSuppressions(store, { accountId, numbers: [number], ...everything });
    await until('it is in force', () => isSuppressed(number), promised);
    await outboxEmpty();
    // Its own first comparison may still run, and would repair the drift before ours.
    await projector?.close();
    projector = null;
    const bucket = await openBucket(bus, 'suppression');
    await bucket.put(`block.${accountId}.0.0`, '{"v":1,"version":"other","lists":[]}');
    await until('it is lost', () => !isSuppressed(number));
    expect(await reconcile(store, new BusCalls(bus))).toBeGreaterThan(0);
    await until('it is back', () => isSuppressed(number), promised);
  });

  test('an import of ten thousand does not keep a revocation waiting', async () => {
    const made = await createKey(store, { accountId, livemode: true, scopes: ['sms:send'] });
    if (!made.ok) throw new Error(made.code);
    await until('the key is known', () => directory.authenticate(made.token).ok);
    await addSuppressions(store, { accountId, numbers: numbersFrom(60_000_000, 10_000), ...everything });
    await revokeKey(store, made.key.id);
    await until('the key is refused', () => !directory.authenticate(made.token).ok, promised);
    await until('the numbers are in force', () => isSuppressed('+8801760009999'), { limitMs: 5_000 });
  });

  test('of an account that is not there, or beyond the bound, are refused', async () => {
    const nobody = 'acc_00000000000000000000000000' as AccountId;
    expect(await addSuppressions(store, { accountId: nobody, numbers: ['+8801710000000'], ...everything })).toEqual({
      ok: false,
      code: 'account_not_found',
    });
    await store.db.updateTable('accounts').set({ suppressed: 999_999 }).where('id', '=', accountId).execute();
    const two = numbersFrom(70_000_000, 2);
    expect(await addSuppressions(store, { accountId, numbers: two, ...everything })).toMatchObject({
      code: 'too_many_suppressions',
    });
    expect(await addSuppressions(store, { accountId, numbers: two.slice(1), ...everything })).toMatchObject({
      ok: true,
    });
  });
});
