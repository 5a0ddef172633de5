// The two roles of the database on a real PostgreSQL: the application role can do what the product does, which the
// other tests of control show, and nothing else; the owner migrates and grants and is no superuser.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setAccountStatus } from '../../../control/store/accounts.ts';
import { listAuditRecords } from '../../../control/store/audit-log.ts';
import { auditPartitions, detachAuditPartition } from '../../../control/store/audit-partitions.ts';
import { verifyAudit } from '../../../control/store/audit-verify.ts';
import { type DatabaseUrls, prepareStore } from '../../../control/store/migrate.ts';
import { functionsUsed, rightsTooWide, sequencesUsed, tableRights } from '../../../control/store/rights.ts';
import { type Store, openStore } from '../../../control/store/store.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { type DatabaseOfTest, type TestPostgres, asked, startPostgres } from '../../support/postgres.ts';
import { newAccount } from '../../support/tenants.ts';

const clock = new ManualClock(Date.parse('2026-01-15T12:00:00Z'));
let postgres: TestPostgres;
let database: DatabaseOfTest;
let store: Store;
let owner: Store;
beforeAll(async () => {
  postgres = await startPostgres();
  database = await postgres.emptyDatabase('rights');
  const { url, ownerUrl } = database;
  await prepared({ databaseUrl: url, ownerUrl });
  store = openStore(url, clock);
  owner = openStore(ownerUrl, clock);
  await newAccount(store);
});
afterAll(async () => {
  await Promise.all([store?.close(), owner?.close()]);
  await postgres?.stop();
});

async function prepared(urls: DatabaseUrls): Promise<void> {
  const asking = openStore(urls.databaseUrl);
  try {
    await prepareStore(asking, urls);
  } finally {
    await asking.close();
  }
}

const asApplication = (text: string) => asked(database.url, text);
const asOwner = async (text: string) => (await asked(database.ownerUrl, text)).rows as Record<string, unknown>[];

describe('the application role', () => {
  test.each([
    "update audit_log set actor = 'nobody'",
    'delete from audit_log',
    'truncate audit_log',
    'truncate accounts',
    'truncate outbox',
    "update audit_log_2026_01 set actor = 'nobody'",
    'delete from audit_log_2026_01',
    'select * from audit_log_2026_01',
    'insert into audit_log_2026_01 select * from audit_log',
    'insert into audit_chain select * from audit_chain',
    'delete from audit_chain',
    'delete from accounts',
    "update installation set id = 'x'",
    "update kysely_migration set name = 'x'",
    'delete from kysely_migration_lock',
    'create table mine (x int)',
    'create temporary table mine (x int)',
    'create schema mine',
    'create role mine',
    'create database mine',
    'create function mine() returns int language sql as $$ select 1 $$',
    'create or replace function ensure_audit_partition(month text) returns void language sql as $$ $$',
    'drop function ensure_audit_partition(text)',
    'drop trigger audit_log_stays on audit_log',
    'drop table audit_log',
    'drop table outbox',
    'alter table audit_log disable trigger all',
    'alter table accounts add column x int',
    'alter table audit_log detach partition audit_log_2026_01',
    'set session_replication_role = replica',
    'alter role heliograph_app superuser',
    'set role heliograph_owner',
    'select * from pg_authid',
    "select pg_read_file('/etc/passwd')",
    "copy accounts to program 'cat'",
    "copy accounts to '/tmp/x'",
  ])('cannot %s', async (statement) => {
    // 42501: insufficient_privilege.
    await expect(asApplication(statement)).rejects.toMatchObject({ code: '42501' });
  });

  test.each(['postgres', 'template1'])('cannot enter the database %s', async (name) => {
    const url = new URL(postgres.applicationUrl);
    url.pathname = `/${name}`;
    await expect(asked(url.href, 'select 1')).rejects.toMatchObject({ code: '42501' });
  });

  test('writes, reads and verifies the audit log, into months without a partition', async () => {
    clock.step(31 * 86_400_000);
    const accountId = await newAccount(store);
    expect(await setAccountStatus(store, accountId, 'suspended')).toBe(true);
    expect((await listAuditRecords(store, { limit: 1, after: null })).items).toMatchObject([
      { action: 'account.suspended' },
    ]);
    expect(await verifyAudit(store)).toMatchObject({ ok: true });
    expect(await auditPartitions(store)).toMatchObject([
      { month: '2026-01', rows: 1 },
      { month: '2026-02', rows: 2 },
    ]);
    expect((await auditPartitions(owner)).map(({ table }) => table)).toEqual(
      (await auditPartitions(store)).map(({ table }) => table),
    );
  });

  test.each(['2026-1', '2026-13', '', "2026-11'; drop table accounts; --", '2026-11-05', 'x'])(
    'makes no partition for "%s"',
    async (month) => {
      await expect(asked(database.url, 'select ensure_audit_partition($1)', [month])).rejects.toThrow('written as');
    },
  );

  test('creates partitions in the schema of the log, whatever its own search path is', async () => {
    await asked(
      database.url,
      'set search_path = pg_temp, pg_catalog; select public.ensure_audit_partition($$2031-05$$)',
    );
    const [made] = await asOwner(
      "select relnamespace::regnamespace::text as schema from pg_class where relname = 'audit_log_2031_05'",
    );
    expect(made).toEqual({ schema: 'public' });
    await asOwner('drop table audit_log_2031_05');
  });

  test('detaches no month; the owner does', async () => {
    await expect(detachAuditPartition(store, '2026-01')).rejects.toMatchObject({ code: '42501' });
    expect(await detachAuditPartition(owner, '2026-01')).toMatchObject({ ok: true });
    expect(await verifyAudit(store)).toMatchObject({ ok: true });
  });
});

