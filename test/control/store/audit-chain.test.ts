// The audit log on a real PostgreSQL: every row is chained to the one before, also with concurrent writers; what was
// changed, removed or inserted directly is named; and detached months leave the rest verifiable.
import fc from 'fast-check';
import { type RawBuilder, sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { setAccountStatus } from '../../../control/store/accounts.ts';
import { changeAccountSettings } from '../../../control/store/account-settings.ts';
import { changeKey, createKey } from '../../../control/store/api-keys.ts';
import { addAuditRecords, listAuditRecords } from '../../../control/store/audit-log.ts';
import { auditPartitions, detachAuditPartition } from '../../../control/store/audit-partitions.ts';
import { verifyAudit } from '../../../control/store/audit-verify.ts';
import { prepareStore } from '../../../control/store/migrate.ts';
import { setSenderStatus } from '../../../control/store/senders.ts';
import { type Store, openStore } from '../../../control/store/store.ts';
import { newAccountId } from '../../../model/ids.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { type TestPostgres, startPostgres } from '../../support/postgres.ts';
import { newAccount, newSender } from '../../support/tenants.ts';

let postgres: TestPostgres;
let clock: ManualClock;
let store: Store;
/** The same with the rights of the tables' owner. */
let owner: Store;
let databases = 0;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(async () => {
  await Promise.all([store?.close(), owner?.close()]);
  await postgres?.stop();
});

/** Each test has a log of its own. */
const emptyDatabase = () => postgres.emptyDatabase(`audit_${(databases += 1)}`);

beforeEach(async () => {
  await Promise.all([store?.close(), owner?.close()]);
  const { url, ownerUrl } = await emptyDatabase();
  clock = new ManualClock(Date.parse('2026-01-15T12:00:00Z'));
  const actor = { name: 'operator', from: 'me@here' };
  store = openStore(url, clock, { actor });
  owner = openStore(ownerUrl, clock, { actor });
  await prepareStore(store, { databaseUrl: url, ownerUrl });
});

const run = (statement: RawBuilder<unknown>) => statement.execute(owner.db);
/** With the rights of the tables' owner. */
async function tamper(statement: RawBuilder<unknown>): Promise<void> {
  for (const { table } of [...(await auditPartitions(store)), { table: 'audit_log' }]) {
    await run(sql`drop trigger if exists audit_log_stays on ${sql.table(table)}`);
  }
  await run(statement);
}
const someAccounts = async (count: number) => {
  for (let at = 0; at < count; at += 1) await newAccount(store, `Account ${at}`);
};
const broken = async () => {
  const verdict = await verifyAudit(store);
  return verdict.ok ? null : verdict.brokenAt;
};

describe('the chain', () => {
  test('an empty log is valid; accounts that change at the same time make one chain without gaps', async () => {
    expect(await verifyAudit(store)).toMatchObject({ ok: true, rows: 0, first: null, head: { seq: 0 } });
    const ids = await Promise.all(Array.from({ length: 12 }, (_, at) => newAccount(store, `A${at}`)));
    await Promise.all(ids.map((id) => setAccountStatus(store, id, 'suspended')));
    expect(await verifyAudit(store)).toMatchObject({ ok: true, rows: 24, first: 1, head: { seq: 24 } });
  });

  test('a change that is rolled back leaves no gap', async () => {
    await someAccounts(1);
    expect(await createKey(store, { accountId: newAccountId(1), livemode: true, scopes: [] })).toMatchObject({
      ok: false,
    });
    await expect(
      store.db.transaction().execute(async (tx) => {
        await tx.selectFrom('audit_chain').selectAll().forUpdate().execute();
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    await someAccounts(1);
    expect(await verifyAudit(store)).toMatchObject({ ok: true, rows: 2 });
  });

  test.each([
    ['the actor', sql`update audit_log set actor = 'nobody' where id = 3`, 3],
    ['the origin', sql`update audit_log set origin = '' where id = 3`, 3],
    ['the time', sql`update audit_log set at = at + interval '1 second' where id = 3`, 3],
    ['the account', sql`update audit_log set account_id = null where id = 3`, 3],
    ['the action', sql`update audit_log set action = 'account.changed' where id = 3`, 3],
    ['the target', sql`update audit_log set target = 'x' where id = 3`, 3],
    ['the detail', sql`update audit_log set detail = '{"name":"x"}' where id = 3`, 3],
    ['the hash', sql`update audit_log set hash = prev_hash where id = 3`, 3],
    ['a row in the middle', sql`delete from audit_log where id = 3`, 3],
    ['the first row', sql`delete from audit_log where id = 1`, 1],
    ['the last row', sql`delete from audit_log where id = 6`, 6],
    ['everything', sql`delete from audit_log`, 1],
    [
      'a row put in twice',
      sql`insert into audit_log select id, recorded_at + interval '1 second', at, account_id, actor, origin, action, target, detail, record_id, prev_hash, hash from audit_log where id = 3`,
      4,
    ],
    [
      'a row put in at the end',
      sql`insert into audit_log select 7, recorded_at, at, account_id, actor, origin, action, target, detail, record_id, hash, hash from audit_log where id = 6`,
      7,
    ],
    ['the end of the chain', sql`update audit_chain set hash = ${Buffer.alloc(32)}`, 6],
  ])('%s, changed behind its back, is found and the row is named', async (_name, statement, row) => {
    await someAccounts(6);
    expect(await broken()).toBeNull();
    await tamper(statement);
    expect(await broken()).toBe(row);
  });

  test('a rewritten chain is detected with a head stored elsewhere', async () => {
    await someAccounts(4);
    const noted = await verifyAudit(store);
    if (!noted.ok) throw new Error(noted.why);
    await someAccounts(2);
    expect(await verifyAudit(store, [noted.head])).toMatchObject({ ok: true });
    const other = { seq: noted.head.seq, hash: 'ab'.repeat(32) };
    expect(await verifyAudit(store, [other])).toMatchObject({ ok: false, brokenAt: 4 });
    // Truncated and made consistent: the chain alone cannot detect it.
    await tamper(sql`delete from audit_log where id > 3`);
    await run(sql`update audit_chain set seq = 3, hash = (select hash from audit_log where id = 3)`);
    expect(await verifyAudit(store)).toMatchObject({ ok: true, rows: 3 });
    expect(await verifyAudit(store, [noted.head])).toMatchObject({ ok: false, brokenAt: 4 });
  });

  test('whatever a detail holds, the row that PostgreSQL returns has the hash of the written one', async () => {
    const value = fc.dictionary(
      fc.string({ unit: 'grapheme', maxLength: 6 }).map((name) => name.replaceAll('\u0000', '')),
      fc.jsonValue({ maxDepth: 2, noUnicodeString: false }),
      { maxKeys: 4 },
    );
    const plain = (detail: unknown) => !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(detail));
    const details = fc.sample(value, 300).filter(plain);
    const record = { atMs: 1, actor: 'a', origin: 'o', action: 'config.reloaded' as const, target: 't' };
    await addAuditRecords(
      store,
      details.map((detail, at) => ({ ...record, recordId: `aud_${at}`, detail })),
    );
    expect(await verifyAudit(store)).toMatchObject({ ok: true, rows: details.length });
    expect(details.length).toBeGreaterThan(100);
  });
});

describe('months', () => {
  const nextMonth = () => clock.step(31 * 86_400_000);

  test('are created when needed; the oldest is detached, its table stays, and the rest is still verified', async () => {
    await someAccounts(3);
    nextMonth();
    await someAccounts(2);
    nextMonth();
    await someAccounts(1);
    expect(await auditPartitions(store)).toMatchObject([
      { month: '2026-01', table: 'audit_log_2026_01', rows: 3, firstRow: 1, lastRow: 3 },
      { month: '2026-02', rows: 2 },
      { month: '2026-03', rows: 1 },
    ]);
    expect(await detachAuditPartition(owner, '2026-02')).toEqual({ ok: false, code: 'not_the_oldest' });
    expect(await detachAuditPartition(owner, '2025-12')).toEqual({ ok: false, code: 'no_such_month' });
    expect(await detachAuditPartition(owner, '2026-01')).toMatchObject({ ok: true, partition: { rows: 3 } });
    expect(await verifyAudit(store)).toMatchObject({ ok: true, rows: 4, first: 4, head: { seq: 7 } });
    const { items } = await listAuditRecords(store, { limit: 1, after: null });
    expect(items).toMatchObject([
      { action: 'audit.detached', actor: 'operator', origin: 'me@here', detail: { first_row: 1, last_row: 3 } },
    ]);
    expect((await run(sql`select * from audit_log_2026_01`)).rows).toHaveLength(3);
    expect(await detachAuditPartition(owner, '2026-02')).toMatchObject({ ok: true });
    expect(await detachAuditPartition(owner, '2026-03')).toEqual({ ok: false, code: 'still_written' });
    expect(await verifyAudit(store)).toMatchObject({ ok: true, rows: 3, first: 6 });
    // A month that was dropped is not a detached one.
    nextMonth();
    await someAccounts(1);
    await tamper(sql`drop table audit_log_2026_03`);
    expect(await verifyAudit(store)).toMatchObject({ ok: false, brokenAt: 1 });
  });

  test('a clock that goes back leaves the order of the rows, and no row without a partition', async () => {
    nextMonth();
    await someAccounts(1);
    clock.step(-31 * 86_400_000);
    await someAccounts(1);
    expect((await auditPartitions(store)).map(({ month, rows }) => [month, rows])).toEqual([['2026-02', 2]]);
    expect(await verifyAudit(store)).toMatchObject({ ok: true, rows: 2 });
  });

  test('the log and each month of it allow no update, delete or truncate', async () => {
    await someAccounts(1);
    for (const table of ['audit_log', 'audit_log_2026_01']) {
      for (const statement of [
        sql`update ${sql.table(table)} set actor = 'x'`,
        sql`delete from ${sql.table(table)}`,
        sql`truncate ${sql.table(table)}`,
      ]) {
        await expect(run(statement)).rejects.toThrow('append-only');
      }
    }
  });
});

test('a security change is recorded with who, from where, and from what to what', async () => {
  const accountId = await newAccount(store);
  const by = { name: 'key_1', from: '198.51.100.7' };
  const made = await createKey(store, { accountId, livemode: true, scopes: ['sms:send'], actor: by });
  if (!made.ok) throw new Error(made.code);
  await changeKey(store, made.key.id, { ipAllowlist: ['10.0.0.0/8'], rate: { perSecond: 5, burst: 9 } }, { actor: by });
  await changeAccountSettings(store, accountId, { ipAllowlist: ['10.0.0.0/8'], contentWords: ['casino'] }, by);
  await setSenderStatus(store, await newSender(store, accountId, 'SHOP'), 'approved', store.actor, ['otp']);
  await setAccountStatus(store, accountId, 'suspended');
  const { items } = await listAuditRecords(store, { limit: 20, after: null });
  const of = (action: string) => items.find((each) => each.action === action);
  expect(of('api_key.created')).toMatchObject({
    actor: 'key_1',
    origin: '198.51.100.7',
    detail: { livemode: true, scopes: ['sms:send'], ip_allowlist: [], expires_at: null, rate_limit: null },
  });
  expect(of('api_key.changed')).toMatchObject({
    actor: 'key_1',
    origin: '198.51.100.7',
    detail: {
      ip_allowlist: { from: [], to: ['10.0.0.0/8'] },
      rate_limit: { from: null, to: { perSecond: 5, burst: 9 } },
    },
  });
  expect(of('account.changed')).toMatchObject({
    origin: '198.51.100.7',
    detail: { ipAllowlist: { from: [], to: ['10.0.0.0/8'] }, contentWords: { from: 0, to: 1, added: ['casino'] } },
  });
  expect(of('sender.approved')).toMatchObject({
    actor: 'operator',
    origin: 'me@here',
    detail: { name: 'SHOP', status: { from: 'pending', to: 'approved' }, categories: { from: null, to: ['otp'] } },
  });
  expect(of('account.suspended')?.detail).toEqual({ status: { from: 'active', to: 'suspended' } });
});