describe('the list of rights', () => {
  test('has every table, sequence and function of the database, and the role has those rights and no more', async () => {
    const tables = await asOwner(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace
         and relkind in ('r', 'p', 'v', 'm') and relname !~ '^audit_log_' order by relname`,
    );
    expect(tables.map(({ name }) => name)).toEqual(Object.keys(tableRights).sort());
    const granted = await asOwner(
      `select relname as name, array_agg(lower(privilege_type) order by privilege_type) as rights
         from pg_class, aclexplode(relacl) where relnamespace = 'public'::regnamespace and relkind <> 'S'
         and grantee <> relowner group by relname`,
    );
    const listed = Object.entries(tableRights).map(([name, rights]) => [name, [...rights].sort()]);
    expect(Object.fromEntries(granted.map(({ name, rights }) => [name, rights]))).toEqual(Object.fromEntries(listed));
    const sequences = await asOwner("select relname as name from pg_class where relkind = 'S'");
    expect(sequences.map(({ name }) => name)).toEqual([...sequencesUsed]);
    const functions = await asOwner(
      `select oid::regprocedure::text as name, prosecdef as definer, has_function_privilege('heliograph_app', oid, 'execute') as may
         from pg_proc where pronamespace = 'public'::regnamespace and prosecdef`,
    );
    expect(functions).toEqual(functionsUsed.map((name) => ({ name, definer: true, may: true })));
    const [{ public: anybody } = {}] = await asOwner(
      "select has_function_privilege('pg_monitor', 'ensure_audit_partition(text)', 'execute') as public",
    );
    expect(anybody).toBe(false);
  });

  test('is what the role has after the next start, whatever it had before', async () => {
    await asOwner(
      'grant all on audit_log, kysely_migration to heliograph_app; revoke all on outbox from heliograph_app',
    );
    await prepared({ databaseUrl: database.url, ownerUrl: database.ownerUrl });
    await expect(asApplication('delete from audit_log')).rejects.toMatchObject({ code: '42501' });
    await expect(asApplication('delete from kysely_migration')).rejects.toMatchObject({ code: '42501' });
    await newAccount(store);
  });
});

describe('preparing', () => {
  test('by two machines at once', async () => {
    const { url: databaseUrl, ownerUrl } = await postgres.emptyDatabase('at_once');
    await Promise.all([1, 2, 3].map(() => prepared({ databaseUrl, ownerUrl })));
    const both = openStore(databaseUrl);
    await newAccount(both);
    await both.close();
  });

  test('without the owner: nothing is left to do, or an error names who must do it', async () => {
    const { url: databaseUrl, ownerUrl } = await postgres.emptyDatabase('without_owner');
    await expect(prepared({ databaseUrl, ownerUrl: null })).rejects.toThrow('DATABASE_OWNER_URL');
    await prepared({ databaseUrl, ownerUrl });
    await prepared({ databaseUrl, ownerUrl: null });
    await asked(ownerUrl, 'delete from kysely_migration where name = (select max(name) from kysely_migration)');
    await expect(prepared({ databaseUrl, ownerUrl: null })).rejects.toThrow('DATABASE_OWNER_URL');
  });

  test('with one role for both does all, and warns', async () => {
    const { url, ownerUrl } = await postgres.emptyDatabase('one_role');
    await prepared({ databaseUrl: ownerUrl, ownerUrl: null });
    const alone = openStore(ownerUrl);
    await newAccount(alone);
    expect(await rightsTooWide(alone)).toMatch(/"heliograph_owner" owns the tables.*DATABASE_OWNER_URL/);
    await alone.close();
    await prepared({ databaseUrl: url, ownerUrl });
    const two = openStore(url);
    expect(await rightsTooWide(two)).toBeNull();
    await two.close();
    const superuser = openStore(postgres.url);
    expect(await rightsTooWide(superuser)).toContain('is a superuser');
    await superuser.close();
  });

  test('refuses two different databases', async () => {
    const { url } = await postgres.emptyDatabase('another');
    await expect(prepared({ databaseUrl: url, ownerUrl: database.ownerUrl })).rejects.toThrow('the same database');
  });
});

describe('the embedded server', () => {
  test('gives its two roles the database and nothing beside it', async () => {
    await expect(asked(postgres.ownerUrl, 'select * from pg_authid')).rejects.toMatchObject({ code: '42501' });
    const roles = await asked(
      postgres.url,
      "select rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname ~ '^heliograph_'",
    );
    expect(roles.rows.map((role) => Object.values(role as object))).toEqual(Array(2).fill([false, false, false]));
  });
});
